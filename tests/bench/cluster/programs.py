"""The controllers that are measured, each a real process beside the control plane; here jobledger."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from statemachine.kinds.pytorchtrainingjob import KIND
from tests.bench.cluster.api import Api
from tests.bench.cluster.figures import OURS
from tests.bench.cluster.machine import family
from tests.bench.cluster.plane import Plane, until
from tests.bench.cluster.shapes import PODS_PATH, PYTORCH_TRAINING_JOB, Manifest, Shape

_STOPS_WITHIN: Final = 15.0


class Process(NamedTuple):
    """A controller that runs, as one process or several; `metrics` are the addresses of their metrics."""

    pids: Sequence[int]
    metrics: Sequence[str]

    def family(self) -> list[int]:
        """The processes, and all that descend from them."""
        return [member for pid in self.pids for member in family(pid)]


@dataclass(frozen=True, slots=True)
class Program:
    """A controller: the kind that it serves, and how it runs on a control plane."""

    name: str
    shape: Shape
    crd: Manifest
    requests_metric: str
    """The counter of its requests, with the labels `method` and `code`."""
    running: Callable[[Plane], AbstractAsyncContextManager[Process]]


TOGETHER: Final = ("",)
APART: Final = {
    2: ("engine", "bridge,projectors,front"),
    3: ("engine", "bridge", "projectors,front"),
}
"""Roles of each process, by how many there are."""


def jobledger(split: Sequence[str] = TOGETHER) -> Program:
    """This checkout's `jobledger controller` with its log in a file: a process for each part of `split`."""
    name = OURS if len(split) == 1 else f"{len(split)} processes"
    return Program(
        name, PYTORCH_TRAINING_JOB, KIND.crd(), "jobledger_api_requests_total", partial(_jobledger, split)
    )


@asynccontextmanager
async def _jobledger(split: Sequence[str], plane: Plane) -> AsyncIterator[Process]:
    async with running_parts(split, plane) as running:
        await proved(plane, PYTORCH_TRAINING_JOB)
        yield running


@asynccontextmanager
async def running_parts(split: Sequence[str], plane: Plane) -> AsyncIterator[Process]:
    """The controller runs, and nothing is known of how far it is. Its log is `log_of` the plane."""
    files = ("--kubeconfig", str(plane.kubeconfig), "--log", f"sqlite://{log_of(plane)}")
    addresses = [f"127.0.0.1:{free_port()}" for _ in split]
    async with AsyncExitStack() as stack:
        pids = []
        for roles, address in zip(split, addresses, strict=True):
            words = ["-m", "jobledger", "controller", *files, "--listen", address]
            words += ["--roles", roles] if roles else []
            name = f"{OURS}-{roles or 'all'}"
            pids.append(await stack.enter_async_context(process(plane, name, sys.executable, *words)))
        yield Process(pids, [f"http://{address}/metrics" for address in addresses])


def log_of(plane: Plane) -> Path:
    """Where jobledger's log is."""
    return plane.folder / "log.db"


@asynccontextmanager
async def process(
    plane: Plane, name: str, *command: str | Path, env: Mapping[str, str] | None = None
) -> AsyncIterator[int]:
    """The program runs while the block lasts, and writes into a file beside the control plane's logs.

    If it ends by itself, the block is cancelled, and RuntimeError raised with its last lines.
    """
    said = plane.folder / f"{name}.log"
    with said.open("wb") as log:
        running = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, env=env)
    try:
        async with asyncio.TaskGroup() as tasks:
            watcher = tasks.create_task(_ended(running, name, said))
            yield running.pid
            watcher.cancel()
    finally:
        await _stop(running)


async def _ended(running: asyncio.subprocess.Process, name: str, said: Path) -> None:
    code = await running.wait()
    last = "\n".join(said.read_text(errors="replace").splitlines()[-15:])
    raise RuntimeError(f"{name} ended with {code}:\n{last}")


async def _stop(running: asyncio.subprocess.Process) -> None:
    if running.returncode is not None:
        return
    running.terminate()
    try:
        async with asyncio.timeout(_STOPS_WITHIN):
            await running.wait()
    except TimeoutError:
        running.kill()
        await running.wait()


async def proved(plane: Plane, shape: Shape) -> None:
    """The controller has shown that it works: a job got its pods. Nothing is left of the job."""
    async with Api.opened(plane.kubeconfig) as api:
        await until("a job is accepted", partial(_created, api, shape))
        await until("the job has its pods", partial(_has_pods, api, shape.pods))
        await api.call("DELETE", f"{shape.path}/ready")
        await until("the job's pods are gone", partial(_has_pods, api, 0))


def free_port() -> int:
    """Nobody listens on it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _created(api: Api, shape: Shape) -> bool:
    """False where a webhook of the controller does not answer yet."""
    try:
        await api.call("POST", shape.path, shape.manifest("ready"))
    except RuntimeError:
        return False
    return True


async def _has_pods(api: Api, count: int) -> bool:
    return len((await api.call("GET", PODS_PATH))["items"]) == count
