"""Counting what happened to jobs: every entry that readers believe, once, whatever the log is read through."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobledger.telemetry import catalog as c
from jobledger.telemetry.tally import Tally
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode
from statemachine.log.port import EntryDraft, Record
from statemachine.log.reader import Reader
from statemachine.observations import Container, ContainerStatus
from statemachine.phases import Phase
from tests.support.logs import JOB, OTHER, accepted, admitted, chain, entered, history, placed
from tests.support.memory_log import MemoryLog
from tests.support.newer import newer_cause, newer_event
from tests.support.scenario import KIND, Story, replica_type, workers

OUT_OF_MEMORY = Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=137, reason="OOMKilled")
UIDS = [f"00000000-0000-0000-0000-{number:012d}" for number in range(6)]


def stories() -> list[Story]:
    """One job succeeds after a restart, one fails, one is refused, one invalid; one vanishes, one runs twice."""
    restarted = Story(workers(2, policy="OnFailure", runPolicy={"backoffLimit": 1}), uid=UIDS[0]).submit()
    restarted.at(3).all_pods("Running").at(8)
    restarted.pod("worker-1", "Failed", containers=[OUT_OF_MEMORY])
    restarted.at(9).gone("worker-1").at(10).pod("worker-1", "Running", uid="again")
    restarted.at(63).all_pods("Succeeded")

    failed = Story(workers(1, policy="OnFailure", runPolicy={"backoffLimit": 0}), uid=UIDS[1]).submit()
    failed.at(2).pod("worker-0", "Running", node="node-1").at(4).pod("worker-0", "Failed", exit_code=3)

    refused = Story(workers(1), uid=UIDS[2]).submit().at(1).refused("Pod", 403, retryable=True)
    refused.at(2).refused("Service", 422, retryable=False)

    invalid = Story(workers(1, replica_type("worker", 1)), uid=UIDS[3]).submit()

    vanished = Story(workers(1, policy="OnFailure"), uid=UIDS[4]).submit()
    vanished.at(2).pod("worker-0", "Running").at(3).gone("worker-0").at(4).delete()

    paused = Story(workers(1), uid=UIDS[5]).submit().at(4).all_pods("Running").at(10).pause()
    paused.at(11).gone("worker-0").at(20).resume().at(25).pod("worker-0", "Running", uid="again")
    return [restarted, failed, refused, invalid, vanished, paused]


def bodies(stories: Sequence[Story]) -> list[EntryDraft]:
    return [
        EntryDraft(story.uid, entry.seq, body)
        for story in stories
        for entry, body in zip(story.entries, story.bodies, strict=True)
    ]


def counted(records: Sequence[Record]) -> Tally:
    tally = Tally()
    for record in records:
        tally.take(record)
    return tally


def said(tally: Tally, about: c.MetricFamily) -> dict[tuple[str, ...], int]:
    """What was counted, without the zeros that stand there from the beginning."""
    return {labels: count for labels, count in tally.counts[about].items() if count}


def closed() -> Story:
    story = Story(workers(1), uid=UIDS[0]).submit().at(2).all_pods("Running")
    return story.at(9).pod("worker-0", "Succeeded").delete().gone("worker-0")


def test_of_a_job_that_is_closed_nothing_is_counted_a_second_time() -> None:
    life = bodies([closed()])
    once, twice = counted(placed(life)), counted(placed([*life, *life]))
    assert said(once, c.DELETED) == said(twice, c.DELETED) == {(KIND,): 1}
    assert (once.skipped, twice.skipped, twice.entries) == (0, len(life), len(life))


def test_entries_of_a_newer_release_stop_no_count() -> None:
    known, unknown = counted(placed(newer_cause())), counted(placed([*newer_event(), *history(2, OTHER)]))
    assert (known.entries, known.skipped) == (3, 0)
    assert sum(said(known, c.ADMITTED).values()) == sum(said(unknown, c.ADMITTED).values()) == 1


@pytest.fixture(scope="module")
def tally() -> Tally:
    return counted(placed(bodies(stories())))


# ---- what is counted ----


def test_jobs_are_counted_when_they_come_end_and_go(tally: Tally) -> None:
    assert said(tally, c.ADMITTED) == {(KIND,): 6}
    assert said(tally, c.DELETED) == {(KIND,): 1}
    assert said(tally, c.FINISHED) == {
        (KIND, "Succeeded", ""): 1,
        (KIND, "Failed", "application exit"): 1,
        (KIND, "Failed", "refused by the API"): 1,
        (KIND, "Failed", ""): 1,  # the invalid one
    }


def test_failures_and_restarts_carry_the_cause_class_of_the_log(tally: Tally) -> None:
    assert said(tally, c.FAILURES) == {
        (KIND, "out of memory"): 1,
        (KIND, "application exit"): 1,
        (KIND, "evidence lost"): 1,
    }
    assert said(tally, c.RESTARTS) == {(KIND, "out of memory"): 1}
    assert said(tally, c.DENIED) == {(KIND, "application exit", "budget"): 1}


def test_refused_children_say_their_kind_and_whether_it_was_for_good(tally: Tally) -> None:
    assert said(tally, c.REFUSED) == {(KIND, "Pod", "true"): 1, (KIND, "Service", "false"): 1}


def test_phases_are_counted_from_one_to_the_next(tally: Tally) -> None:
    moves = Counter(
        (KIND, before.value, after.value)
        for story in stories()
        for before, after in pairwise(
            [
                Story({}).phase,
                *[event.phase for e in story.entries for event in e.events if event.type == "PhaseEntered"],
            ]
        )
    )
    assert said(tally, c.TRANSITIONS) == moves


def test_times_run_from_admission_to_running_and_from_there_to_the_end(tally: Tally) -> None:
    starts = tally.spreads[c.START_SECONDS][KIND,]
    assert (starts.sum, starts.cumulative()[-1]) == (3 + 2 + 2 + 4, ("+Inf", 4.0))
    assert tally.spreads[c.DURATION_SECONDS][KIND, "Succeeded"].sum == 60
    assert tally.spreads[c.DURATION_SECONDS][KIND, "Failed"].sum == 2  # two never ran


def test_what_will_be_counted_begins_at_zero() -> None:
    assert Tally().counts[c.RESTARTS][KIND, "node lost"] == 0
    assert (KIND, "node lost") in Tally().counts[c.RESTARTS]
    assert (KIND, "Succeeded", "") in Tally().counts[c.FINISHED]


def test_a_spec_that_looks_like_an_event_counts_nothing() -> None:
    posing = {"type": "RestartScheduled", "cause": {"kind": "node lost"}}
    odd = Story(workers(1, runPolicy={"x": posing}, y='{"type":"PhaseEntered"}')).submit()
    assert b'"type":"RestartScheduled"' in odd.bodies[0]
    assert not said(counted(placed(bodies([odd]))), c.RESTARTS)


# ---- which entries are believed ----


def _hostile() -> list[Record]:
    """A history with everything in it that readers skip."""
    good = chain(admitted(), accepted(1), accepted(2), accepted(3))
    forged = chain([entered(Phase.FAILED)], after=2, prev="f" * 64)
    other = chain(admitted(), accepted(1), accepted(2), job=OTHER)
    unreadable = EntryDraft(OTHER, 3, b'{"v":1,"events":[{"type":"PhaseEntered"}]}')
    return placed([*good[:2], *forged, good[2], good[1], good[2], *other[:2], unreadable, other[2], good[3]])


def test_it_skips_what_every_reader_skips() -> None:
    reader, records = Reader(), _hostile()
    believed = [record for record in records if reader.accept(record) is not None]
    tally = counted(records)
    assert (tally.entries, tally.skipped) == (len(believed), reader.skipped)
    assert tally.counts == counted(believed).counts
    assert reader.skipped == 5
    assert tally.position == records[-1].position


@given(chosen=st.lists(st.sampled_from(range(10)), max_size=25))
def test_in_any_order_it_believes_what_a_reader_believes(chosen: list[int]) -> None:
    drafts = [*history(6), *chain(admitted(), accepted(1), accepted(2), accepted(3), job=OTHER)]
    records = placed([drafts[number] for number in chosen])
    reader = Reader()
    believed = [record for record in records if reader.accept(record) is not None]
    tally = counted(records)
    assert (tally.entries, tally.skipped) == (len(believed), reader.skipped)


def test_an_entry_that_is_written_another_way_is_believed_all_the_same() -> None:
    first, second = chain(admitted(), accepted(1))
    spaced = EntryDraft(JOB, 2, json.dumps(json.loads(second.body)).encode())
    tally = counted(placed([first, spaced]))
    assert (tally.entries, tally.skipped) == (2, 0)


def test_an_old_event_is_matched_under_the_name_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    from jobledger.telemetry import tally as module

    monkeypatch.setattr(module, "UPCASTERS", {("JobSpotted", 1): lambda raw: raw})
    assert module._telling().search(b'"events":[{"type":"JobSpotted","v":1}]')


# ---- reading it in pieces ----


class Failing(MemoryLog):
    """A log that breaks off in the middle, once."""

    failures = 1

    async def scan(self, after: Position = 0, **of: object) -> AsyncIterator[Sequence[Record]]:
        async for batch in super().scan(after):
            half = len(batch) // 2
            yield batch[:half]
            if self.failures:
                self.failures -= 1
                raise LogUnavailable("gone for now")
            yield batch[half:]


async def test_a_log_that_breaks_off_is_counted_on_from_there() -> None:
    log, tally = Failing(), Tally()
    drafts = bodies(stories())
    await log.append(drafts)
    with pytest.raises(LogUnavailable):
        await tally.advance(log)
    assert 0 < tally.entries < len(drafts)
    await tally.advance(log)
    assert tally.whole
    assert tally.counts == counted(placed(drafts)).counts
    assert tally.entries == len(drafts)


@pytest.mark.parametrize("seed", range(5))
async def test_followed_in_any_pieces_it_counts_the_same_as_at_once(seed: int) -> None:
    drafts = bodies(stories())
    log, tally = MemoryLog(), Tally()
    at = 0
    while at < len(drafts):
        step = 1 + (seed * 7 + at) % 9
        await log.append(drafts[at : at + step])
        at += step
        await tally.advance(log)
    at_once = counted(placed(drafts))
    assert tally.counts == at_once.counts
    assert {
        about: {k: v.cumulative() for k, v in spread.items()} for about, spread in tally.spreads.items()
    } == {about: {k: v.cumulative() for k, v in spread.items()} for about, spread in at_once.spreads.items()}


def test_every_recorded_job_is_one_that_decoding_everything_finds() -> None:
    drafts = bodies(stories())
    events = Counter(event.type for draft in drafts for event in decode(draft.body).events)
    tally = counted(placed(drafts))
    assert sum(tally.counts[c.ADMITTED].values()) == events["JobAdmitted"]
    assert sum(tally.counts[c.TRANSITIONS].values()) == events["PhaseEntered"]
    assert sum(tally.counts[c.RESTARTS].values()) == events["RestartScheduled"]
    assert sum(tally.counts[c.DENIED].values()) == events["RestartDenied"]
    assert sum(tally.counts[c.FAILURES].values()) == events["ReplicaFailed"] + events["ReplicaLost"]
    assert sum(tally.counts[c.REFUSED].values()) == events["ChildRefused"]
    assert sum(tally.counts[c.DELETED].values()) == events["JobDeleted"]


def test_jobs_have_nothing_to_do_with_each_other() -> None:
    one, two = (Story(workers(1), uid=uid).submit().at(5).all_pods("Running") for uid in UIDS[:2])
    mixed = [draft for pair in zip(bodies([one]), bodies([two]), strict=True) for draft in pair]
    assert counted(placed(mixed)).counts == counted(placed(bodies([one, two]))).counts
    assert {draft.job for draft in mixed} == {JobUid(uid) for uid in UIDS[:2]}
