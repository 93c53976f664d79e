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
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from rich.console import Console

from jobledger.telemetry.tally import Tally
from jobledger.wiring import running
from statemachine.decide import POLICY, decide
from statemachine.engine.clock import WallClock
from statemachine.evolve import fold
from statemachine.ids import JobUid
from statemachine.log.codec import encode, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.port import EntryDraft
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import JobGone, JobObserved, Observation
from statemachine.state import JobState
from tests.bench.histories import API, KIND, START
from tests.bench.results import Result, table
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster

_JOBS: Final = 100_000
_AT_ONCE: Final = 5_000


def ended_jobs(jobs: int = _JOBS) -> Iterator[Result]:
    """Seconds until a controller works, and bytes for each job above those of one with an empty log."""
    with tempfile.TemporaryDirectory() as folder:
        empty, full = Path(folder) / "empty.db", Path(folder) / "full.db"
        asyncio.run(_write(empty, 0))
        asyncio.run(_write(full, jobs))
        nothing, beside_many = _measured(empty), _measured(full)
    about = f"{jobs:,} jobs that are gone"
    yield Result("start beside ended jobs", "s", (beside_many["start"],), 20 * jobs / 1e6, "most", about)
    for what, key in (("memory of an ended job", "started"), ("the same, counted for metrics", "counted")):
        yield Result(what, "bytes", ((beside_many[key] - nothing[key]) / jobs,), 200, "most", about)


async def _write(store: Path, jobs: int) -> None:
    """A store with jobs of short lives: refused for their specs, then deleted. With snapshots."""
    log = await SqliteLog.open(store)
    for start in range(0, jobs, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, jobs))
        await log.append([draft for number in numbers for draft in _life(number)])
    reader = Reader(keeps=0)
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    await log.close()


def _life(number: int) -> Iterator[EntryDraft]:
    uid = JobUid(f"00000000-0000-4000-8000-{number:012d}")
    state, head = JobState(uid), GENESIS
    begin = JobObserved(
        job=uid,
        at=START,
        api_version=API,
        kind=KIND,
        namespace="bench",
        name=f"job-{number}",
        generation=1,
        spec={},
    )
    seens: Sequence[Observation] = (begin, JobGone(job=uid, at=START + timedelta(seconds=9)))
    for seq, observation in enumerate(seens, 1):
        events = decide(state, observation)
        entry = Entry(
            job=uid,
            seq=seq,
            prev=head,
            policy=POLICY,
            seen_at=observation.at,
            cause=observation,
            events=events,
        )
        body = encode(entry)
        yield EntryDraft(uid, seq, body)
        state, head = fold(state, events), entry_hash(body)
    assert state.closed


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
