"""Many jobs at once, and what a controller makes of them."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final

from tests.bench.cluster.accounts import Accounts, of_controller
from tests.bench.cluster.api import MERGE, Api
from tests.bench.cluster.figures import Run, Sort
from tests.bench.cluster.plane import Plane
from tests.bench.cluster.programs import Process, Program
from tests.bench.cluster.scrape import requests_sent
from tests.bench.cluster.shapes import PODS_PATH, Shape
from tests.bench.cluster.view import View

_AT_ONCE: Final = 32
"""Requests of the load at a time."""

_PATIENCE: Final = 900.0
"""Seconds for any one thing, beside those for each pod."""

_PATIENCE_A_POD: Final = 0.1

_AFTERWARDS: Final = 5.0
"""Seconds in which a controller may still say what it has to say; they count as its processor time."""


async def at_once(calls: Iterable[Callable[[], Coroutine[Any, Any, Any]]], workers: int = _AT_ONCE) -> None:
    """All `calls` are done, in their order, `workers` at a time."""
    left = iter(calls)

    async def work() -> None:
        for call in left:
            await call()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(workers):
            tasks.create_task(work())


async def many_jobs(program: Program, process: Process, plane: Plane, jobs: int) -> Run:
    """`jobs` jobs at once: to all pods, to all Running; then all pods end: to all Succeeded."""
    shape = program.shape
    async with Api.opened(plane.kubeconfig) as api, View.following(api, shape) as view:
        await plane.settle()
        sent, served = api.sent.copy(), await api.requests()
        own = await requests_sent(process.metrics, program.requests_metric)
        accounts = Accounts(plane, process.family())
        await _start(api, view, shape, accounts, jobs)
        await _end(api, view, accounts, jobs)
        await asyncio.sleep(_AFTERWARDS)
        accounts.close()
        writes = of_controller(await api.requests() - served, api.sent - sent, shape)
        own = await requests_sent(process.metrics, program.requests_metric) - own
    statuses = writes[f"PATCH {shape.resource}/status"] + writes[f"PUT {shape.resource}/status"]
    accounts.figures["writes"] = sum(writes.values()) / jobs
    accounts.figures["writes_per_phase"] = statuses / view.changes if view.changes else None
    counts = {**writes, **{f"{key}, by its own count": count for key, count in own.items()}}
    a_job = {key: round(count / jobs, 2) for key, count in sorted(counts.items())}
    return Run(program.name, Sort.MANY, jobs, accounts.figures, a_job, surprises(view, shape, jobs))


async def _start(api: Api, view: View, shape: Shape, accounts: Accounts, jobs: int) -> None:
    pods = shape.pods * jobs
    patience = _PATIENCE + _PATIENCE_A_POD * pods
    manifests = [shape.manifest(f"job-{number}") for number in range(jobs)]
    await at_once([partial(api.call, "POST", shape.path, manifest) for manifest in manifests])
    accounts.note("applied", time.perf_counter())
    accounts.note("pods_exist", await view.until(lambda: view.pods_ever >= pods, patience))
    accounts.note("jobs_running", await view.until(lambda: view.reached["Running"] >= jobs, patience))
    accounts.note("pods_running", await view.until(lambda: view.phases["Running"] >= pods, patience))
    exist = accounts.figures["pods_exist"]
    accounts.figures["children_per_second"] = shape.children * jobs / exist if exist else None


async def _end(api: Api, view: View, accounts: Accounts, jobs: int) -> None:
    names = [pod.name for pods in view.pods.values() for pod in pods.values()]
    begun = time.perf_counter()
    await at_once([partial(end_pod, api, name) for name in names])
    accounts.note("ending_took", time.perf_counter(), begun)
    patience = _PATIENCE + _PATIENCE_A_POD * len(names)
    succeeded = await view.until(lambda: view.reached["Succeeded"] >= jobs, patience)
    accounts.note("jobs_succeeded", succeeded, begun)


async def end_pod(api: Api, pod: str, exit_code: int = 0) -> None:
    """The simulated node has been asked to end the pod now."""
    marks = {"sim.jobledger.dev/run-seconds": "0", "sim.jobledger.dev/exit-code": str(exit_code)}
    await api.call("PATCH", f"{PODS_PATH}/{pod}", {"metadata": {"annotations": marks}}, MERGE)


def surprises(view: View, shape: Shape, jobs: int, replaced: int = 0) -> tuple[str, ...]:
    """What would spoil the figures, in sentences."""
    expected = shape.pods * jobs + replaced
    said = [f"the API server ended {view.watches_ended} of our watches"] if view.watches_ended else []
    if view.pods_ever != expected:
        said.append(f"{view.pods_ever} pods were made instead of {expected}")
    return tuple(said)
