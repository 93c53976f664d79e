"""Stores in files: filled ones, and another process that writes one."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.support.logs import history


async def filled(path: Path, *drafts: EntryDraft) -> None:
    """A closed store with these entries."""
    log = await SqliteLog.open(path)
    await log.append(drafts or history(3))
    await log.close()


def by_hand(path: Path, statement: str, *values: object) -> None:
    """Somebody changes the file with another program."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


WRITE = """
import asyncio, sys
from pathlib import Path
from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog

async def main():
    log = await SqliteLog.open(Path(sys.argv[1]))
    number = await log.end()

    async def one(job, seq):
        record = (await log.append([EntryDraft(job, seq, b"%d" % seq * 200)]))[0]
        sys.stdout.write(f"{record.position} {job} {seq}\\n" if sys.argv[2] == "whole" else f"{record.position}\\n")
        sys.stdout.flush()

    start = number + 1
    for seq in range(start, start + 100_000):
        await asyncio.gather(*(one(f"job-{each}-{start}", seq) for each in range(8)))

asyncio.run(main())
"""


@contextmanager
def writing(path: Path, how: str = "positions") -> Iterator[tuple[subprocess.Popen[str], Iterator[str]]]:
    """Another process appends to the store at `path`, until it is left, and says what was acknowledged.

    One line a record: its position, or (`whole`) its position, job and seq.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(path), how], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout
        try:
            next(process.stdout)  # the store is open, and something is in it
            yield process, process.stdout
        finally:
            process.kill()
