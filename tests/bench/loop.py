"""The whole loop in one process: the real Controller over a log and a cluster in memory, on a real loop."""

import asyncio
import gc
import statistics
from collections.abc import Iterator

from jobledger.wiring import running
from k8s_bridge.port import Manifest
from statemachine.engine.clock import WallClock
from statemachine.log.reader import Folded
from statemachine.phases import Phase
from tests.bench.histories import job_manifest
from tests.bench.results import Result, stopwatch
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.sim_pods import SimStep

_JOBS = 1000
_RUNS = 5


def no_op(_: Manifest) -> tuple[SimStep, ...]:
    """A pod that starts at once and has nothing to do."""
    return SimStep(0.0, "Running"), SimStep(0.0, "Succeeded")


def whole_loop() -> Iterator[Result]:
    """Jobs from their submission to the status that says Succeeded: bridge, engine, log, projectors."""
    asyncio.run(run_jobs(100))
    seconds_of_runs, entries = zip(*[asyncio.run(run_jobs(_JOBS)) for _ in range(_RUNS)], strict=True)
    note = f"4 pods each, {statistics.median(entries) / _JOBS:.0f} entries a job"
    yield Result(
        "whole loop", "jobs/s", tuple(_JOBS / seconds for seconds in seconds_of_runs), 500, note=note
    )


async def run_jobs(count: int) -> tuple[float, int]:
    """Seconds until `count` jobs have succeeded and say so, and the entries that it took."""
    gc.collect()
    log, cluster = MemoryLog(), MemoryCluster(script=no_op)
    controller = controller_of(log, cluster, WallClock())
    finals = _Finals(count)
    async with running(controller):
        controller.engine.source.listeners.append(finals.entry)
        with stopwatch() as watch:
            for number in range(count):
                await cluster.create(job_manifest(f"job-{number}"))
                await asyncio.sleep(0)
            await finals.all.wait()
            while not _all_say_succeeded(cluster, count):  # noqa: ASYNC110 - the end of a measurement
                await asyncio.sleep(0.001)
    await cluster.close()
    return watch.seconds, await log.end()


class _Finals:
    """Counts the jobs that have ended."""

    def __init__(self, jobs: int) -> None:
        self._left = jobs
        self.all = asyncio.Event()

    def entry(self, folded: Folded) -> None:
        if folded.state.is_final and not folded.before.is_final:
            assert folded.state.phase is Phase.SUCCEEDED
            self._left -= 1
            if self._left == 0:
                self.all.set()


def _all_say_succeeded(cluster: MemoryCluster, count: int) -> bool:
    jobs = list(cluster.objects.peek_all("PyTorchTrainingJob"))
    phases = [job.get("status", {}).get("phase") for job in jobs]
    return phases.count("Succeeded") == count
