"""What stays of jobs that are over: that they are; nothing that is observed of them later changes it (ADR 0019)."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from projectors.verify import Verification
from statemachine.engine.step import Delivery, Owner
from statemachine.ids import JobUid
from statemachine.log.codec import encode_state
from statemachine.log.port import EntryDraft, EventLog
from statemachine.log.reader import Reader, closed_in
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import Observation
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock

ENDED = JobUid("u1")
LIVE = JobUid("u2")


def life(uid: str = ENDED) -> Story:
    story = Story(workers(2), uid=uid).submit().at(5).all_pods("Running")
    return story.at(9).pod("worker-0", "Succeeded").delete().gone("worker-0").gone("worker-1")


def causes(story: Story) -> list[Observation]:
    return [entry.cause for entry in story.entries]


def owner(log: MemoryLog, keeps: int | None = 0) -> Owner:
    return Owner(log, Reader(keeps=keeps), LoopClock(START))


async def ended(log: MemoryLog, keeps: int | None = 0) -> Owner:
    """An owner who has seen one job to its end, and another that lives."""
    made = owner(log, keeps)
    await made.take([Delivery(cause) for cause in (*causes(life()), *causes(life(LIVE))[:3])])
    return made


async def restarted(log: MemoryLog) -> Owner:
    again = owner(log)
    await again.reader.recover(log)
    return again


async def save(reader: Reader, log: EventLog) -> None:
    snapshots = reader.unsaved()
    await log.save_snapshots(reader.position, snapshots, reader.place)
    reader.saved(snapshots)


async def reported_again(to: Owner) -> Sequence[object]:
    """Every observation of the job comes once more."""
    return await to.take([Delivery(cause) for cause in causes(life())])


async def test_of_a_job_that_is_over_its_last_number_stays() -> None:
    reader = (await ended(MemoryLog())).reader
    assert list(reader.jobs) == list(reader.open_jobs) == [LIVE]
    assert reader.forgotten == {ENDED: len(life().entries)}
    assert ENDED in reader
    assert reader.tracked(ENDED).forgotten


async def test_the_last_ones_stay_whole() -> None:
    reader = Reader(keeps=2)
    jobs = [JobUid(f"job-{number}") for number in range(4)]
    await Owner(MemoryLog(), reader, LoopClock(START)).take(
        [Delivery(cause) for job in jobs for cause in causes(life(job))]
    )
    assert list(reader.jobs) == jobs[2:]
    assert list(reader.forgotten) == jobs[:2]


async def test_late_reports_of_a_job_that_is_over_append_nothing() -> None:
    log = MemoryLog()
    made = await ended(log)
    before = await log.end()
    assert await reported_again(made) == []
    assert (await log.end(), await log.dead_letters()) == (before, [])


async def test_they_append_nothing_after_a_restart_with_snapshots_and_without() -> None:
    log = MemoryLog()
    made = await ended(log)
    before = await log.end()
    assert await reported_again(await restarted(log)) == []
    await save(made.reader, log)
    again = await restarted(log)
    assert again.reader.forgotten == made.reader.forgotten
    assert await reported_again(again) == []
    assert (await log.end(), again.reader.unsaved()) == (before, ())


async def test_the_same_name_with_another_uid_is_a_job_of_its_own() -> None:
    log = MemoryLog()
    made = await ended(log)
    await save(made.reader, log)
    again = await restarted(log)
    await again.take([Delivery(cause) for cause in causes(life("u3"))[:2]])
    assert again.reader.tracked(JobUid("u3")).seq == 2


async def test_its_snapshot_is_marked_and_a_start_needs_its_last_number_alone() -> None:
    log = MemoryLog()
    made = await ended(log)
    await save(made.reader, log)
    covered, snapshots, closed, _ = await log.saved()
    assert (covered, [snapshot.job for snapshot in snapshots]) == (await log.end(), [LIVE])
    assert closed == {ENDED: len(life().entries)}


async def test_a_log_whose_closed_jobs_were_forgotten_before_they_were_saved_verifies(tmp_path: Path) -> None:
    logs: list[EventLog] = [MemoryLog(), await SqliteLog.open(tmp_path / "store.db")]
    for number, log in enumerate(logs):
        made = Owner(log, Reader(keeps=number), LoopClock(START))
        await made.take([Delivery(cause) for uid in (ENDED, LIVE) for cause in causes(life(uid))])
        await save(made.reader, log)
        assert made.reader.unsaved() == ()
        verification = Verification((await log.snapshots())[1])
        async for batch in log.scan():
            for record in batch:
                verification.take(record)
        assert [verdict.difference for verdict in verification.verdicts()] == [None, None]
        await log.close()


async def test_snapshots_of_closed_jobs_that_an_older_release_did_not_mark_are_marked() -> None:
    log = MemoryLog()
    made = await ended(log, keeps=None)
    unmarked = [replace(snapshot, closed=False) for snapshot in made.reader.unsaved()]
    await log.save_snapshots(made.reader.position, unmarked)
    again = await restarted(log)
    assert again.reader.forgotten == {ENDED: len(life().entries)}
    assert [(snapshot.job, snapshot.closed) for snapshot in again.reader.unsaved()] == [(ENDED, True)]


async def test_who_wants_all_states_has_them_of_the_log() -> None:
    log = MemoryLog()
    made = await ended(log)
    await save(made.reader, log)
    whole = Reader()
    await whole.recover(log)
    assert encode_state(whole.tracked(ENDED).state) == encode_state(life().state)
    closed = [tracked async for tracked in closed_in(log, made.reader.forgotten)]
    assert [encode_state(tracked.state) for tracked in closed] == [encode_state(life().state)]


async def test_what_somebody_writes_behind_the_end_of_a_job_is_skipped_by_all_readers() -> None:
    log = MemoryLog()
    made = await ended(log)
    last = made.reader.forgotten[ENDED]
    await log.append([EntryDraft(ENDED, last + 1, b"not an entry")])
    whole = Reader()
    await whole.recover(log)
    assert [folded async for folded in made.reader.catch_up(log)] == []
    assert (whole.skipped, made.reader.skipped) == (1, 1)
    assert whole.tracked(ENDED).seq == made.reader.tracked(ENDED).seq == last
    assert whole.quarantined == made.reader.quarantined == {}


async def test_the_last_place_of_all_is_known_when_its_job_is_forgotten() -> None:
    log = MemoryLog()
    made = owner(log)
    await made.take([Delivery(observation, place) for place, observation in enumerate(causes(life()), 1)])
    await save(made.reader, log)
    reader = (await restarted(log)).reader
    assert reader.place == len(life().entries)
    reader.forget_places()
    assert (reader.place, list(reader.unsaved())) == (0, [])
