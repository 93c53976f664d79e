"""What jobs cost that have ended and are deleted: the start and the memory of a controller whose log is full of them.

`python -m tests.bench.ended --jobs 1000000` measures as many as that. The store is made here, and looked at by a
process of its own, beside one that looks at an empty store.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console

from jobledger.telemetry.tally import Tally
from jobledger.wiring import running
from statemachine.engine.clock import WallClock
from statemachine.log.sqlite import SqliteLog
from tests.bench.crowd import write_store
from tests.bench.results import Result, table
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster

_JOBS: Final = 100_000


def ended_jobs(jobs: int = _JOBS) -> Iterator[Result]:
    """Seconds until a controller works, and bytes for each job above those of one with an empty log."""
    with tempfile.TemporaryDirectory() as folder:
        empty, full = Path(folder) / "empty.db", Path(folder) / "full.db"
        asyncio.run(write_store(empty, 0, 0))
        asyncio.run(write_store(full, 0, jobs))
        nothing, beside_many = _measured(empty), _measured(full)
    about = f"{jobs:,} jobs that are gone"
    yield Result("start beside ended jobs", "s", (beside_many["start"],), 20 * jobs / 1e6, "most", about)
    for what, key in (("memory of an ended job", "started"), ("the same, counted for metrics", "counted")):
        yield Result(what, "bytes", ((beside_many[key] - nothing[key]) / jobs,), 200, "most", about)


def _measured(store: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.ended", "--look", str(store)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measures: dict[str, float] = json.loads(said)
    return measures


async def _look(store: Path) -> dict[str, float]:
    """Seconds and bytes of this process with a controller for the store; `counted` when its metrics are complete."""
    began = time.perf_counter()
    log, cluster = await SqliteLog.open(store), MemoryCluster(script=lambda _: ())
    async with running(controller_of(log, cluster, WallClock())):
        measures = {"start": time.perf_counter() - began, "started": _resident()}
        tally = Tally()
        await tally.advance(log)
        measures["counted"] = _resident()
    await cluster.close()
    await log.close()
    return measures


def _resident() -> float:
    """Bytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measures, or is the process that is measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ended", description=__doc__)
    parser.add_argument("--jobs", type=int, default=_JOBS)
    parser.add_argument("--look", type=Path, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.look:
        sys.stdout.write(json.dumps(asyncio.run(_look(wanted.look))))
    else:
        Console(width=132).print(table(list(ended_jobs(wanted.jobs))))


if __name__ == "__main__":
    main()
