"""A real API server as one of the clusters of the port's suite: namespaces of its own, empty after each test."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import MERGE, Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from statemachine.errors import Missing
from tests.harness import Cluster as Harness
from tests.unit.bridge.words import JOB_API

_LOGS: Final = "kwok.x-k8s.io/v1alpha1"

_KINDS: Final = (
    f"apis/{JOB_API}/namespaces/{{}}/pytorchtrainingjobs",
    "api/v1/namespaces/{}/pods",
    "api/v1/namespaces/{}/services",
    "api/v1/namespaces/{}/configmaps",
    "api/v1/namespaces/{}/events",
    f"apis/{_LOGS}/namespaces/{{}}/logs",
)


@contextmanager
def namespaces(harness: Harness, *names: str) -> Iterator[Harness]:
    """Namespaces of these names, in which pods can be made; deleted afterwards."""
    harness.kubectl(
        "create",
        "-f",
        "-",
        input=[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names],
    )
    for name in names:
        harness.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=90s")
    yield harness
    harness.kubectl("delete", "namespace", *names, "--wait=false")


@asynccontextmanager
async def emptied(harness: Harness, *names: str) -> AsyncIterator[ApiServerCluster]:
    """The cluster, which watches the namespaces; all of them are empty in the end."""
    cluster = ApiServerCluster(await Api.connect(ApiServerChoice(harness.kubeconfig)), namespaces=names)
    yield cluster
    await cluster.close()
    async with await Api.connect(ApiServerChoice(harness.kubeconfig)) as admin:
        for path in [f"/{kind.format(name)}" for name in names for kind in _KINDS]:
            await _empty(admin, path)


async def show_log(cluster: ApiServerCluster, namespace: str, pod: str, file: Path, wrote: bytes) -> None:
    """The pod's container wrote that much: KWOK is asked to show `file`, which has lines in CRI's format."""
    *whole, rest = wrote.split(b"\n")
    pieces = [b"F " + line for line in whole] + ([b"P " + rest] if rest else [])
    lines = [b"2026-01-01T00:00:00.000000000Z stdout %b\n" % piece for piece in pieces]
    await asyncio.to_thread(file.write_bytes, b"".join(lines))
    manifest = {
        "apiVersion": _LOGS,
        "kind": "Logs",
        "metadata": {"name": pod},
        "spec": {"logs": [{"logsFile": str(file), "follow": True}]},
    }
    await cluster.api.call("POST", f"/apis/{_LOGS}/namespaces/{namespace}/logs", body=manifest)


async def _empty(admin: Api, path: str) -> None:
    async with asyncio.timeout(90):
        while not await _is_empty(admin, path):  # noqa: ASYNC110 - an API server sets no event
            await asyncio.sleep(0.02)


async def _is_empty(admin: Api, path: str) -> bool:
    """True if nothing is left of a collection; else its deletion was asked for, and nothing holds it."""
    ours = {"fieldSelector": "metadata.name!=kube-root-ca.crt"}  # every namespace has that one, always
    left = (await admin.call("GET", path, query=ours))["items"]
    for manifest in left:
        if manifest["metadata"].get("finalizers"):
            with suppress(Missing):
                free = {"metadata": {"finalizers": None}}
                await admin.call("PATCH", f"{path}/{manifest['metadata']['name']}", body=free, content=MERGE)
    if left:
        await admin.call("DELETE", path, query=ours, body={"gracePeriodSeconds": 0})
    return not left
