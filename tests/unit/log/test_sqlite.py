"""The log in a SQLite file across processes: reopened, shared, cancelled, killed."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from statemachine.errors import InvariantBroken, SeqConflict, StoreInUse, StoreUnusable
from statemachine.ids import JobUid
from statemachine.log.port import DeadLetter, EntryDraft
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.log.store import SqliteStore
from tests.support.logs import JOB, OTHER, START, history, records
from tests.support.stores import by_hand, filled, writing


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqliteLog]:
    opened = await SqliteLog.open(path)
    yield opened
    await opened.close()


# ---- reopening ----


async def test_what_was_appended_is_there_when_the_store_is_opened_again(path: Path) -> None:
    await filled(path)
    await filled(path, *history(5)[3:])
    log = await SqliteLog.open(path)
    assert [record.seq for record in await records(log)] == [1, 2, 3, 4, 5]
    await log.close()


async def test_a_closed_store_is_one_file_and_its_lock(path: Path) -> None:
    await filled(path)
    assert sorted(file.name for file in path.parent.iterdir()) == ["store.db", "store.db.lock"]


async def test_a_new_store_is_readable_by_its_owner_only(path: Path) -> None:
    before = os.umask(0)
    try:
        log = await SqliteLog.open(path)
        await log.append(history(1))
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    await log.close()


async def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    await filled(path)
    assert path.stat().st_size > 0


async def test_a_name_with_special_characters_is_just_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=ro#%20.db"
    await filled(path)
    log = await SqliteLog.open(path, read_only=True)
    assert len(await records(log)) == 3
    await log.close()


async def test_a_closed_store_says_so(log: SqliteLog) -> None:
    await log.close()
    with pytest.raises(StoreUnusable, match="closed"):
        await log.append(history(1))
    with pytest.raises(StoreUnusable, match="closed"):
        await log.end()


# ---- writers and readers ----


async def test_a_second_writer_is_refused_with_the_name_of_who_has_the_store(
    path: Path, log: SqliteLog
) -> None:
    with pytest.raises(StoreInUse) as refused:
        await SqliteLog.open(path)
    assert f"process {os.getpid()}" in refused.value.holder
    assert str(path) in str(refused.value)


async def test_a_second_writer_is_refused_under_another_name_of_the_file(path: Path, log: SqliteLog) -> None:
    other = path.with_name("link.db")
    other.symlink_to(path)
    with pytest.raises(StoreInUse):
        await SqliteLog.open(other)


async def test_a_writer_in_another_process_is_named(path: Path) -> None:
    with writing(path) as (process, _):
        with pytest.raises(StoreInUse) as refused:
            await SqliteLog.open(path)
        assert f"process {process.pid} (" in refused.value.holder
        assert "since 20" in refused.value.holder


async def test_a_store_is_free_again_when_its_writer_has_been_killed(path: Path) -> None:
    with writing(path) as (process, _):
        process.kill()
        process.wait()
        log = await SqliteLog.open(path)
        await log.append([EntryDraft(JOB, 1, b"mine")])
        await log.close()


async def test_a_reader_sees_what_a_writer_appends_beside_it(path: Path, log: SqliteLog) -> None:
    reader = await SqliteLog.open(path, read_only=True)
    await log.append(history(2))
    assert len(await records(reader)) == 2
    await log.append(history(3)[2:])
    assert len(await records(reader)) == 3
    await reader.close()


async def test_a_reader_reads_beside_a_writer_in_another_process(path: Path) -> None:
    with writing(path) as (_, lines):
        acknowledged = int(next(lines))
        reader = await SqliteLog.open(path, read_only=True)
        assert await reader.end() >= acknowledged
        await reader.close()


async def test_a_reader_cannot_write(path: Path) -> None:
    await filled(path)
    reader = await SqliteLog.open(path, read_only=True)
    with pytest.raises(StoreUnusable, match="reading only"):
        await reader.append(history(4)[3:])
    await reader.close()


async def test_the_writer_can_be_closed_before_its_reader(path: Path) -> None:
    writer = await SqliteLog.open(path)
    await writer.append(history(3))
    reader = await SqliteLog.open(path, read_only=True)
    await writer.close()
    assert len(await records(reader)) == 3
    await reader.close()


# ---- the store under the log ----


async def test_changes_of_one_run_are_made_together_or_not_at_all(log: SqliteLog) -> None:
    def half(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO checkpoints VALUES ('half', 1)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await log.store.run(half)
    assert await log.checkpoint("half") == 0


async def test_runs_at_the_same_time_share_transactions(path: Path) -> None:
    store = await SqliteStore.open(path)
    commits: list[str] = []
    await store.read(lambda db: db.set_trace_callback(commits.append))
    await asyncio.gather(*(store.run(lambda _: None) for _ in range(50)))
    assert commits.count("COMMIT") <= 3
    await store.close()


async def test_a_statement_that_is_wrong_is_our_bug(log: SqliteLog) -> None:
    with pytest.raises(InvariantBroken, match="no such table"):
        await log.store.run(lambda db: db.execute("SELECT * FROM nowhere"))


async def test_an_append_whose_caller_was_cancelled_is_made_and_harms_nobody(log: SqliteLog) -> None:
    first = asyncio.ensure_future(log.append(history(1)))
    second = asyncio.ensure_future(log.append(history(1, OTHER)))
    await asyncio.sleep(0)
    first.cancel()
    assert len(await second) == 1
    with pytest.raises(SeqConflict):
        await log.append(history(1))


async def test_an_append_whose_caller_was_cancelled_harms_nobody_in_the_same_transaction(
    log: SqliteLog,
) -> None:
    first, *together = [asyncio.ensure_future(log.append(history(1, JobUid(f"job-{n}")))) for n in range(4)]
    await asyncio.sleep(0)
    together[0].cancel()
    async with asyncio.timeout(60):
        made = await asyncio.gather(first, *together[1:])
    assert [len(record) for record in made] == [1, 1, 1]
    assert await log.end() == 4


async def test_a_store_of_an_older_release_has_no_retries(path: Path) -> None:
    log = await SqliteLog.open(path)
    await log.add_dead_letter(DeadLetter(START, JOB, b"x", "why"))
    await log.close()
    by_hand(path, "DROP TABLE retries")
    reader = await SqliteLog.open(path, read_only=True)
    assert [(letter.observation, letter.retried_at) for letter in await reader.dead_letters()] == [
        (b"x", None)
    ]
    await reader.close()


async def test_close_waits_for_what_was_asked_before(path: Path) -> None:
    log = await SqliteLog.open(path)
    appends = [asyncio.ensure_future(log.append(history(1, JobUid(f"job-{n}")))) for n in range(30)]
    await asyncio.sleep(0)
    await log.close()
    assert all(append.done() for append in appends)
    again = await SqliteLog.open(path)
    assert await again.end() == 30
    await again.close()


# ---- kill -9 ----


async def test_whenever_its_writer_is_killed_a_store_has_every_acknowledged_entry_and_no_hole(
    path: Path,
) -> None:
    """Ten kills, each after another number of acknowledgements, so at another point of a transaction."""
    acknowledged: list[tuple[int, str, int]] = []
    for kill in range(10):
        with writing(path, "whole") as (process, lines):
            acknowledged_lines = [next(lines) for _ in range(3 + kill * 17)]
            process.kill()
            acknowledged_lines += [line for line in lines if line.endswith("\n")]
        acknowledged += [
            (int(place), job, int(seq)) for place, job, seq in map(str.split, acknowledged_lines)
        ]
        log = await SqliteLog.open(path)
        places = {(record.position, record.job, record.seq) for record in await records(log)}
        assert set(acknowledged) <= places
        assert {place for place, _, _ in places} == set(range(1, len(places) + 1))
        await log.close()


# ---- edited by hand ----


async def recovered(path: Path) -> Reader:
    log, reader = await SqliteLog.open(path), Reader()
    await reader.recover(log)
    await log.close()
    return reader


async def test_snapshots_deleted_by_hand_lose_nothing(path: Path) -> None:
    await filled(path)
    log, reader = await SqliteLog.open(path), Reader()
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    await log.close()
    by_hand(path, "DELETE FROM snapshots")
    assert (await recovered(path)).tracked(JOB).state == reader.tracked(JOB).state


async def test_a_snapshot_deleted_by_hand_is_missed_and_its_job_folded(path: Path) -> None:
    await filled(path, *history(3), *history(2, OTHER))
    log, reader = await SqliteLog.open(path), Reader()
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    await log.close()
    by_hand(path, "DELETE FROM snapshots WHERE job = ?", OTHER)
    again = await recovered(path)
    assert again.tracked(OTHER).state == reader.tracked(OTHER).state
    assert again.tracked(OTHER).seq == 2


async def test_an_entry_edited_with_sql_breaks_the_chain_and_not_the_store(path: Path) -> None:
    await filled(path)
    by_hand(path, "UPDATE entries SET body = replace(body, 'seen_at', 'SEEN_at') WHERE seq = 2")
    assert (await recovered(path)).tracked(JOB).seq < 3
