"""What the tests of the application and its API say: an app over memory, manifests, waiting for phases."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import yaml

from jobledger.manifests import Manifest, read
from jobledger.service.app import App
from jobledger.wiring import running
from k8s_bridge.admission import admit
from statemachine.engine.clock import WallClock
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog

SECONDS = 60.0
"""How long a test waits for what must come true."""


@asynccontextmanager
async def app_in_memory() -> AsyncIterator[App]:
    """A running application over a cluster and a log in memory."""
    controller = controller_of(MemoryLog(), MemoryCluster(admit=admit), WallClock())
    app = App(controller)
    async with running(controller):
        yield app
    await app.cluster.close()


def job(name: str = "train", *, replicas: int = 1, run_seconds: str = "", **spec: Any) -> dict[str, Any]:
    """A manifest; its pods run for ever, or for `run_seconds`."""
    annotations = {"sim.jobledger.dev/run-seconds": run_seconds} if run_seconds else {}
    container = {"name": "pytorch", "image": "x", "command": ["python", "train.py"]}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": [{"type": "worker", "replicas": replicas, "template": template}], **spec},
    }


def elastic(name: str = "train") -> dict[str, Any]:
    """A job that may be scaled between one and four replicas."""
    manifest = job(name, elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2})
    manifest["spec"]["torchrunConfig"] = {"enabled": True}
    manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
    return manifest


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap that comes along with a job."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def written(*manifests: dict[str, Any]) -> tuple[Manifest, ...]:
    """The manifests as if read from a file."""
    return read(yaml.safe_dump_all(manifests).encode(), "test.yaml").usable()


async def phase(app: App, name: str, wanted: str) -> dict[str, Any]:
    """The job, once it is in the phase."""
    async with asyncio.timeout(SECONDS):
        async for type_, manifest in app.watch(name=name):
            if type_ != "SYNCED" and (manifest.get("status") or {}).get("phase") == wanted:
                return manifest
    raise AssertionError("the watch ended")


async def gone(app: App, name: str) -> None:
    """Nothing of the job is left."""
    async with asyncio.timeout(SECONDS):
        async for type_, _ in app.watch(name=name):
            if type_ == "DELETED":
                return


async def emitted(app: App) -> None:
    """The cluster has the Kubernetes Events of all entries: they let pods and statuses pass."""

    async def all_of_them() -> bool:
        assert app.controller.projectors is not None
        return app.controller.projectors.views.lags()["kube-events"] == 0

    await until(all_of_them)


async def until(claim: Callable[[], Awaitable[object]]) -> None:
    """`claim` gives something true; what no feed tells of is asked for again and again."""
    async with asyncio.timeout(SECONDS):
        while not await claim():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)
