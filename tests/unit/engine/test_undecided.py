"""A rule that fails for one job: the job is seen, that is said once, and the others go on."""

import logging
from collections.abc import Iterator, Sequence
from unittest.mock import patch

import pytest

from projectors.explain import explain
from projectors.verify import Verification
from statemachine import decide
from statemachine.engine.step import Delivery, Owner
from statemachine.engine.undecided import Failure, fallback
from statemachine.errors import LogUnavailable
from statemachine.events import Announced, Event
from statemachine.kind import Kind
from statemachine.kinds import kind_of as real
from statemachine.log.life import records_of, steps_of
from statemachine.log.port import DeadLetter, EntryDraft, Record
from statemachine.log.reader import Reader
from statemachine.observations import JobGone, Observation, PodObserved, Recorded
from statemachine.phases import Phase
from statemachine.state import JobState
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock


def _life(uid: str) -> list[Observation]:
    story = Story(workers(2), uid=uid).submit().all_pods("Running")
    return [entry.cause for entry in story.entries]


LIVES = {uid: _life(uid) for uid in ("u1", "u2")}
"""As all is well."""


class Broken:
    """A kind whose life begins with a rule that fails for pods, or for everything, of a job."""

    def __init__(self, kind: Kind, job: str, *, only_pods: bool) -> None:
        self._kind = kind

        def rule(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
            if state.uid == job and (isinstance(observation, PodObserved) or not only_pods):
                raise KeyError("made up")
            yield from ()

        self.lifecycle = (rule, *kind.lifecycle)

    def __getattr__(self, name: str) -> object:
        return getattr(self._kind, name)


@pytest.fixture(params=[False, True], ids=["everything", "pods"])
def only_pods(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Decisions about job u1 fail."""

    def broken(api: str, kind: str) -> Broken:
        return Broken(real(api, kind), "u1", only_pods=request.param)

    with patch.object(decide, "kind_of", broken):
        yield request.param


def life(uid: str) -> list[Observation]:
    return LIVES[uid]


async def taken(log: MemoryLog, observations: Sequence[Observation]) -> Owner:
    """The owner after a start."""
    reader = Reader()
    await reader.recover(log)
    owner = Owner(log, reader, LoopClock(START))
    await owner.take([Delivery(observation) for observation in observations])
    return owner


async def test_the_job_says_so_and_the_others_go_on(
    only_pods: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = MemoryLog()
    owner = await taken(log, [*life("u1"), *life("u2")])
    state = owner.reader.tracked(life("u1")[0].job).state
    assert state.name == "mnist"
    assert state.phase is (Phase.PENDING if only_pods else Phase.FAILED)
    if not only_pods:
        condition = state.condition("Failed")
        assert condition is not None
        assert (condition.status, condition.reason) == ("True", "Undecidable")
    assert owner.reader.tracked(life("u2")[0].job).state.phase is Phase.RUNNING
    caplog.clear()


async def test_it_is_said_once_however_often_it_is_observed(
    only_pods: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = MemoryLog()
    await taken(log, life("u1"))
    letters, entries = await log.dead_letters(), await log.end()
    said = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(said) == len(letters) > 1
    assert [bool(record.exc_info) for record in said] == [True] + [False] * (len(said) - 1)
    caplog.clear()
    later = [observation.changed(at=observation.at.replace(year=2030)) for observation in life("u1")]
    await taken(log, later)
    assert (await log.dead_letters(), await log.end()) == (letters, entries)
    assert caplog.records == []


async def test_it_is_said_once_also_when_it_is_observed_of_another_pod_later(
    only_pods: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = MemoryLog()
    owner = await taken(log, life("u1")[:2])
    entries = await log.end()
    await owner.take([Delivery(life("u1")[2])])
    assert len(await log.dead_letters()) == (2 if only_pods else 3)
    assert await log.end() == entries
    caplog.clear()


async def test_what_comes_twice_in_one_batch_is_one_letter(
    only_pods: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log, twice = MemoryLog(), MemoryLog()
    await taken(log, life("u1"))
    owner = await taken(twice, [*life("u1"), *life("u1")])
    assert await letters(twice) == await letters(log)
    assert owner.counts["letters"] == len(await log.dead_letters())
    caplog.clear()


async def test_what_was_retried_and_fails_again_is_a_letter_again(
    only_pods: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = MemoryLog()
    await taken(log, life("u1"))
    before = await log.dead_letters()
    for letter in before:
        await log.note_retry(letter, START)
    await taken(log, life("u1"))
    assert len(await log.dead_letters()) == 2 * len(before)
    caplog.clear()


def test_nothing_is_written_of_a_job_that_has_ended() -> None:
    story = Story(workers(1)).submit().pod("worker-0", "Running").pod("worker-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert fallback(story.state, Failure(life("u1")[1], KeyError("made up"))) == ()
    going_on = Story(workers(1)).submit().pod("worker-0", "Running")
    assert fallback(going_on.state, Failure(life("u1")[1], KeyError("made up"))) != ()


def test_a_job_whose_pods_may_run_already_does_not_fail_because_of_us() -> None:
    observation = Story(workers(1)).submit().entries[0].cause
    adopted = observation.changed(recorded=Recorded())
    assert fallback(JobState(observation.job), Failure(observation, KeyError("made up"))) != ()
    assert fallback(JobState(observation.job), Failure(adopted, KeyError("made up"))) == ()


class Letterbox(MemoryLog):
    """A log that takes no dead letters, or no entries, as long as that is `shut`."""

    def __init__(self) -> None:
        super().__init__()
        self.shut = ""

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        self._refuse("entries")
        return await super().append(drafts)

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        self._refuse("letters")
        await super().add_dead_letter(letter)

    def _refuse(self, what: str) -> None:
        if what == self.shut:
            raise LogUnavailable("the disk is full")


@pytest.mark.parametrize("place", [0, 1], ids=["no-places", "places"])
@pytest.mark.parametrize("shut", ["entries", "letters"])
async def test_a_batch_is_decided_once_whatever_could_not_be_written_at_first(
    only_pods: bool, caplog: pytest.LogCaptureFixture, shut: str, place: int
) -> None:
    whole = MemoryLog()
    deliveries = [
        Delivery(observation, place * number)
        for number, observation in enumerate([*life("u1"), *life("u2")], 1)
    ]
    await Owner(whole, Reader(), LoopClock(START)).take(deliveries)
    log = Letterbox()
    owner = Owner(log, Reader(), LoopClock(START))
    log.shut = shut
    with pytest.raises(LogUnavailable):
        await owner.take(deliveries)
    assert await log.end() == 0
    log.shut = ""
    folded = await owner.take(deliveries)
    assert await bodies(log) == await bodies(whole)
    assert len(folded) == await log.end()
    assert await letters(log) == await letters(whole)
    assert owner.counts["letters"] == len(await whole.dead_letters())
    caplog.clear()


async def test_a_new_job_is_said_to_be_failed_also_when_only_the_letter_was_written_before_a_crash(
    only_pods: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = Letterbox()
    log.shut = "entries"
    with pytest.raises(LogUnavailable):
        await taken(log, life("u1")[:1])
    log.shut = ""
    owner = await taken(log, life("u1")[:1])
    assert owner.reader.tracked(life("u1")[0].job).state.phase is (
        Phase.PENDING if only_pods else Phase.FAILED
    )
    caplog.clear()


async def letters(log: MemoryLog) -> list[tuple[str, bytes]]:
    return [(letter.job, letter.observation) for letter in await log.dead_letters()]


async def bodies(log: MemoryLog) -> list[bytes]:
    return [record.body async for batch in log.scan() for record in batch]


async def test_it_is_an_event_of_the_job(only_pods: bool, caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog()
    owner = Owner(log, Reader(), LoopClock(START))
    folded = await owner.take([Delivery(observation) for observation in life("u1")])
    said = [event for one in folded for event in one.entry.events if isinstance(event, Announced)]
    announcements = [announcement for announcement in said if announcement.reason == "Undecidable"]
    assert [announcement.level for announcement in announcements] == ["Warning"]
    assert "KeyError" in announcements[0].message
    caplog.clear()


async def test_what_was_written_is_whole_also_when_the_mistake_is_corrected(
    only_pods: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = MemoryLog()
    await taken(log, life("u1"))
    with patch.object(decide, "kind_of", real):
        checked = Verification()
        async for batch in log.scan():
            for record in batch:
                checked.take(record)
        assert [verdict.difference for verdict in checked.verdicts()] == [None]
        gone = JobGone(job=life("u1")[0].job, at=START.replace(year=2031))
        owner = await taken(log, [gone])
    assert owner.reader.tracked(gone.job).state.deleted
    caplog.clear()


async def test_why_and_the_status_tell_it(only_pods: bool, caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog()
    owner = await taken(log, life("u1"))
    job = life("u1")[0].job
    state = owner.reader.tracked(job).state
    answer = explain(step for _, step in steps_of(job, await records_of(log, job))).answer
    shown = real(state.api_version, state.kind).status(state)
    if only_pods:
        assert shown["phase"] == "Pending"
    else:
        assert "KeyError: 'made up'" in answer
        assert shown["phase"] == "Failed"
    caplog.clear()
