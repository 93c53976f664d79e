"""What a controller keeps in memory of jobs that have ended and were deleted: `python -m tests.soak.memory`.

Jobs are submitted, succeed and are deleted, in rounds, in one process with its log in a file. The growth of the
process after the first rounds, divided by the jobs, must stay below a bound; exit code 1 if it does not. Nobody
collects garbage but Python by itself, as in a controller: what hangs together in cycles counts until then.
"""

import asyncio
import gc
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobledger.wiring import running
from k8s_bridge.port import Manifest, Ref
from statemachine.engine.clock import WallClock
from statemachine.log.sqlite import SqliteLog
from tests.bench.histories import job_manifest
from tests.bench.loop import no_op
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster

ROUNDS: Final = 8
WARM_UP: Final = 3
"""Rounds after which allocators and caches have the size that they keep."""

JOBS: Final = 1_000
"""In a round."""

BOUND: Final = 6.0
"""KB a job: twice the Events and logs that the simulated cluster keeps, and what waits for the collector. Of the job
itself 0.2 KB stay."""


async def growth() -> float:
    """KB that the process has grown by for each job that came and went."""
    with tempfile.TemporaryDirectory() as folder:
        log = await SqliteLog.open(Path(folder) / "ledger.db")
        cluster = MemoryCluster(script=no_op)
        sizes = []
        async with running(controller_of(log, cluster, WallClock())):
            for number in range(ROUNDS):
                await _live_and_die(cluster, number)
                sizes.append(_resident())
                print(f"after {(number + 1) * JOBS:,} jobs: {sizes[-1] / 1024:.1f} MiB", flush=True)
            print(f"{gc.collect():,} objects in cycles had not been collected yet", flush=True)
        await cluster.close()
        await log.close()
    return (sizes[-1] - sizes[WARM_UP - 1]) / ((ROUNDS - WARM_UP) * JOBS)


async def _live_and_die(cluster: MemoryCluster, number: int) -> None:
    """The jobs of one round have succeeded, and they and their pods are gone from the cluster."""
    for index in range(JOBS):
        await cluster.create(job_manifest(f"job-{number}-{index}"))
        await asyncio.sleep(0)
    while any(_phase(job) != "Succeeded" for job in _jobs(cluster)):  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0.05)
    for job in _jobs(cluster):
        await cluster.delete(Ref.of(job), uid=job["metadata"]["uid"])
    while _jobs(cluster) or list(cluster.objects.peek_all("Pod")):  # noqa: ASYNC110
        await asyncio.sleep(0.05)


def _jobs(cluster: MemoryCluster) -> Sequence[Manifest]:
    return list(cluster.objects.peek_all("PyTorchTrainingJob"))


def _phase(job: Manifest) -> str:
    return str(job.get("status", {}).get("phase", ""))


def _resident() -> float:
    """KB of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def main() -> int:
    """1 if a job that is gone costs more than `BOUND`."""
    kilobytes = asyncio.run(growth())
    print(f"{kilobytes:.1f} KB a job that has ended and is gone; at most {BOUND:.0f}")
    return int(kilobytes > BOUND)


if __name__ == "__main__":
    sys.exit(main())
