"""One job at a time on an idle system, and how soon a controller does what is to be done."""

import asyncio
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from tests.bench.cluster.accounts import Accounts
from tests.bench.cluster.api import MERGE, Api
from tests.bench.cluster.figures import STEPS, Run, Sort
from tests.bench.cluster.load import end_pod
from tests.bench.cluster.plane import Plane
from tests.bench.cluster.programs import Process, Program
from tests.bench.cluster.shapes import Shape
from tests.bench.cluster.view import Fact, View

_PATIENCE: Final = 30.0
"""Seconds for any one step."""

_REST: Final = 1.0
"""Seconds between two steps, so that each begins on an idle system."""


async def one_by_one(program: Program, process: Process, plane: Plane, runs: int) -> Run:
    """`runs` times a job that loses a worker and then succeeds, and one that is paused, after one to warm up."""
    async with Api.opened(plane.kubeconfig) as api, View.following(api, program.shape) as view:
        await _Jobs(api, view, program.shape).run("warm-up")
        await plane.settle()
        accounts = Accounts(plane, process.family())
        steps, notes = await led(api, view, program.shape, runs)
        accounts.close()
    return Run(program.name, Sort.IDLE, 1, {**accounts.figures, **steps}, notes=notes)


async def led(api: Api, view: View, shape: Shape, runs: int) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """How long each step took of so many jobs, one after another; and the steps that did not happen in time."""
    jobs = _Jobs(api, view, shape)
    for number in range(runs):
        await jobs.run(f"one-{number}")
    return quantiles(jobs.took), jobs.lost(runs)


def quantiles(took: Mapping[str, list[float]]) -> dict[str, float]:
    """Median and 99th percentile, in milliseconds."""
    quantiles = {}
    for key, seconds in took.items():
        if not seconds:
            continue
        ms = sorted(1000 * second for second in seconds)
        quantiles[key], quantiles[f"{key}_p99"] = statistics.median(ms), ms[int(len(ms) * 0.99)]
    return quantiles


class _Jobs:
    """Jobs that are led through their lives. `took`: the seconds of each step, of each time that it was seen."""

    def __init__(self, api: Api, view: View, shape: Shape) -> None:
        self._api, self._view, self._shape = api, view, shape
        self.took: dict[str, list[float]] = defaultdict(list)

    async def run(self, name: str) -> None:
        """Two jobs came and went."""
        await self._apply(name)
        await self._lose_a_worker(name)
        await self._succeed(name)
        await self._delete(name)
        await self._apply(name := f"{name}-paused")
        await self._pause(name)
        await self._delete(name)

    def lost(self, runs: int) -> tuple[str, ...]:
        """Steps that did not happen in time, in sentences."""
        counts = {step.key: len(self.took[step.key]) for step in STEPS}
        return tuple(f"{key}: seen only {count} times" for key, count in counts.items() if count < runs)

    async def _apply(self, name: str) -> None:
        complete = self._soon(lambda: len(self._view.pods[name]) == self._shape.pods)
        begun = time.perf_counter()
        await self._api.call("POST", self._shape.path, self._shape.manifest(name))
        self._note("apply_to_pods", begun, await complete)
        await self._all_running(name)

    async def _lose_a_worker(self, name: str) -> None:
        old = self._view.pods[name].get("worker-0")
        if old is None:
            return
        failed = self._soon(lambda: self._phase(name, "worker-0") != "Running")
        replaced = self._soon(lambda: self._view.uid(name, "worker-0") not in ("", old.uid))
        await end_pod(self._api, old.name, exit_code=137)
        self._note("failed_to_replaced", await failed, await replaced)
        await self._all_running(name)

    async def _succeed(self, name: str) -> None:
        master = self._view.pods[name].get("master-0")
        if master is None:
            return
        ended = self._soon(lambda: self._phase(name, "master-0") == "Succeeded")
        waiting = self._soon(lambda: self._view.has_been(name, "Succeeded"))
        await end_pod(self._api, master.name)
        self._note("master_to_succeeded", await ended, await waiting)
        await asyncio.sleep(_REST)

    async def _pause(self, name: str) -> None:
        gone = self._gone(name)
        begun = time.perf_counter()
        await self._api.call("PATCH", f"{self._shape.path}/{name}", self._shape.pause, MERGE)
        self._note("pause_to_gone", begun, await gone)
        await asyncio.sleep(_REST)

    async def _delete(self, name: str) -> None:
        await self._api.call("DELETE", f"{self._shape.path}/{name}")
        await self._gone(name)
        await asyncio.sleep(_REST)

    async def _all_running(self, name: str) -> None:
        await self._soon(
            lambda: all(self._phase(name, replica) == "Running" for replica in self._shape.replicas)
        )
        await asyncio.sleep(_REST)

    def _gone(self, name: str) -> asyncio.Task[float | None]:
        return self._soon(lambda: not self._view.pods[name])

    def _soon(self, fact: Fact) -> asyncio.Task[float | None]:
        """When `fact` became true. Asked before what causes it is done, so that its very event is seen."""
        return asyncio.create_task(self._view.until(fact, _PATIENCE))

    def _phase(self, name: str, replica: str) -> str:
        pod = self._view.pods[name].get(replica)
        return pod.phase if pod else ""

    def _note(self, key: str, since: float | None, when: float | None) -> None:
        if since is not None and when is not None:
            self.took[key].append(when - since)
