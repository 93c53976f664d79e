"""A control plane of its own for each measurement, so that none finds what another has left."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final

from tests.bench.cluster.api import Api
from tests.bench.cluster.machine import cpu
from tests.bench.cluster.shapes import NAMESPACE, Manifest
from tests.harness import ControlPlane

_QUIET: Final = 0.2
"""Seconds of processor time in a second, of the whole control plane at rest."""

_PATIENCE: Final = 60.0

_NODES: Final = 4
_PODS_A_NODE: Final = 1000
"""At most: with 5,000 on each of four nodes the scheduler bound 14 a second."""


@dataclass(frozen=True, slots=True)
class Plane:
    """A control plane with simulated nodes that runs."""

    harness: ControlPlane
    nodes: int
    """How many there are; `node-1` is the first."""

    @property
    def folder(self) -> Path:
        """What belongs to it; gone with it."""
        return self.harness.home

    @property
    def kubeconfig(self) -> Path:
        """Its administrator's."""
        return self.harness.kubeconfig

    def pids(self) -> list[int]:
        """Of its parts."""
        return [int(path.read_text()) for path in self.folder.glob("*.pid")]

    async def apply(self, *objects: Manifest) -> None:
        """The objects are there."""
        words = ("apply", "--server-side", "-f", "-")
        await asyncio.to_thread(self.harness.kubectl, *words, input=list(objects))

    async def settle(self) -> None:
        """Nothing is going on in it any more that its start or an installation had set off."""
        await until("the control plane is at rest", self._rests)

    async def _rests(self) -> bool:
        before = cpu(self.pids())
        await asyncio.sleep(1)
        return cpu(self.pids()) - before < _QUIET


@asynccontextmanager
async def control_plane(*crds: Manifest, pods: int) -> AsyncIterator[Plane]:
    """A new control plane that serves `crds`, has the load's namespace, and nodes for so many pods at once.

    It is gone when the block is left.
    """
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        nodes = max(_NODES, ceil(pods / _PODS_A_NODE))
        plane = Plane(ControlPlane(Path(folder, "kube"), nodes=nodes), nodes)
        await asyncio.to_thread(plane.harness.start)
        try:
            await plane.apply(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *crds
            )
            await _serving(plane, crds)
            yield plane
        finally:
            await asyncio.to_thread(plane.harness.stop)


async def until(what: str, check: Callable[[], Awaitable[bool]], every: float = 0.1) -> None:
    """`check` has said yes. Raises RuntimeError if it did not within a minute; `what` says what it is about."""
    try:
        async with asyncio.timeout(_PATIENCE):
            while not await check():  # noqa: ASYNC110 - another process is waited for
                await asyncio.sleep(every)
    except TimeoutError:
        raise RuntimeError(f"{what}: not within {_PATIENCE:.0f} s") from None


async def _serving(plane: Plane, crds: tuple[Manifest, ...]) -> None:
    """The kinds can be used, and the namespace takes pods."""
    specs = [crd["spec"] for crd in crds]
    paths = [
        f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}" for spec in specs
    ]
    async with Api.opened(plane.kubeconfig) as api:
        for path in [*paths, f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"]:
            await until(f"{path} is served", partial(_there, api, path))


async def _there(api: Api, path: str) -> bool:
    try:
        await api.send("GET", path)
    except RuntimeError:
        return False
    return True
