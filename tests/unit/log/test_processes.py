"""One store, several processes: one of them owns its log, the others write what is theirs, and any may die."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO

import pytest

from statemachine.errors import LogUnavailable, StoreInUse, StoreUnusable
from statemachine.ids import JobUid
from statemachine.log.audit import verify
from statemachine.log.sqlite import SqliteLog
from statemachine.log.sqlite_inbox import SqliteInbox
from statemachine.log.store import SqliteStore
from tests.support.logs import history, records
from tests.support.seeds import chance

OPEN = """
import multiprocessing, sys
from pathlib import Path
from statemachine.log import storefile

def process(path, number, start):
    start.wait()
    found = (storefile.open_beside if number else storefile.open_owner)(path)
    found.connection.execute("INSERT INTO meta VALUES (?, '')", (f"process {number}",))
    found.connection.close()

fork = multiprocessing.get_context("fork")
for turn in range(int(sys.argv[2])):
    start = fork.Barrier(8)
    found = [fork.Process(target=process, args=(Path(f"{sys.argv[1]}-{turn}"), each, start)) for each in range(8)]
    for each in found:
        each.start()
    for each in found:
        each.join()
    print(sum(each.exitcode != 0 for each in found), flush=True)
"""
"""Eight processes open a store that none has made yet, at the same instant; how many failed, for many stores."""

NOTICE = """
import asyncio, sys
from pathlib import Path
from statemachine.log.sqlite import SqliteLog
from statemachine.engine.follower import Follower
from statemachine.log.reader import Reader
from statemachine.log.sqlite_inbox import SqliteInbox
from tests.support.scenario import Story, workers

async def main():
    log = await SqliteLog.open(Path(sys.argv[1]), beside=True)
    follower = Follower([(log, Reader())], await SqliteInbox.open(log.store))
    await follower.start()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(follower.run())
        for number in range(int(sys.argv[3])):
            uid = f"{sys.argv[2]}-{number}"
            await follower.observe(Story(workers(1), uid=uid).submit().entries[0].cause)
            if number % 20 == 19:
                await follower.finish()
                print(number + 1, flush=True)
        running.cancel()
    await log.close()

asyncio.run(main())
"""
"""Notices jobs called `<argument>-<number>`, and says how many of them are in the inbox."""

DECIDE = """
import asyncio, sys
from pathlib import Path
from statemachine.engine.clock import WallClock
from statemachine.engine.drain import Drain
from statemachine.engine.embedded import Engine
from statemachine.engine.step import Owner
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.log.sqlite_inbox import SqliteInbox

async def main():
    log = await SqliteLog.open(Path(sys.argv[1]))
    engine = Engine(log, Owner(log, Reader(), WallClock()), WallClock())
    await engine.start()
    drain = Drain(await SqliteInbox.open(log.store), engine, log, WallClock())
    print("ready", flush=True)
    await asyncio.gather(engine.run(), drain.run())

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@contextmanager
def program(text: str, *arguments: object) -> Iterator[tuple["subprocess.Popen[str]", IO[str]]]:
    """It runs, and is killed at the end, if it still does then."""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        try:
            yield process, process.stdout
        finally:
            process.kill()


def ended(programs: Sequence["subprocess.Popen[str]"]) -> list[int]:
    return [process.wait(timeout=60) for process in programs]


def test_processes_that_make_the_same_store_at_the_same_time_all_get_it(path: Path) -> None:
    turns = 60
    with program(OPEN, path, turns) as (_, says):
        assert list(says) == ["0\n"] * turns
    with closing(sqlite3.connect(f"{path}-{turns - 1}")) as store:
        assert store.execute("SELECT count(*) FROM meta WHERE key LIKE 'process%'").fetchone() == (8,)


@pytest.fixture
async def owned(path: Path) -> AsyncIterator[SqliteLog]:
    log = await SqliteLog.open(path)
    yield log
    await log.close()


async def test_a_store_has_one_owner_and_any_number_of_others(path: Path, owned: SqliteLog) -> None:
    with pytest.raises(StoreInUse, match=rf"is in use by process {os.getpid()} "):
        await SqliteLog.open(path)
    for _ in range(2):
        other = await SqliteLog.open(path, beside=True)
        await other.save_checkpoint("history", 3)
        await other.close()
    assert await owned.checkpoint("history") == 3


async def test_only_the_owner_appends(path: Path, owned: SqliteLog) -> None:
    other = await SqliteLog.open(path, beside=True)
    with pytest.raises(StoreUnusable, match="not this process's to append to"):
        await other.append(history(1))
    await owned.append(history(1))
    assert len(await records(other)) == 1
    await other.close()


async def test_the_owner_may_come_after_the_others(path: Path) -> None:
    other = await SqliteLog.open(path, beside=True)
    owner = await SqliteLog.open(path)
    await owner.append(history(2))
    assert await other.end() == 2
    for log in (owner, other):
        await log.close()


async def test_who_waits_for_a_busy_store_hears_it_once_and_nothing_was_done(path: Path) -> None:
    """Twenty calls that share a transaction wait for it once, not one after the other."""
    store = await SqliteStore.open(path, beside=True)
    inbox = await SqliteInbox.open(store)
    statements: list[str] = []
    await store.read(lambda db: db.execute("PRAGMA busy_timeout = 50").fetchone())
    await store.read(lambda db: db.set_trace_callback(statements.append))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        calls = [store.run(lambda db: db.execute("INSERT INTO meta VALUES ('x', 'y')")) for _ in range(20)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        waits = statements.count("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    assert {type(outcome) for outcome in outcomes} == {LogUnavailable}
    assert waits == 2, "the first call waits alone, all that came meanwhile wait together"
    await store.read(lambda db: db.set_trace_callback(None))
    assert await inbox.waiting() == 0
    await store.run(lambda db: db.execute("INSERT INTO meta VALUES ('x', 'y')"))
    await store.close()


@pytest.mark.timeout(180)
async def test_everything_observed_is_decided_once_whichever_process_is_killed(path: Path) -> None:
    """Three processes notice, one decides and is killed again and again: no entry is missing, none is double."""
    choices, jobs = chance(5), 100
    with ExitStack() as running:
        noticing = [running.enter_context(program(NOTICE, path, name, jobs))[0] for name in ("a", "b", "c")]
        for _ in range(6):
            with program(DECIDE, path) as (_deciding, says):
                assert says.readline() == "ready\n"
                await asyncio.sleep(choices.uniform(0.0, 0.4))
        assert ended(noticing) == [0, 0, 0]
        with program(DECIDE, path) as (_deciding, says):
            assert says.readline() == "ready\n"
            beside = await SqliteLog.open(path, beside=True)
            inbox = await SqliteInbox.open(beside.store)
            async with asyncio.timeout(60):
                while await inbox.waiting():  # noqa: ASYNC110 - another process empties it
                    await asyncio.sleep(0.05)
    written = await records(beside)
    await beside.close()
    assert verify(written) == []
    assert sorted(record.job for record in written if record.seq == 1) == sorted(
        JobUid(f"{name}-{number}") for name in "abc" for number in range(jobs)
    )


@pytest.mark.timeout(120)
async def test_a_noticing_process_that_is_killed_leaves_whole_batches(path: Path) -> None:
    with program(NOTICE, path, "a", 100_000) as (process, says):
        put = max(int(says.readline()) for _ in range(5))
        process.kill()
    store = await SqliteStore.open(path, beside=True)
    inbox = await SqliteInbox.open(store)
    taken = await inbox.take(1_000_000)
    assert [post.job for post in taken.posts[:put]] == [JobUid(f"a-{number}") for number in range(put)]
    await store.close()
