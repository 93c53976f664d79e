"""What is peculiar to the log in a SQLite file: its place, its writers and readers, and how it breaks."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from statemachine.errors import InvariantBroken, LogUnavailable, SeqConflict, StoreInUse, StoreUnusable
from statemachine.ids import JobUid
from statemachine.log.port import Draft
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.log.store import SqliteStore
from statemachine.log.storefile import FORMAT
from tests.support.logs import JOB, OTHER, history, records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqliteLog]:
    opened = await SqliteLog.open(path)
    yield opened
    await opened.close()


async def filled(path: Path, *drafts: Draft) -> None:
    """A closed store with these entries."""
    log = await SqliteLog.open(path)
    await log.append(drafts or history(3))
    await log.close()


def by_hand(path: Path, statement: str, *values: object) -> None:
    """Somebody changes the file with another program."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


# ---- reopening ----


async def test_what_was_appended_is_there_when_the_store_is_opened_again(path: Path) -> None:
    await filled(path)
    await filled(path, *history(5)[3:])
    log = await SqliteLog.open(path)
    assert [each.seq for each in await records(log)] == [1, 2, 3, 4, 5]
    await log.close()


async def test_a_closed_store_is_one_file_and_its_lock(path: Path) -> None:
    await filled(path)
    assert sorted(each.name for each in path.parent.iterdir()) == ["store.db", "store.db.lock"]


async def test_a_new_store_is_readable_by_its_owner_only(path: Path, log: SqliteLog) -> None:
    await log.append(history(1))
    assert {each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {0o600}


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


async def test_a_second_writer_is_refused_and_told_who_has_the_store(path: Path, log: SqliteLog) -> None:
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
        await log.append([Draft(JOB, 1, b"mine")])
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
    above = {each: each.stat() for each in path.parents}
    modes = {
        each: found.st_mode
        for each, found in above.items()
        if found.st_uid == os.geteuid() and (each == path.parent or found.st_mode & 0o055 != 0o055)
    }
    for each in path.parent.iterdir():
        each.chmod(file)
    try:
        for each, mode in modes.items():
            each.chmod(mode | 0o055)
        path.parent.chmod(directory)
        command = [sys.executable, "-c", OPEN, str(path), how]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        for each, mode in modes.items():
            each.chmod(mode)
    return done.stdout.strip() or done.stderr


async def test_a_closed_store_can_be_read_where_nothing_can_be_written(path: Path) -> None:
    await filled(path)
    assert opened_without_rights(path, "read") == "3"


def test_a_reader_is_told_when_the_last_entries_lie_beside_the_store_and_cannot_be_reached(
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
    await filled(path, *(Draft(JOB, seq, b"x" * 900) for seq in range(1, 200)))
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
        await log.append([Draft(JOB, 3, b"x" * 100_000)])
    assert refused.value.retryable
    assert len(await records(log)) == 2
    await log.store.read(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    await log.append(history(3)[2:])
    assert [each.seq for each in await records(log)] == [1, 2, 3]


async def test_an_append_that_does_not_fit_does_not_fail_those_beside_it(log: SqliteLog) -> None:
    pages = await log.store.run(lambda db: int(db.execute("PRAGMA page_count").fetchone()[0]))
    await log.store.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 10}").fetchone())
    small = [log.append([Draft(JobUid(f"job-{number}"), 1, b"x")]) for number in range(6)]
    results = await asyncio.gather(
        *small[:3], log.append([Draft(JOB, 1, b"x" * 200_000)]), *small[3:], return_exceptions=True
    )
    assert [isinstance(each, LogUnavailable) for each in results] == [False] * 3 + [True] + [False] * 3
    assert len(await records(log)) == 6


async def test_a_store_locked_by_another_program_is_worth_another_try(path: Path, log: SqliteLog) -> None:
    await log.store.read(lambda db: db.execute("PRAGMA busy_timeout = 1").fetchone())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnavailable, match="locked"):
            await log.append(history(1))
    await log.append(history(1))


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


async def test_close_waits_for_what_was_asked_before(path: Path) -> None:
    log = await SqliteLog.open(path)
    appends = [asyncio.ensure_future(log.append(history(1, JobUid(f"job-{n}")))) for n in range(30)]
    await asyncio.sleep(0)
    await log.close()
    assert all(each.done() for each in appends)
    again = await SqliteLog.open(path)
    assert await again.end() == 30
    await again.close()


# ---- kill -9 ----

WRITE = """
import asyncio, sys
from pathlib import Path
from statemachine.log.port import Draft
from statemachine.log.sqlite import SqliteLog

async def main():
    log = await SqliteLog.open(Path(sys.argv[1]))
    number = await log.end()

    async def one(job, seq):
        record = (await log.append([Draft(job, seq, b"%d" % seq * 200)]))[0]
        sys.stdout.write(f"{record.position} {job} {seq}\\n" if sys.argv[2] == "whole" else f"{record.position}\\n")
        sys.stdout.flush()

    start = number + 1
    for seq in range(start, start + 100_000):
        await asyncio.gather(*(one(f"job-{each}-{start}", seq) for each in range(8)))

asyncio.run(main())
"""


class writing:
    """Another process appends to the store at `path` and says each acknowledged position, until it is left."""

    def __init__(self, path: Path, how: str = "positions") -> None:
        self._command = [sys.executable, "-c", WRITE, str(path), how]

    def __enter__(self) -> tuple[subprocess.Popen[str], "LineReader"]:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        lines = LineReader(self._process)
        next(lines)  # the store is open, and something is in it
        return self._process, lines

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()


class LineReader:
    """The lines that a process writes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __iter__(self) -> "LineReader":
        return self

    def __next__(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise StopIteration
        return line


async def test_whenever_its_writer_is_killed_a_store_has_every_acknowledged_entry_and_no_hole(
    path: Path,
) -> None:
    """Ten kills, each after another number of acknowledgements, so at another point of a transaction."""
    acknowledged: list[tuple[int, str, int]] = []
    for kill in range(10):
        with writing(path, "whole") as (process, lines):
            told = [next(lines) for _ in range(3 + kill * 17)]
            process.kill()
            told += [line for line in lines if line.endswith("\n")]
        acknowledged += [(int(place), job, int(seq)) for place, job, seq in map(str.split, told)]
        log = await SqliteLog.open(path)
        found = {(each.position, each.job, each.seq) for each in await records(log)}
        assert set(acknowledged) <= found
        assert {place for place, _, _ in found} == set(range(1, len(found) + 1))
        await log.close()
