"""What every EventLog has to do, on every adapter: the sentences of `statemachine/log/port.py`, one by one."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace

from statemachine.errors import SeqConflict
from statemachine.ids import JobUid, Position
from statemachine.log.closed_jobs import ClosedJobs
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.port import UNUSABLE, DeadLetter, EntryDraft, EventLog, Record, Saved, Snapshot
from statemachine.log.sqlite import SqliteLog
from tests.support.logs import JOB, OTHER, everything, history, records
from tests.support.memory_log import MemoryLog


@pytest.fixture(params=["memory", "sqlite", pytest.param("kafka", marks=pytest.mark.integration)])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventLog]:
    made = await opened(request, tmp_path)
    yield made
    await made.close()


async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> EventLog:
    match request.param:
        case "memory":
            return MemoryLog()
        case "sqlite":
            return await SqliteLog.open(tmp_path / "store.db")
        case _:
            return await KafkaLog.open(request.getfixturevalue("ledger_topics"), 1)


def drafts(*pairs: tuple[JobUid, int]) -> list[EntryDraft]:
    return [EntryDraft(job, seq, f"{job} {seq}".encode()) for job, seq in pairs]


def snapshot(job: JobUid, seq: int = 1) -> Snapshot:
    return Snapshot(job, seq, "ab" * 32, 1, b'{"uid":"x"}')


# ---- append ----


async def test_an_append_gives_a_record_for_each_draft_in_their_order(log: EventLog) -> None:
    wanted = drafts((JOB, 1), (OTHER, 1), (JOB, 2))
    assert [(record.job, record.seq, record.body) for record in await log.append(wanted)] == [
        (record.job, record.seq, record.body) for record in wanted
    ]


async def test_what_append_gives_is_what_scan_finds(log: EventLog) -> None:
    given = await log.append(drafts((JOB, 1), (OTHER, 1)))
    assert await records(log) == list(given)


async def test_positions_grow_from_one_append_to_the_next(log: EventLog) -> None:
    places = [(await log.append(drafts((JOB, seq))))[0].position for seq in range(1, 6)]
    assert places == sorted(set(places))
    assert places[0] > 0


async def test_an_append_of_nothing_changes_nothing(log: EventLog) -> None:
    assert list(await log.append([])) == []
    assert await log.end() == 0


async def test_any_bytes_come_back_as_they_were(log: EventLog) -> None:
    body = bytes(range(256)) + "é\u2028".encode()
    await log.append([EntryDraft(JOB, 1, body)])
    assert (await records(log))[0].body == body


async def test_a_taken_seq_is_refused_and_the_error_says_how_far_the_log_is(log: EventLog) -> None:
    await log.append(drafts((JOB, 1), (JOB, 2), (JOB, 3)))
    with pytest.raises(SeqConflict) as refused:
        await log.append(drafts((JOB, 2)))
    assert (refused.value.job, refused.value.seq, refused.value.found) == (JOB, 2, 3)


async def test_of_an_append_with_a_taken_seq_nothing_is_written(log: EventLog) -> None:
    await log.append(drafts((JOB, 1)))
    with pytest.raises(SeqConflict):
        await log.append(drafts((OTHER, 1), (JOB, 1), (JOB, 2)))
    assert [(record.job, record.seq) for record in await records(log)] == [(JOB, 1)]


async def test_what_stood_in_a_refused_append_can_be_appended(log: EventLog) -> None:
    await log.append(drafts((JOB, 1)))
    with pytest.raises(SeqConflict):
        await log.append(drafts((OTHER, 1), (JOB, 1)))
    await log.append(drafts((OTHER, 1), (JOB, 2)))
    assert [(record.job, record.seq) for record in await records(log)] == [(JOB, 1), (OTHER, 1), (JOB, 2)]


async def test_one_append_cannot_take_a_seq_twice(log: EventLog) -> None:
    with pytest.raises(SeqConflict) as refused:
        await log.append(drafts((JOB, 1), (JOB, 1)))
    assert refused.value.found == 0
    assert await records(log) == []


async def test_two_jobs_may_have_the_same_seq(log: EventLog) -> None:
    await log.append(drafts((JOB, 1)))
    await log.append(drafts((OTHER, 1)))
    assert [(record.job, record.seq) for record in await records(log)] == [(JOB, 1), (OTHER, 1)]


async def test_after_a_refusal_the_log_goes_on(log: EventLog) -> None:
    await log.append(drafts((JOB, 1)))
    with pytest.raises(SeqConflict):
        await log.append(drafts((JOB, 1)))
    await log.append(drafts((JOB, 2)))
    assert [record.seq for record in await records(log)] == [1, 2]


async def test_appends_at_the_same_time_are_all_in_the_log_once(log: EventLog) -> None:
    jobs = [JobUid(f"job-{number}") for number in range(40)]
    await asyncio.gather(*(log.append(drafts((job, 1), (job, 2))) for job in jobs))
    assert sorted((record.job, record.seq) for record in await records(log)) == sorted(
        (job, seq) for job in jobs for seq in (1, 2)
    )


async def test_the_drafts_of_one_append_stand_side_by_side_though_others_append(log: EventLog) -> None:
    jobs = [JobUid(f"job-{number}") for number in range(20)]
    await asyncio.gather(*(log.append(drafts((job, 1), (job, 2), (job, 3))) for job in jobs))
    uids = [record.job for record in await records(log)]
    assert all(len(set(uids[start : start + 3])) == 1 for start in range(0, len(uids), 3))


async def test_a_conflict_fails_only_the_append_that_has_it(log: EventLog) -> None:
    await log.append(drafts((JOB, 1)))
    jobs = [JobUid(f"job-{number}") for number in range(10)]
    tries = [log.append(drafts((job, 1))) for job in (*jobs[:5], JOB, *jobs[5:])]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert [isinstance(result, SeqConflict) for result in results] == [False] * 5 + [True] + [False] * 5
    assert [record.job for record in await records(log)] == [JOB, *jobs]


# ---- scan and end ----


async def test_a_scan_of_an_empty_log_gives_nothing(log: EventLog) -> None:
    assert await records(log) == []


async def test_a_scan_begins_behind_the_position_it_is_given(log: EventLog) -> None:
    given = await log.append(history(5))
    assert await everything(log.scan(given[1].position)) == list(given[2:])


async def test_a_scan_behind_the_end_gives_nothing(log: EventLog) -> None:
    await log.append(history(3))
    assert await everything(log.scan(await log.end())) == []


async def test_a_scan_of_a_job_gives_only_its_records(log: EventLog) -> None:
    given = await log.append(drafts((JOB, 1), (OTHER, 1), (JOB, 2), (OTHER, 2)))
    assert await everything(log.scan(job=OTHER)) == [given[1], given[3]]


async def test_a_scan_of_a_job_can_begin_behind_an_entry(log: EventLog) -> None:
    given = await log.append(drafts((JOB, 1), (OTHER, 1), (JOB, 2), (JOB, 3)))
    assert await everything(log.scan(job=JOB, after_seq=1)) == [given[2], given[3]]


async def test_a_scan_of_a_job_minds_the_position_too(log: EventLog) -> None:
    given = await log.append(drafts((JOB, 1), (JOB, 2), (JOB, 3)))
    assert await everything(log.scan(given[1].position, job=JOB)) == [given[2]]


async def first_of(log: EventLog, text: str) -> list[Record] | None:
    """None also where such a log finds nobody without reading everything."""
    firsts = await log.first_records(text)
    assert log.finds_jobs or firsts is None
    return None if firsts is None else list(firsts)


async def test_a_job_is_looked_up_by_a_string_in_its_first_entry_or_the_beginning_of_its_uid(
    log: EventLog,
) -> None:
    named = [
        EntryDraft(JOB, 1, b'{"name":"train"}'),
        EntryDraft(OTHER, 1, b'{"name":"strain","of":"tr\xc3\xa4in"}'),
    ]
    one, other, *_ = await log.append([*named, EntryDraft(OTHER, 2, b'{"name":"train"}')])
    if not log.finds_jobs:
        assert await first_of(log, "train") is None
        return
    assert await first_of(log, "train") == [one]
    assert await first_of(log, "strain") == await first_of(log, "träin") == [other]
    assert await first_of(log, OTHER[:5]) == await first_of(log, OTHER) == [other]
    assert await first_of(log, "rain") == await first_of(log, "%") == []


async def test_no_job_is_looked_up_that_way_where_nothing_but_a_snapshot_is_left_of_one(
    log: EventLog,
) -> None:
    (record,) = await log.append([EntryDraft(JOB, 1, b'{"name":"train"}')])
    await log.save_snapshots(record.position, [snapshot(JOB)])
    assert not log.finds_jobs or await first_of(log, "train") == [record]
    await log.save_snapshots(record.position, [snapshot(OTHER)])
    assert await first_of(log, "train") is None


async def test_a_scan_of_an_unknown_job_gives_nothing(log: EventLog) -> None:
    await log.append(drafts((JOB, 1)))
    assert await everything(log.scan(job=OTHER)) == []


async def test_a_scan_keeps_the_order_over_many_batches(log: EventLog) -> None:
    given = await log.append(drafts(*((JOB, seq) for seq in range(1, 2502))))
    assert await records(log) == list(given)
    assert await everything(log.scan(job=JOB)) == list(given)


async def test_a_scan_of_a_job_is_in_log_order_even_if_the_log_is_not_in_seq_order(log: EventLog) -> None:
    given = await log.append(drafts((JOB, 3), (JOB, 1), (JOB, 2)))
    assert await everything(log.scan(job=JOB)) == list(given)


async def test_a_scan_ends_where_the_log_ended_when_it_began(log: EventLog) -> None:
    given = await log.append(drafts(*((JOB, seq) for seq in range(1, 1501))))
    records: list[Record] = []
    async for batch in log.scan():
        if not records:
            await log.append(drafts((OTHER, 1)))
        records += batch
    assert records == list(given)


async def test_a_scan_gives_no_empty_batches(log: EventLog) -> None:
    await log.append(drafts(*((JOB, seq) for seq in range(1, 1001))))
    assert all([len(batch) async for batch in log.scan()])


async def test_the_end_of_an_empty_log_is_zero(log: EventLog) -> None:
    assert await log.end() == 0


async def test_no_record_is_behind_the_end(log: EventLog) -> None:
    given = await log.append(history(4))
    assert await log.end() >= given[-1].position


async def test_what_is_appended_later_is_behind_the_end(log: EventLog) -> None:
    await log.append(drafts((JOB, 1)))
    before = await log.end()
    given = await log.append(drafts((JOB, 2)))
    assert given[0].position > before
    assert await everything(log.scan(before)) == list(given)


# ---- follow ----


async def followed(log: EventLog, after: Position, count: int) -> list[Record]:
    """The first records that come behind `after`."""
    records: list[Record] = []
    async with asyncio.timeout(90):
        async for batch, *_ in log.follow(after):
            records += batch
            if len(records) >= count:
                break
    return records


async def test_a_follower_gets_what_is_there(log: EventLog) -> None:
    given = await log.append(history(5))
    assert await followed(log, 0, 5) == list(given)


async def test_a_follower_begins_behind_the_position_it_gives(log: EventLog) -> None:
    given = await log.append(history(5))
    assert await followed(log, given[2].position, 2) == list(given[3:])


async def test_a_follower_gets_what_is_appended_meanwhile(log: EventLog) -> None:
    given = list(await log.append(drafts((JOB, 1))))
    records: list[Record] = []
    async with asyncio.timeout(90):
        async for batch, position, _ in log.follow():
            records += batch
            assert not batch or position >= batch[-1].position
            if len(records) == 4:
                break
            if len(records) == len(given):
                given += await log.append(drafts((JOB, len(given) + 1)))
    assert records == given


async def test_who_follows_a_log_that_does_not_grow_learns_so(log: EventLog) -> None:
    given = await log.append(history(1))
    async with asyncio.timeout(90):
        async for batch, position, _ in log.follow(given[0].position):
            assert not batch
            assert position >= await log.end()
            return


async def test_several_follow_by_themselves(log: EventLog) -> None:
    given = list(await log.append(history(3)))
    both = await asyncio.gather(followed(log, 0, 3), followed(log, given[0].position, 2))
    assert list(both) == [given, given[1:]]


# ---- snapshots ----


async def test_a_new_log_has_no_snapshots_and_covers_nothing(log: EventLog) -> None:
    position, snapshots = await log.snapshots()
    assert (position, list(snapshots)) == (0, [])


async def test_saved_snapshots_come_back_with_the_position_they_cover(log: EventLog) -> None:
    await log.save_snapshots(7, [snapshot(JOB), snapshot(OTHER, 3)])
    position, snapshots = await log.snapshots()
    assert position == 7
    assert sorted(snapshots, key=lambda one: one.job) == [snapshot(JOB), snapshot(OTHER, 3)]


async def test_a_saved_snapshot_takes_the_place_of_the_one_of_its_job(log: EventLog) -> None:
    await log.save_snapshots(7, [snapshot(JOB), snapshot(OTHER)])
    await log.save_snapshots(9, [snapshot(JOB, 5)])
    position, snapshots = await log.snapshots()
    assert position == 9
    assert {record.job: record.seq for record in snapshots} == {JOB: 5, OTHER: 1}


async def test_the_position_moves_without_a_new_snapshot(log: EventLog) -> None:
    await log.save_snapshots(7, [snapshot(JOB)])
    await log.save_snapshots(8, [])
    assert await log.snapshots() == (8, [snapshot(JOB)])


async def test_of_closed_jobs_only_the_last_entries_are_needed_to_go_on(log: EventLog) -> None:
    await log.save_snapshots(7, [snapshot(JOB), snapshot(OTHER, 2)])
    await log.save_snapshots(9, [replace(snapshot(OTHER, 3), closed=True)], 0)
    assert await log.saved() == Saved(9, [snapshot(JOB)], ClosedJobs({OTHER: 3}))
    position, snapshots = await log.snapshots()
    assert (position, {record.job: (record.seq, record.closed) for record in snapshots}) == (
        9,
        {JOB: (1, False), OTHER: (3, True)},
    )


async def test_a_closed_job_may_have_a_snapshot_without_a_state(log: EventLog) -> None:
    await log.save_snapshots(7, [replace(snapshot(JOB, 3), version=UNUSABLE, body=b"", closed=True)])
    assert await log.saved() == Saved(7, [], ClosedJobs({JOB: 3}))
    _, [kept] = await log.snapshots()
    assert (kept.seq, kept.version, kept.closed) == (3, UNUSABLE, True)


# ---- checkpoints ----


async def test_a_reader_that_never_said_stands_at_zero(log: EventLog) -> None:
    assert await log.checkpoint("status") == 0


async def test_a_checkpoint_is_remembered_for_its_reader_alone(log: EventLog) -> None:
    await log.save_checkpoint("status", 4)
    await log.save_checkpoint("children", 9)
    await log.save_checkpoint("status", 5)
    assert (await log.checkpoint("status"), await log.checkpoint("children")) == (5, 9)


async def test_snapshots_and_checkpoints_do_not_touch_each_other(log: EventLog) -> None:
    await log.save_snapshots(7, [snapshot(JOB)])
    await log.save_checkpoint("snapshots", 3)
    assert (await log.snapshots())[0] == 7


# ---- dead letters ----


async def test_dead_letters_come_back_whole_and_oldest_first(log: EventLog) -> None:
    when = datetime(2024, 1, 1, 10, 0, 0, 123, tzinfo=UTC)
    await log.add_dead_letter(DeadLetter(when, JOB, b"\x00\xff not json", "the observation is not JSON"))
    await log.add_dead_letter(DeadLetter(when - timedelta(hours=1), JobUid(""), b"{}", "no job"))
    first, second = await log.dead_letters()
    assert (first.at, first.job, first.observation) == (when, JOB, b"\x00\xff not json")
    assert (second.job, second.error) == ("", "no job")


async def test_each_dead_letter_gets_an_id_of_its_own(log: EventLog) -> None:
    when = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    for _ in range(3):
        await log.add_dead_letter(DeadLetter(when, JOB, b"{}", "again"))
    ids = [letter.id for letter in await log.dead_letters()]
    assert ids == sorted(set(ids))
    assert ids[0] > 0
    assert await log.dead_letter_count() == 3


async def test_a_letter_that_was_retried_says_when_and_stays_what_it_is(log: EventLog) -> None:
    when = datetime(2024, 1, 1, tzinfo=UTC)
    for error in ("one", "two"):
        await log.add_dead_letter(DeadLetter(when, JOB, b"{}", error))
    before = await log.dead_letters()
    assert [letter.retried_at for letter in before] == [None, None]
    for hours in (1, 2):
        await log.note_retry(before[1], when + timedelta(hours=hours))
    assert list(await log.dead_letters()) == [
        before[0],
        replace(before[1], retried_at=when + timedelta(hours=2)),
    ]
    assert await log.dead_letter_count() == 2


async def test_a_letter_that_was_retried_elsewhere_comes_with_that(log: EventLog) -> None:
    when = datetime(2024, 1, 1, tzinfo=UTC)
    await log.add_dead_letter(DeadLetter(when, JOB, b"{}", "no", retried_at=when + timedelta(hours=1)))
    assert [letter.retried_at for letter in await log.dead_letters()] == [when + timedelta(hours=1)]


async def test_a_new_log_has_no_dead_letters(log: EventLog) -> None:
    assert list(await log.dead_letters()) == []
    assert await log.dead_letter_count() == 0


# ---- close ----


async def test_close_can_be_called_again(log: EventLog) -> None:
    await log.append(history(1))
    await log.close()
    await log.close()
