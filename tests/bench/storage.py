"""Appending to the SQLite log on a real disk, many entries a commit, as the engine does under load."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.bench.histories import history
from tests.bench.results import Result, stopwatch

_JOBS = 500
_RUNS = 5
_BATCH = 256
"""As many as the engine decides in one go."""


def sqlite_append() -> Iterator[Result]:
    """Entries that are durable, a second."""
    drafts = [moment.draft for number in range(_JOBS) for moment in history(number)]
    values = [asyncio.run(_append(drafts)) for _ in range(_RUNS)]
    note = f"commits of {_BATCH}"
    yield Result("append to SQLite", "entries/s", tuple(values), 5000, note=note)


async def _append(drafts: list[EntryDraft]) -> float:
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        log = await SqliteLog.open(Path(folder) / "store.db")
        try:
            with stopwatch() as watch:
                for first in range(0, len(drafts), _BATCH):
                    await log.append(drafts[first : first + _BATCH])
        finally:
            await log.close()
    return len(drafts) / watch.seconds
