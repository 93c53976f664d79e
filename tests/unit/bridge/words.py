"""Manifests and waiting, for everything that tests clusters."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

from k8s_bridge.port import EVIDENCE, Change, Cluster, Manifest, Ref, Synced
from statemachine.ids import ATTEMPT, short_hash
from statemachine.kinds.t9k.objects import OWNER_KIND

DEADLINE = 90.0
JOB_API = "batch.tensorstack.dev/v1beta1"
AT = datetime(2024, 1, 9, 15, 24, 26, tzinfo=UTC)


def job(name: str = "mnist", uid: str = "", **meta: Any) -> Manifest:
    identity = {"uid": uid} if uid else {}
    spec = {"replicaSpecs": [{"type": "worker", "replicas": 1, "template": {"spec": {"containers": []}}}]}
    metadata = {"name": name, "namespace": "demo", **identity, **meta}
    return {"apiVersion": JOB_API, "kind": "PyTorchTrainingJob", "metadata": metadata, "spec": spec}


def owned(owner: Manifest) -> dict[str, Any]:
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"]}
    return {"ownerReferences": [{**reference, "uid": meta["uid"], "controller": True}]}


def owner_uid(raw: Manifest) -> str:
    """The uid of whatever controls the object; empty if nothing does."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def pod(
    owner: Manifest | None = None,
    *,
    name: str = "mnist-7ac1b-worker-0",
    replica: tuple[str, int] = ("worker", 0),
    attempt: int = 1,
    command: list[str] | None = None,
    evidence: bool = False,
    spec: dict[str, Any] | None = None,
    namespace: str = "demo",
    **annotations: str,
) -> Manifest:
    """A pod; `annotations` are those of the simulation, with `_` for `-`."""
    simulated = {f"sim.jobledger.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    meta: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": {
            "replica-type": replica[0],
            "replica-index": str(replica[1]),
            OWNER_KIND: "PyTorchTrainingJob",
        },
        "annotations": {ATTEMPT: str(attempt), **simulated},
    }
    if owner is not None:
        meta |= owned(owner)
    if evidence:
        meta["finalizers"] = [EVIDENCE]
    container = {"name": "pytorch", "image": "none", "command": command or ["sleep", "1000"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"restartPolicy": "Never", "containers": [container], **(spec or {})},
    }


def pod_name(owner: Manifest, number: int = 0) -> str:
    """The name of the pod of that worker of a stored job: pods of other names are no replicas."""
    meta = owner["metadata"]
    return f"{meta['name']}-{short_hash(meta['uid'])}-worker-{number}"


def service(owner: Manifest, name: str = "mnist-7ac1b-worker-0") -> Manifest:
    """A Service that the job controls."""
    labels = {OWNER_KIND: owner["kind"]}
    namespace = owner["metadata"]["namespace"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, **owned(owner)},
        "spec": {"clusterIP": "None", "ports": [{"port": 29500}], "selector": {"replica-index": "0"}},
    }


def config_map(name: str = "settings", *, namespace: str = "demo", **data: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


async def until(holds: Callable[[], bool], what: str = "", seconds: float = DEADLINE) -> None:
    """Wait for a condition; fails with `what` when it does not come true in time."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - conditions about files and processes set no event
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"did not happen in {seconds} s: {what or holds}") from None


async def phase(cluster: Cluster, ref: Ref, *wanted: str, seconds: float = DEADLINE) -> Manifest:
    """The pod, once it is in one of the phases `wanted`."""
    async with asyncio.timeout(seconds):
        while True:
            manifest = await cluster.get(ref)
            if manifest["status"]["phase"] in wanted:
                return manifest
            await asyncio.sleep(0.005)


async def gone(cluster: Cluster, ref: Ref, seconds: float = DEADLINE) -> None:
    async with asyncio.timeout(seconds):
        while True:
            there = await cluster.list(ref.api_version, ref.kind, ref.namespace)
            if ref.name not in [manifest["metadata"]["name"] for manifest in there]:
                return
            await asyncio.sleep(0.005)


async def listed(items: AsyncIterator[Change | Synced]) -> list[Change]:
    """What a watch tells before `Synced`."""
    changes = []
    async with asyncio.timeout(DEADLINE):
        async for item in items:
            if isinstance(item, Synced):
                break
            changes.append(item)
    return changes


async def next_change(items: AsyncIterator[Change | Synced], matches: Callable[[Change], bool]) -> Change:
    """The next change that `matches`."""
    async with asyncio.timeout(DEADLINE):
        async for item in items:
            if isinstance(item, Change) and matches(item):
                return item
    raise AssertionError("the watch ended")


def code(manifest: Manifest) -> int | None:
    """The exit code of a pod's first container."""
    state = manifest["status"]["containerStatuses"][0]["state"]
    exit_code: int | None = state.get("terminated", {}).get("exitCode")
    return exit_code
