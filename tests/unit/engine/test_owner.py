"""The owner of a log: decided observations become durable entries, each once, one bad one hurting nobody."""

from collections.abc import Sequence

import pytest

from statemachine.engine.step import Delivery, Owner
from statemachine.errors import LogUnavailable
from statemachine.log.codec import decode
from statemachine.log.port import EntryDraft, Record
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from statemachine.phases import Phase
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock


def causes(story: Story) -> list[Observation]:
    return [entry.cause for entry in story.entries]


def life(uid: str = "u1") -> Story:
    story = Story(workers(2), uid=uid).submit().at(5).all_pods("Running")
    return story.at(9).pod("worker-0", "Succeeded").delete().gone("worker-0").gone("worker-1")


def placeless(observations: Sequence[Observation]) -> list[Delivery]:
    return [Delivery(observation) for observation in observations]


async def records(log: MemoryLog) -> list[Record]:
    return [record async for batch in log.scan() for record in batch]


async def test_a_batch_gives_the_same_entries_as_one_by_one() -> None:
    story, other = life("u1"), life("u2")
    together, single = MemoryLog(), MemoryLog()
    observations = [
        observation for pair in zip(causes(story), causes(other), strict=True) for observation in pair
    ]
    await Owner(together, Reader(), LoopClock(START)).take(placeless(observations))
    owner = Owner(single, Reader(), LoopClock(START))
    for observation in observations:
        await owner.take(placeless([observation]))
    bodies = [record.body for record in await records(together)]
    assert bodies == [record.body for record in await records(single)]
    assert [decode(body).seq for body in bodies if decode(body).job == "u1"] == list(
        range(1, len(story.entries) + 1)
    )


async def test_what_was_delivered_twice_is_appended_once() -> None:
    log = MemoryLog()
    owner = Owner(log, Reader(), LoopClock(START))
    observations = causes(life())
    await owner.take(placeless(observations))
    assert await owner.take(placeless(observations)) == []
    assert len(await records(log)) == len(observations)


async def test_an_entry_of_another_writer_is_folded_in_and_the_batch_decided_again() -> None:
    log = MemoryLog()
    first, second = (Owner(log, Reader(), LoopClock(START)) for _ in range(2))
    observations = causes(life())
    await first.take(placeless(observations[:3]))
    folded = await second.take(placeless(observations))
    assert [entry.record.seq for entry in folded] == list(range(1, len(observations) + 1)), (
        "the others' are announced too"
    )
    assert len(await records(log)) == len(observations)
    assert first.reader.tracked(observations[0].job).seq == 3


async def test_entries_that_another_writer_put_in_between_are_folded_in_their_place() -> None:
    """Of another job, so that nothing conflicts."""
    log = MemoryLog()
    first, second = (Owner(log, Reader(), LoopClock(START)) for _ in range(2))
    observations, others = causes(life("u1")), causes(life("u2"))
    await first.take(placeless(observations[:1]))
    await second.take(placeless(others[:2]))
    folded = await first.take(placeless(observations[1:2]))
    assert [entry.record.position for entry in folded] == [2, 3, 4]
    assert first.reader.tracked(others[0].job).seq == 2


async def test_a_writer_that_another_one_is_quicker_than_again_and_again_waits_and_goes_on() -> None:
    class Contested(MemoryLog):
        quicker = 0

        async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
            if self.quicker:
                self.quicker -= 1
                await super().append([draft for draft in drafts if draft.job == "u1"][:1])
            return await super().append(drafts)

    log = Contested()
    owner = Owner(log, Reader(), LoopClock(START))
    observations = causes(life("u1"))
    log.quicker = 5
    with pytest.raises(
        LogUnavailable, match=r"^another controller writes this log, too, .* stop one of them$"
    ):
        await owner.take(placeless(observations))
    assert len(await owner.take(placeless(observations))) == len(observations)
    assert len(await records(log)) == len(observations)


async def test_a_log_that_cannot_be_written_changes_nothing() -> None:
    class Full(MemoryLog):
        async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
            raise LogUnavailable("disk full")

    owner = Owner(Full(), Reader(), LoopClock(START))
    observations = causes(life())
    with pytest.raises(LogUnavailable):
        await owner.take(placeless(observations))
    assert owner.reader.tracked(observations[0].job).seq == 0


async def test_an_observation_that_cannot_be_decided_is_kept_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = MemoryLog()
    owner = Owner(log, Reader(), LoopClock(START))
    good = causes(life("u1"))
    bad = good[0].changed(job="u2", kind="NoSuchJob")
    await owner.take(placeless([bad, *good]))
    assert owner.counts["letters"] == 1
    letters = await log.dead_letters()
    assert [letter.job for letter in letters] == ["u2"]
    assert b"NoSuchJob" in letters[0].observation
    assert len(await records(log)) == len(good)
    caplog.clear()


async def test_a_decision_that_does_not_fit_into_the_log_is_a_dead_letter_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Narrow(MemoryLog):
        entry_limit = 10_000

    log = Narrow()
    good = causes(life("u1"))
    large = causes(Story(workers(200), uid="u2").submit())
    owner = Owner(log, Reader(), LoopClock(START))
    await owner.take(placeless([*large, *good]))
    assert [(letter.job, letter.error[:9]) for letter in await log.dead_letters()] == [("u2", "TooLarge:")]
    assert [record.job for record in await records(log) if record.job != "u1"] == ["u2"]
    assert owner.reader.tracked(large[0].job).state.phase is Phase.FAILED
    caplog.clear()


async def test_a_decision_that_just_fits_into_the_log_is_written() -> None:
    wide, observations = MemoryLog(), placeless(causes(life())[:1])
    await Owner(wide, Reader(), LoopClock(START)).take(observations)
    (record,) = await records(wide)

    class Tight(MemoryLog):
        entry_limit = len(record.body)

    log = Tight()
    await Owner(log, Reader(), LoopClock(START)).take(observations)
    assert await records(log) == [record]
    assert await log.dead_letters() == []


async def test_a_job_in_quarantine_gets_no_entries_and_loses_no_observation() -> None:
    log = MemoryLog()
    observations = causes(life("u1"))
    await Owner(log, Reader(), LoopClock(START)).take(placeless(observations[:1]))
    await log.append([EntryDraft(observations[0].job, 2, b"not an entry")])
    reader = Reader()
    await reader.recover(log)
    await Owner(log, reader, LoopClock(START)).take(placeless([*observations[1:3], *causes(life("u2"))]))
    assert len(await log.dead_letters()) == 2
    assert reader.tracked(causes(life("u2"))[0].job).state.closed


async def test_an_observation_from_a_place_that_was_decided_is_a_repeat_whatever_it_says() -> None:
    log = MemoryLog()
    owner = Owner(log, Reader(), LoopClock(START))
    observations = causes(life())
    await owner.take([Delivery(observation, place) for place, observation in enumerate(observations[:3], 1)])
    before = len(await records(log))
    assert await owner.take([Delivery(observation, 3) for observation in observations[3:]]) == []
    assert owner.counts["repeats"] == len(observations[3:])
    assert list(owner.silent) == observations[3:]
    assert len(await records(log)) == before


async def test_a_restart_knows_from_the_log_which_places_were_decided() -> None:
    log = MemoryLog()
    observations = causes(life())
    places = [Delivery(observation, place) for place, observation in enumerate(observations, 1)]
    first = Owner(log, Reader(), LoopClock(START))
    await first.take(places[:2])
    await log.save_snapshots(first.reader.position, first.reader.unsaved())
    await first.take(places[2:4])
    reader = Reader()
    await reader.recover(log)
    assert reader.tracked(observations[0].job).source == 4
    again = Owner(log, reader, LoopClock(START))
    assert await again.take([Delivery(observation, 4) for observation in observations[4:]]) == []
    assert [decode(record.body).source for record in await records(log)] == [1, 2, 3, 4]


async def test_what_is_observed_here_has_no_place_and_takes_none_away() -> None:
    log = MemoryLog()
    owner = Owner(log, Reader(), LoopClock(START))
    observations = causes(life())
    await owner.take(
        [
            Delivery(observations[0], 7),
            Delivery(observations[1]),
            Delivery(observations[2], 7),
            Delivery(observations[2], 8),
        ]
    )
    assert [decode(record.body).source for record in await records(log)] == [7, 0, 8]
