"""One job of very many replicas: how soon all of them run, and how soon one that fails is replaced."""

import asyncio
import time
from functools import partial
from typing import Final

from tests.bench.cluster.accounts import Accounts
from tests.bench.cluster.api import Api
from tests.bench.cluster.figures import Run, Sort
from tests.bench.cluster.idle import quantiles
from tests.bench.cluster.load import at_once, end_pod, surprises
from tests.bench.cluster.plane import Plane
from tests.bench.cluster.programs import Process, Program
from tests.bench.cluster.shapes import Shape
from tests.bench.cluster.view import View

_JOB: Final = "wide"
_PATIENCE: Final = 600.0
_STEP: Final = 30.0
"""Seconds in which a replica is replaced."""
_REST: Final = 3.0
"""Seconds between two failures: each hits a job at rest, whose status was written and which was visited once more."""


async def wide_job(program: Program, process: Process, plane: Plane, failures: int) -> Run:
    """The job of the program's shape: all of it Running; `failures` replicas replaced, one at a time; Succeeded."""
    shape = program.shape
    async with Api.opened(plane.kubeconfig) as api, View.following(api, shape) as view:
        await plane.settle()
        accounts = Accounts(plane, process.family())
        await api.call("POST", shape.path, shape.manifest(_JOB))
        accounts.note("pods_exist", await view.until(lambda: view.pods_ever >= shape.pods, _PATIENCE))
        accounts.note("jobs_running", await view.until(lambda: view.reached["Running"] > 0, _PATIENCE))
        accounts.note("pods_running", await _all_running(view, shape))
        await plane.settle()
        took = [
            await _replaced(api, view, shape, f"worker-{number}")
            for number in range(min(failures, shape.workers))
        ]
        in_time = [seconds for seconds in took if seconds is not None]
        begun = time.perf_counter()
        names = [pod.name for pod in view.pods[_JOB].values()]
        await at_once([partial(end_pod, api, name) for name in names])
        succeeded = await view.until(lambda: view.reached["Succeeded"] > 0, _PATIENCE)
        accounts.note("jobs_succeeded", succeeded, begun)
        accounts.close()
    notes = surprises(view, shape, 1, len(in_time))
    if len(in_time) < len(took):
        notes += (f"{len(took) - len(in_time)} of {len(took)} replicas were not replaced in {_STEP:.0f} s",)
    figures = {**accounts.figures, **quantiles({"failed_to_replaced": in_time})}
    return Run(program.name, Sort.WIDE, shape.pods, figures, notes=notes)


async def _replaced(api: Api, view: View, shape: Shape, replica: str) -> float | None:
    """Seconds from the event that says that the pod failed to the one of its successor; None: not in time."""
    old = view.pods[_JOB][replica]
    failed = asyncio.create_task(view.until(lambda: view.phases["Running"] < shape.pods, _STEP))
    fresh = asyncio.create_task(view.until(lambda: view.uid(_JOB, replica) not in ("", old.uid), _STEP))
    await asyncio.sleep(0)
    await end_pod(api, old.name, exit_code=137)
    since, when = await failed, await fresh
    await _all_running(view, shape)
    await asyncio.sleep(_REST)
    return None if since is None or when is None else when - since


async def _all_running(view: View, shape: Shape) -> float | None:
    return await view.until(lambda: view.phases["Running"] >= shape.pods, _PATIENCE)
