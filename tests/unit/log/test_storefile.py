"""Where a store can be and where not, what is in a file that is none, and how stores break."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

from statemachine.errors import LogUnavailable, StoreFull, StoreUnusable
from statemachine.ids import JobUid
from statemachine.log.port import EntryDraft
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.log.store import SqliteStore
from statemachine.log.storefile import FORMAT, _make_durable, translated
from tests.support.logs import JOB, OTHER, history, records
from tests.support.stores import by_hand, filled, writing


@pytest.fixture
def path() -> Iterator[Path]:
    """In no folder of pytest: what is above a store is opened for others for a while, and tests share that."""
    with TemporaryDirectory() as folder:
        yield Path(folder, "store.db")


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqliteLog]:
    opened = await SqliteLog.open(path)
    yield opened
    await opened.close()


# ---- without rights ----

OPEN = """
import asyncio, os, sqlite3, sys
from pathlib import Path
from statemachine.errors import LogError
from statemachine.log.sqlite import SqliteLog

async def main():
    try:
        log = await SqliteLog.open(Path(sys.argv[1]), read_only=sys.argv[2] == "read")
        print(await log.end())
        await log.close()
    except LogError as error:
        print(error)

if os.geteuid() == 0:  # whom no mode of a file stops
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(main())
"""


def opened_without_rights(path: Path, how: str, *, directory: int = 0o555, file: int = 0o444) -> str:
    """What comes of opening the store for somebody who is stopped by these modes."""
    above = {parent: parent.stat() for parent in path.parents}
    modes = {
        place: status.st_mode
        for place, status in above.items()
        if status.st_uid == os.geteuid() and (place == path.parent or status.st_mode & 0o055 != 0o055)
    }
    for entry in path.parent.iterdir():
        entry.chmod(file)
    try:
        for place, mode in modes.items():
            place.chmod(mode | 0o055)
        path.parent.chmod(directory)
        command = [sys.executable, "-c", OPEN, str(path), how]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        for place, mode in modes.items():
            place.chmod(mode)
    return done.stdout.strip() or done.stderr


async def test_a_closed_store_can_be_read_where_nothing_can_be_written(path: Path) -> None:
    await filled(path)
    assert opened_without_rights(path, "read") == "3"


def test_a_reader_learns_when_the_last_entries_lie_beside_the_store_and_cannot_be_reached(
    path: Path,
) -> None:
    with writing(path) as (process, lines):
        next(lines)
        process.kill()
        process.wait()
    path.with_name("store.db-shm").unlink()
    assert "copy both to another" in opened_without_rights(path, "read")


async def test_a_directory_that_cannot_be_written_is_named(path: Path) -> None:
    await filled(path)
    assert f"directory {path.parent} of the store cannot be written" in opened_without_rights(path, "write")


async def test_a_file_that_cannot_be_written_is_named(path: Path) -> None:
    await filled(path)
    answer = opened_without_rights(path, "write", directory=0o777)
    assert f"store {path} is read-only" in answer


async def test_a_lock_that_cannot_be_written_is_named(path: Path) -> None:
    await filled(path)
    path.unlink()
    answer = opened_without_rights(path, "write", directory=0o777)
    assert f"{path}.lock cannot be written" in answer


# ---- places where no store can be ----


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_directory_is_no_store(tmp_path: Path, read_only: bool) -> None:
    with pytest.raises(StoreUnusable, match=r"is a directory.*--store"):
        await SqliteLog.open(tmp_path, read_only=read_only)


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match=r"no directory .*absent.*--store"):
        await SqliteLog.open(tmp_path / "absent" / "store.db")


async def test_there_is_nothing_to_read_where_there_is_no_store(path: Path) -> None:
    with pytest.raises(StoreUnusable, match="there is no store"):
        await SqliteLog.open(path, read_only=True)
    assert not path.exists()


async def test_an_empty_file_cannot_be_read(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreUnusable, match="empty"):
        await SqliteLog.open(path, read_only=True)


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_file_that_is_no_database_is_left_alone(path: Path, read_only: bool) -> None:
    text = b"Dear diary, " * 400
    path.write_bytes(text)
    with pytest.raises(StoreUnusable, match="not a jobledger store"):
        await SqliteLog.open(path, read_only=read_only)
    assert path.read_bytes() == text


@pytest.mark.parametrize("read_only", [False, True])
async def test_another_programs_database_is_left_alone(path: Path, read_only: bool) -> None:
    by_hand(path, "CREATE TABLE songs (title)")
    before = path.read_bytes()
    with pytest.raises(StoreUnusable, match="another program"):
        await SqliteLog.open(path, read_only=read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_store_of_a_newer_format_is_left_alone(path: Path, read_only: bool) -> None:
    await filled(path)
    by_hand(path, "UPDATE meta SET value = ? WHERE key = 'format'", str(FORMAT + 1))
    with pytest.raises(StoreUnusable, match=f"format {FORMAT + 1}, and this jobledger knows {FORMAT}"):
        await SqliteLog.open(path, read_only=read_only)


async def test_a_place_that_could_not_be_opened_is_free_again(path: Path) -> None:
    path.write_bytes(b"x" * 5000)
    with pytest.raises(StoreUnusable):
        await SqliteLog.open(path)
    path.unlink()
    await filled(path)


async def test_a_store_that_was_refused_is_free_again(path: Path) -> None:
    await filled(path)
    by_hand(path, "UPDATE meta SET value = ? WHERE key = 'format'", str(FORMAT + 1))
    with pytest.raises(StoreUnusable, match="format"):
        await SqliteLog.open(path)
    by_hand(path, "UPDATE meta SET value = ? WHERE key = 'format'", str(FORMAT))
    await filled(path, *history(4)[3:])


# ---- what is durable ----


@pytest.mark.parametrize("beside", [False, True], ids=["owner", "beside"])
async def test_who_writes_a_store_waits_until_the_disk_has_it(path: Path, beside: bool) -> None:
    """NORMAL would lose the last commits of a write-ahead log in a power cut. Source: SQLite, PRAGMA synchronous."""
    store = await SqliteStore.open(path, beside=beside)
    pragmas = ("journal_mode", "synchronous", "fullfsync")
    values = [await store.read(partial(_pragma, pragma)) for pragma in pragmas]
    assert values == ["wal", 2, 1]
    await store.close()


def _pragma(name: str, db: sqlite3.Connection) -> object:
    return db.execute(f"PRAGMA {name}").fetchone()[0]


async def test_the_name_of_a_new_store_is_durable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, synced = os.fsync, []

    def noted(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    await filled(path)
    assert path.parent.stat().st_ino in synced


def test_where_no_log_can_be_written_ahead_is_no_store(path: Path) -> None:
    with (
        closing(sqlite3.connect(":memory:")) as db,
        pytest.raises(StoreUnusable, match="cannot hold a store"),
    ):
        _make_durable(db, path)


@pytest.mark.parametrize("free", [0, 1 << 30])
def test_a_failed_write_is_said_to_lack_room_where_there_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    """Also where SQLite speaks of an error of the disk, or cannot make the files beside the store."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    for code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        assert isinstance(translated(error, path), StoreFull) is (free == 0)


# ---- damage ----


async def test_a_corrupt_record_quarantines_its_job_and_no_other(path: Path) -> None:
    await filled(path, *history(4), *history(4, OTHER))
    by_hand(path, "UPDATE entries SET body = x'00ff' WHERE job = ? AND seq = 2", JOB)
    log = await SqliteLog.open(path)
    reader = Reader()
    await reader.recover(log)
    assert list(reader.quarantined) == [JOB]
    assert reader.tracked(OTHER).seq == 4
    await log.close()


async def test_a_damaged_file_says_what_to_do(path: Path) -> None:
    await filled(path, *(EntryDraft(JOB, seq, b"x" * 900) for seq in range(1, 200)))
    with path.open("r+b") as file:
        file.seek(4096 * 5)
        file.write(b"\xde\xad" * 2048 * 20)
    log = await SqliteLog.open(path)
    with pytest.raises(StoreUnusable, match=r"damaged.*backup"):
        await records(log)
    await log.close()


async def test_a_full_disk_loses_nothing_and_is_worth_another_try(log: SqliteLog) -> None:
    await log.append(history(2))
    pages = await log.store.run(lambda db: int(db.execute("PRAGMA page_count").fetchone()[0]))
    await log.store.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 5}").fetchone())
    with pytest.raises(LogUnavailable, match="no space") as refused:
        await log.append([EntryDraft(JOB, 3, b"x" * 100_000)])
    assert refused.value.retryable
    assert len(await records(log)) == 2
    await log.store.read(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    await log.append(history(3)[2:])
    assert [record.seq for record in await records(log)] == [1, 2, 3]


async def test_an_append_that_does_not_fit_does_not_fail_those_beside_it(log: SqliteLog) -> None:
    pages = await log.store.run(lambda db: int(db.execute("PRAGMA page_count").fetchone()[0]))
    await log.store.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 10}").fetchone())
    small = [log.append([EntryDraft(JobUid(f"job-{number}"), 1, b"x")]) for number in range(6)]
    results = await asyncio.gather(
        *small[:3], log.append([EntryDraft(JOB, 1, b"x" * 200_000)]), *small[3:], return_exceptions=True
    )
    assert [isinstance(result, LogUnavailable) for result in results] == [False] * 3 + [True] + [False] * 3
    assert len(await records(log)) == 6


async def test_a_store_locked_by_another_program_is_worth_another_try(path: Path, log: SqliteLog) -> None:
    await log.store.read(lambda db: db.execute("PRAGMA busy_timeout = 1").fetchone())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnavailable, match="locked"):
            await log.append(history(1))
    await log.append(history(1))
