"""What an API server, its nodes and its administrators do beside what `chaos` has."""

import asyncio
from typing import Final

from k8s_bridge.observe import is_controlled
from k8s_bridge.port import Manifest, Ref
from statemachine.errors import Missing
from statemachine.kinds import KINDS
from tests.simulation.chaos import Action, some
from tests.simulation.world import World
from tests.support.nodes import NodesCluster

_SELECTED: Final = frozenset(kind.child_label for kind in KINDS)
_CHILDREN: Final = ("Pod", "Service", "PodGroup", "TensorBoard", "Secret", "ConfigMap")


async def token_expires(world: World) -> None:
    """The API server takes our token for nobody's (401) until it is replaced."""
    _lasts(world, "unauthorized", "token_expired", world.chance.expovariate(1 / 8))


async def overload(world: World) -> None:
    """The API server answers 429 with Retry-After for a while."""
    _lasts(world, "throttled", "overload", world.chance.expovariate(1 / 6))


async def no_leader(world: World) -> None:
    """The store of the API server has no leader for a while: 500."""
    _lasts(world, "server_error", "no_leader", world.chance.expovariate(1 / 6))


async def webhook_outage(world: World) -> None:
    """An admission webhook that must be asked is away."""
    _lasts(world, "webhook_down", "webhook_outage", world.chance.uniform(5, 60))


async def policy(world: World) -> None:
    """An admission webhook denies whatever is created."""
    _lasts(world, "webhook_denies", "policy", world.chance.uniform(5, 60))


async def mute_watches(world: World) -> None:
    """Open watches bring nothing for a while, and stay open."""
    _lasts(world, "silent", "mute_watches", world.chance.uniform(5, 40))


def _lasts(world: World, answer: str, fault: str, seconds: float) -> None:
    world.fault(fault, f"{fault} for {seconds:.1f} s")
    world.weather.until[answer] = asyncio.get_running_loop().time() + seconds


async def lose_node(world: World) -> None:
    """A node is not heard of: its pods are deleted, and later it comes back, or is gone for ever."""
    nodes = world.cluster
    if not isinstance(nodes, NodesCluster) or not nodes.nodes():
        return
    node, loop = world.chance.choice(nodes.nodes()), asyncio.get_running_loop()
    nodes.lose(node)
    world.fault("node_lost", f"{node} is lost")
    unreachable_after, over = world.chance.uniform(1, 40), world.chance.uniform(2, 120)
    loop.call_later(unreachable_after, _unreachable, world, nodes, node)
    loop.call_later(over, _collected if world.chance.random() < 0.3 else _back, world, nodes, node)


def _unreachable(world: World, nodes: NodesCluster, node: str) -> None:
    if nodes.is_lost(node):
        world.pods.deleted_by_others |= {pod["metadata"]["uid"] for pod in nodes.pods_on(node)}
        world.note(f"the pods of {node} are to be deleted")
        nodes.unreachable(node)


def _back(world: World, nodes: NodesCluster, node: str) -> None:
    if nodes.is_lost(node):
        world.fault("node_back", f"{node} is back")
        nodes.bring_back(node)


def _collected(world: World, nodes: NodesCluster, node: str) -> None:
    if nodes.is_lost(node):
        world.pods.deleted_by_others |= {pod["metadata"]["uid"] for pod in nodes.pods_on(node)}
        world.fault("node_gone", f"{node} will never come back")
        nodes.collect(node)


async def end_namespace(world: World) -> None:
    """Somebody deletes a namespace: nothing is created any more, and all that is in it is deleted."""
    if not world.weather.going and world.chance.random() < 0.3:
        namespace = world.namespaces[-1]
        world.fault("namespace_ends", f"namespace {namespace} is being terminated")
        world.weather.going.add(namespace)
        _empty(world, namespace, asyncio.get_running_loop().time())


def _empty(world: World, namespace: str, since: float) -> None:
    """As the namespace controller: deletes what is there, looks again, and ends when nothing is."""
    loop = asyncio.get_running_loop()
    children = (child for kind in _CHILDREN for child in world.cluster.objects.peek_all(kind))
    there = [
        manifest
        for manifest in (*world.live_jobs(), *children)
        if manifest["metadata"]["namespace"] == namespace
    ]
    for manifest in there:
        if "deletionTimestamp" not in manifest["metadata"]:
            world.pods.deleted_by_others.add(manifest["metadata"]["uid"])
            world.cluster.objects.delete(Ref.of(manifest))
    if not there:
        world.note(f"namespace {namespace} is gone")
        world.weather.going.discard(namespace)
    elif loop.time() - since > world.quiet:
        world.broken.append(f"the namespace does not end: {[Ref.of(manifest) for manifest in there]}")
        world.weather.going.discard(namespace)
    else:
        loop.call_later(2.0, _empty, world, namespace, since)


async def squat_pod(world: World) -> None:
    """Somebody else's pod has the name of a replica's for a while, which was removed to make room."""
    pod = some(world, "Pod")
    if pod is None or not is_controlled(pod):
        return
    ref = Ref.of(pod)
    world.delete_pod(pod, force=True)
    if world.cluster.objects.peek(ref) is not None:
        return
    other: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": ref.name, "namespace": ref.namespace},
    }
    other["spec"] = {"containers": [{"name": "shell", "image": "busybox:1"}]}
    uid = world.cluster.objects.create(other)["metadata"]["uid"]
    world.fault("pod_name_taken", f"pod {ref.name} is somebody else's, uid {uid}")
    asyncio.get_running_loop().call_later(world.chance.uniform(1, 40), _remove, world, ref, uid)


def _remove(world: World, ref: Ref, uid: str) -> None:
    manifest = world.cluster.objects.peek(ref)
    if manifest is not None and manifest["metadata"]["uid"] == uid:
        try:
            world.cluster.delete_pod(ref.namespace, ref.name, force=True)
        except Missing:
            return


async def strip_owner(world: World) -> None:
    """Somebody takes the owner references off a pod, perhaps its labels, too."""
    pod = some(world, "Pod")
    if pod is None or not is_controlled(pod):
        return
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    fields: Manifest = {"ownerReferences": None}
    world.fault("owner_stripped", f"pod {name} {uid} has no owner any more")
    if world.chance.random() < 0.3:
        world.fault("labels_stripped", f"pod {name} {uid} has no labels any more")
        fields["labels"] = None
    world.pods.stripped.add(uid)
    world.cluster.objects.patch(Ref.of(pod), {"metadata": fields})


async def relabel_pod(world: World) -> None:
    """Somebody takes one of our labels off a pod, or gives it another value; or the pod gets a label of theirs.

    Not the label that watches select by, before the log has the pod: if its job lets go of it then, nothing shows it.
    """
    pod = some(world, "Pod")
    if pod is None or not is_controlled(pod):
        return
    name, uid, labels = pod["metadata"]["name"], pod["metadata"]["uid"], pod["metadata"].get("labels") or {}
    kept = frozenset() if world.pods.is_in_log(uid) else _SELECTED
    label = world.chance.choice((*sorted(labels.keys() - kept), "team"))
    value = world.chance.choice((None, "another", "1"))
    world.fault("pod_relabelled", f"pod {name} {uid} has the label {label}={value}")
    if label != "team":
        world.pods.relabelled.add(uid)
    world.cluster.objects.patch(Ref.of(pod), {"metadata": {"labels": {label: value}}})


ACTIONS: Final[tuple[Action, ...]] = (
    token_expires,
    overload,
    no_leader,
    webhook_outage,
    policy,
    mute_watches,
    lose_node,
    end_namespace,
    squat_pod,
    strip_owner,
    relabel_pod,
)
