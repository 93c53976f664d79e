"""Which records are believed, and what becomes of the others."""

from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from statemachine.errors import SeqConflict
from statemachine.evolve import fold
from statemachine.ids import JobUid, Position, ReplicaName, Seq
from statemachine.log.codec import decode, encode, entry_hash
from statemachine.log.entry import GENESIS
from statemachine.log.port import UNUSABLE, EntryDraft, Record, Snapshot
from statemachine.log.reader import SHOWN, Folded, Reader
from statemachine.state import STATE_VERSION, JobState
from tests.support.logs import JOB, OTHER, accepted, admitted, chain, history, placed, said
from tests.support.memory_log import MemoryLog


def read(*records: Record) -> Reader:
    reader = Reader()
    for record in records:
        reader.accept(record)
    return reader


def garbled(record: Record) -> Record:
    return replace(record, body=b"\x00" + record.body[1:])


def rewritten(record: Record) -> Record:
    """Another entry that fits in the record's place, so that only the next one can tell."""
    old = decode(record.body)
    return replace(record, body=encode(old.changed(actor="mallory")))


def unfoldable(job: JobUid = JOB) -> list[EntryDraft]:
    """Two entries; the second speaks of a replica that the job does not have."""
    from statemachine.events import ReplicaRequested

    return chain(
        admitted(), [ReplicaRequested(replica=ReplicaName("nobody-7"), attempt=1)], said("x"), job=job
    )


# ---- entries that follow ----


def test_a_history_folds_to_the_state_of_its_events() -> None:
    drafts = history(4)
    events = [event for draft in drafts for event in decode(draft.body).events]
    assert read(*placed(drafts)).tracked(JOB).state == fold(JobState(JOB), events)


def test_the_head_is_the_hash_of_the_last_entry() -> None:
    drafts = history(3)
    tracked = read(*placed(drafts)).tracked(JOB)
    assert (tracked.seq, tracked.head) == (3, entry_hash(drafts[-1].body))


def test_an_accepted_record_is_given_back_with_the_states_around_it() -> None:
    first, second = placed(history(2))
    reader = read(first)
    before = reader.tracked(JOB).state
    folded = reader.accept(second)
    assert isinstance(folded, Folded)
    assert (folded.record, folded.before, folded.state) == (second, before, reader.tracked(JOB).state)
    assert folded.entry.events == accepted(1)


def test_a_job_that_was_never_observed_is_new() -> None:
    tracked = Reader().tracked(JOB)
    assert (tracked.state, tracked.seq, tracked.head) == (JobState(JOB), 0, GENESIS)
    assert JOB not in Reader()


def test_jobs_do_not_mind_each_others_entries() -> None:
    mine, theirs = history(2), history(2, OTHER)
    reader = read(*placed([mine[0], theirs[0], mine[1], theirs[1]]))
    assert [reader.tracked(job).seq for job in reader.jobs] == [2, 2]
    assert reader.jobs == (JOB, OTHER)
    assert reader.skipped == 0


def test_the_position_is_that_of_the_last_record_accepted_or_not() -> None:
    records = placed(history(2), after=40)
    assert read(*records, replace(records[0], position=50)).position == 50


# ---- entries that do not ----


def test_a_record_that_comes_twice_counts_once() -> None:
    records = placed(history(3))
    reader = read(*records[:2], records[1], records[0], records[2])
    assert reader.tracked(JOB) == read(*records).tracked(JOB)
    assert reader.skipped == 2


def test_a_record_that_comes_twice_casts_no_doubt_on_its_job() -> None:
    records = placed(history(2))
    assert read(*records, records[0]).tracked(JOB).suspicious == ""


def test_a_late_writers_entry_is_skipped_and_so_is_what_it_builds_on_it() -> None:
    good = history(4)
    late = chain(said("late"), said("later"), after=2, prev=entry_hash(good[1].body))
    reader = read(*placed([*good[:3], *late, good[3]]))
    assert reader.tracked(JOB) == read(*placed(good)).tracked(JOB)
    assert [(skipped.seq, skipped.position) for skipped in reader.last_skipped] == [(3, 4), (4, 5)]


def test_of_two_writers_the_one_who_came_first_is_believed() -> None:
    good = history(3)
    first = chain(said("first"), after=1, prev=entry_hash(good[0].body))
    reader = read(*placed([good[0], *first, *good[1:]]))
    assert reader.tracked(JOB).head == entry_hash(first[0].body)
    assert reader.skipped == 2


def test_an_entry_behind_a_hole_is_skipped() -> None:
    records = placed(history(3))
    tracked = read(records[0], records[2]).tracked(JOB)
    assert tracked.seq == 1
    assert tracked.suspicious.startswith("entry 3: the job is at entry 1")


def test_a_first_entry_that_names_one_before_it_is_skipped() -> None:
    tracked = read(*placed(chain(admitted(), prev="ab" * 32))).tracked(JOB)
    assert tracked.seq == 0
    assert "there is none" in tracked.suspicious


def test_behind_a_changed_entry_nothing_is_accepted_and_the_job_is_suspicious() -> None:
    records = placed(history(6))
    records[2] = rewritten(records[2])
    reader = read(*records)
    tracked = reader.tracked(JOB)
    assert (tracked.seq, reader.skipped) == (3, 3)
    assert tracked.suspicious.startswith("entry 4: it does not name entry 3")
    assert tracked.quarantined == ""


def test_suspicion_ends_when_an_entry_follows() -> None:
    good = history(3)
    late = chain(said("late"), after=2, prev="ab" * 32)
    reader = read(*placed([*good[:2], *late]))
    assert reader.tracked(JOB).suspicious
    reader.accept(Record(9, JOB, 3, good[2].body))
    assert reader.tracked(JOB).suspicious == ""


def test_only_the_last_skipped_records_are_kept() -> None:
    record = placed(history(1))[0]
    reader = read(*[record] * (SHOWN + 5))
    assert (reader.skipped, len(reader.last_skipped)) == (SHOWN + 4, SHOWN)


# ---- quarantine ----


def test_a_job_with_an_unreadable_next_entry_is_quarantined_with_the_reason() -> None:
    first, second = placed(history(2))
    tracked = read(first, garbled(second)).tracked(JOB)
    assert tracked.seq == 1
    assert tracked.quarantined.startswith("entry 2: the entry is not JSON")


def test_a_job_whose_events_cannot_be_folded_is_quarantined_with_the_reason() -> None:
    reader = read(*placed(unfoldable()))
    assert "nobody-7" in reader.quarantined[JOB]
    assert reader.tracked(JOB).seq == 1


def test_a_record_that_holds_another_jobs_entry_quarantines_the_job_it_stands_under() -> None:
    theirs = placed(history(1, OTHER))[0]
    tracked = read(replace(theirs, job=JOB)).tracked(JOB)
    assert f"entry 1 of job {OTHER}" in tracked.quarantined


def test_a_record_that_holds_an_entry_of_another_number_quarantines_its_job() -> None:
    first, second = placed(history(2))
    assert read(first, replace(second, body=first.body)).tracked(JOB).quarantined


def test_a_quarantined_job_accepts_nothing_more() -> None:
    first, second, third = placed(history(3))
    reader = read(first, garbled(second))
    assert reader.accept(second) is None
    assert reader.accept(third) is None
    assert (reader.tracked(JOB).seq, reader.skipped) == (1, 3)


def test_the_other_jobs_go_on_when_one_is_quarantined() -> None:
    reader = read(*placed([*unfoldable(), *history(3, OTHER)]))
    assert reader.tracked(OTHER).seq == 3
    assert list(reader.quarantined) == [JOB]


def test_an_unreadable_record_of_the_past_does_no_harm() -> None:
    first, second = placed(history(2))
    reader = read(first, second, garbled(first))
    assert reader.quarantined == {}


# ---- snapshots and recovery ----


async def log_with(*drafts: EntryDraft) -> MemoryLog:
    log = MemoryLog()
    await log.append(drafts)
    return log


async def save(reader: Reader, log: MemoryLog) -> None:
    snapshots = reader.unsaved()
    await log.save_snapshots(reader.position, snapshots)
    reader.saved(snapshots)


async def recovered(log: MemoryLog) -> Reader:
    reader = Reader()
    await reader.recover(log)
    return reader


async def test_recovery_without_snapshots_folds_the_whole_log() -> None:
    log = await log_with(*history(3), *history(2, OTHER))
    reader = await recovered(log)
    assert (reader.tracked(JOB).seq, reader.tracked(OTHER).seq, reader.position) == (3, 2, 5)


async def test_recovery_with_snapshots_gives_the_same_jobs() -> None:
    log = await log_with(*history(3), *history(2, OTHER))
    await save(await recovered(log), log)
    await log.append(history(5)[3:])
    with_snapshots = await recovered(log)
    log.forget_snapshots()
    without = await recovered(log)
    assert [with_snapshots.tracked(job) for job in (JOB, OTHER)] == [
        without.tracked(job) for job in (JOB, OTHER)
    ]
    assert with_snapshots.position == without.position == 7


async def test_recovery_with_snapshots_reads_only_the_tail() -> None:
    log = await log_with(*history(3))
    await save(await recovered(log), log)
    reader = await recovered(log)
    assert reader.unsaved() == ()
    assert reader.skipped == 0


async def test_a_snapshot_ahead_of_the_covered_position_makes_no_skips() -> None:
    log = await log_with(*history(3))
    snapshots = (await recovered(log)).unsaved()
    await log.save_snapshots(1, snapshots)
    reader = await recovered(log)
    assert (reader.tracked(JOB).seq, reader.skipped, reader.position) == (3, 0, 3)


@pytest.mark.parametrize(
    "damage", [{"version": STATE_VERSION + 1}, {"body": b"{}"}, {"body": b"\xff"}, {"version": UNUSABLE}]
)
async def test_a_job_whose_snapshot_is_of_no_use_is_folded_from_its_first_entry(
    damage: dict[str, object],
) -> None:
    log = await log_with(*history(3), *history(2, OTHER))
    reader = await recovered(log)
    bad, good = reader.unsaved()
    await log.save_snapshots(reader.position, [replace(bad, **damage), good])
    await log.append(history(4)[3:])
    again = await recovered(log)
    assert again.tracked(JOB) == read(*placed(history(4))).tracked(JOB)
    assert again.tracked(OTHER) == reader.tracked(OTHER)
    assert again.skipped == 0


class CountingLog(MemoryLog):
    """Counts the passes over it, and the records that they hand out."""

    def __init__(self, *, finds_jobs: bool) -> None:
        super().__init__()
        self._finds, self.passes, self.handed_out = finds_jobs, 0, 0

    @property
    def finds_jobs(self) -> bool:
        return self._finds

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        self.passes += 1
        async for batch in super().scan(after, job=job, after_seq=after_seq):
            self.handed_out += len(batch)
            yield batch


async def with_old_snapshots(log: CountingLog, jobs: Sequence[JobUid]) -> None:
    """The log holds two entries of each job, covered by snapshots of an older layout, and one behind these."""
    for job in jobs:
        await log.append(history(2, job))
    reader = await recovered(log)
    olds = [replace(snapshot, version=STATE_VERSION - 1) for snapshot in reader.unsaved()]
    await log.save_snapshots(reader.position, olds)
    for job in jobs:
        await log.append(history(3, job)[2:])
    log.passes = log.handed_out = 0


@pytest.mark.parametrize(("finds_jobs", "count"), [(False, 5), (True, 300)])
async def test_snapshots_of_another_layout_cost_one_pass_over_the_log(finds_jobs: bool, count: int) -> None:
    log = CountingLog(finds_jobs=finds_jobs)
    jobs = [JobUid(f"job-{number}") for number in range(count)]
    await with_old_snapshots(log, jobs)
    reader = await recovered(log)
    assert {reader.tracked(job).seq for job in jobs} == {3}
    assert (reader.skipped, reader.position) == (0, 3 * count)
    assert (log.passes, log.handed_out) == (1, 3 * count)


async def test_a_few_snapshots_of_no_use_cost_no_pass_over_a_log_that_finds_jobs() -> None:
    log = CountingLog(finds_jobs=True)
    await log.append([*history(50, OTHER), *history(2)])
    reader = await recovered(log)
    other, own = reader.unsaved()
    await log.save_snapshots(reader.position, [other, replace(own, version=UNUSABLE, body=b"")])
    log.handed_out = 0
    assert (await recovered(log)).tracked(JOB) == reader.tracked(JOB)
    assert log.handed_out == 2


async def test_a_job_is_still_quarantined_after_recovery_from_snapshots() -> None:
    log = await log_with(*unfoldable())
    reader = await recovered(log)
    await save(reader, log)
    assert (await recovered(log)).quarantined == reader.quarantined


async def test_a_job_is_still_suspicious_after_recovery_from_snapshots() -> None:
    log = await log_with(*history(2), *chain(said("x"), after=2, prev="ab" * 32))
    reader = await recovered(log)
    await save(reader, log)
    assert (await recovered(log)).tracked(JOB).suspicious == reader.tracked(JOB).suspicious != ""


async def test_a_job_that_moved_on_while_its_snapshot_was_saved_stays_unsaved() -> None:
    first, second = placed(history(2))
    reader = read(first)
    snapshots = reader.unsaved()
    reader.accept(second)
    reader.saved(snapshots)
    assert [snapshot.seq for snapshot in reader.unsaved()] == [2]


def test_useless_snapshots_are_named_by_restore() -> None:
    old = Snapshot(JOB, 3, "ab" * 32, STATE_VERSION + 1, b"{}")
    assert list(Reader().restore([old])) == [JOB]


async def test_a_log_refuses_what_a_reader_would_have_to_skip() -> None:
    log = await log_with(*history(2))
    with pytest.raises(SeqConflict):
        await log.append(chain(said("late"), after=1))
