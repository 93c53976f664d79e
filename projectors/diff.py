"""Desired and live children → the writes that bring one to the other, in order. Pure.

A stale projector must do no harm: it leaves pods of later attempts than the state has alone, does not create an
observed pod again for its attempt, deletes by uid and never by name, and marks deletions as doubtful that a newer
state may not want.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from k8s_bridge.observe import facts_of, is_controlled
from k8s_bridge.port import EVIDENCE, Manifest, Ref
from statemachine import ids
from statemachine.ids import PodUid, ReplicaName
from statemachine.kinds import KINDS, kind_of, replica_of
from statemachine.owned import Child
from statemachine.rules.timers import RETRY
from statemachine.state import JobState, ReplicaState

MANAGED: Final = frozenset(
    ("Pod", "Service", "ConfigMap", "Secret", *(owned.kind for kind in KINDS for owned in kind.owns))
)
"""The kinds that jobledger creates; other objects of a job are not touched."""


@dataclass(frozen=True, slots=True)
class Create:
    """The child does not exist."""

    child: Child


@dataclass(frozen=True, slots=True)
class Update:
    """The child exists and differs in `merge` (RFC 7396)."""

    child: Child
    uid: str
    merge: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    """The object should not exist."""

    ref: Ref
    uid: str
    version: str = ""
    """Set if the object may have been taken from the job: then it is not ours to delete."""
    doubtful: bool = False
    """The object may have been asked for after this state: it has no attempt to tell that."""


@dataclass(frozen=True, slots=True)
class Release:
    """The log has the pod's end, or there will be none: its evidence finalizer is removed.

    It is `awaited` where the pod leaves: its deletion waits for that, and perhaps another pod for its name.
    """

    ref: Ref
    uid: str
    awaited: bool = True


@dataclass(frozen=True, slots=True)
class SayAbsent:
    """A pod that was asked for and then dismissed was probably never made."""

    replica: ReplicaName
    attempt: int


@dataclass(frozen=True, slots=True)
class Hold:
    """The pod stays until the log has it, or its end."""

    uid: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """The job's pod has lost its controller: its owner references were removed (spec R3).

    `labels` are those of the desired pod; None without one.
    """

    ref: Ref
    uid: str
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Relabel:
    """By its labels the pod, which the log does not have yet, is another replica's than by its name, or none's.

    `labels` are those of the desired pod. Until it has them no report of the pod is of its replica.
    """

    ref: Ref
    uid: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SayTaken:
    """The pod outlives its job, which was deleted with its children orphaned: for the job it is gone."""

    replica: ReplicaName
    attempt: int
    uid: PodUid


@dataclass(frozen=True, slots=True)
class Report:
    """The log does not have the object, although a watch may have reported it: it is reported again."""

    ref: Ref
    uid: str


@dataclass(frozen=True, slots=True)
class Await:
    """The object is on its way out, and the job wants another one of its name, which no watch may report as free."""

    uid: str


Write = Hold | Await | TakeBack | Relabel | SayTaken | Report | Create | Update | Delete | Release | SayAbsent


def diff(state: JobState, wanted_children: Iterable[Child], live: Sequence[Manifest]) -> Iterator[Write]:
    """The writes, deletions first. `live` are the objects that the job's uid controls.

    While the retry timer of a refused write runs (spec T5) nothing is created. For a job that has ended only optional
    children are still created.
    """
    children = list(wanted_children)
    by_name = {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in live}
    desired_by_name = {(child.kind, child.name): child for child in children}
    by_uid = {replica.uid: replica for replica in state.replicas.values() if replica.uid}
    for key, manifest in by_name.items():
        if key[0] == "Pod":
            yield from _pod(state, by_uid, manifest, desired_by_name.get(key))
        elif key not in desired_by_name and key[0] in MANAGED and not _is_deleting(manifest):
            yield _delete(state, manifest, doubtful=not state.deleted)
    yield from _never_made(state, by_name.values())
    blocked = RETRY in state.timers
    for child in children:
        live_child = by_name.get((child.kind, child.name))
        if live_child is None:
            if not blocked and _may_create(state, child):
                yield Create(child)
        elif not child.replica and _is_deleting(live_child):
            if _may_create(state, child):
                yield Await(_uid(live_child))
        elif child.mutable and (merge := _difference(child.build(), live_child)):
            yield Update(child, _uid(live_child), merge)
        elif not child.replica and _is_mistaken(state, live_child):
            yield Report(Ref.of(live_child), _uid(live_child))


def _is_mistaken(state: JobState, manifest: Manifest) -> bool:
    """The log does not have the present child, and no watch has to report that again.

    A spec that was changed and changed back changes no object. A late report of an earlier child or status cannot be
    distinguished from a new one. A child that outlived a pause, as nobody could delete it, is as it was.
    """
    facts = facts_of(manifest)
    if facts is None:
        return False
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    last = state.child(kind, name)
    differs = last is None or (last.uid, last.facts) != (_uid(manifest), facts)
    planned = state.plan.children if state.plan else ()
    if not any((child.kind, child.name) == (kind, name) for child in planned):
        return differs and state.phase.is_active and bool(facts)
    return last is not None and (last.outdated or differs)


def _pod(
    state: JobState, by_uid: Mapping[PodUid, ReplicaState], manifest: Manifest, desired_child: Child | None
) -> Iterator[Write]:
    uid = PodUid(_uid(manifest))
    replica_of_pod = by_uid.get(uid)
    if replica_of_pod is not None and desired_child is not None and _runs_as_wished(replica_of_pod, manifest):
        return
    if replica_of_pod is None:
        placed = desired_child or _awaited(state, manifest)
        if placed is not None and _replica_name(manifest) != placed.replica:
            yield Relabel(Ref.of(manifest), uid, placed.build()["metadata"]["labels"])
            return
        replica, attempt = _replica(state, manifest), attempt_of(manifest)
    else:  # labels and annotations may have been edited since
        replica, attempt = replica_of_pod, replica_of_pod.attempt
        if not is_controlled(manifest):
            labels = desired_child.build()["metadata"]["labels"] if desired_child is not None else None
            gone = state.deleted
            yield (
                SayTaken(replica_of_pod.name, attempt, uid)
                if gone
                else TakeBack(Ref.of(manifest), uid, labels)
            )
            return
    if replica is not None and attempt > replica.attempt and not state.deleted:
        ref = Ref.of(manifest)
        if ref.name == kind_of(state.api_version, state.kind).pod_name(state, replica.name):
            yield Report(ref, uid)
        return
    retired = replica is None or attempt < replica.attempt or not _may_be_current(replica, uid)
    stays = desired_child is not None and not retired
    doubtful = replica is None and not state.deleted
    spared = replica is not None and replica.spared and not retired
    if spared and _will_be_told(manifest):
        yield Hold(uid)
        return
    deletes: list[Write] = (
        []
        if stays or _is_deleting(manifest) or _is_not_understood(state)
        else [_delete(state, manifest, doubtful=doubtful, as_seen=spared)]
    )
    is_held = EVIDENCE in manifest["metadata"].get("finalizers", ())
    releases: list[Write] = []
    if is_held and not retired and _is_unheard_of(state, replica, manifest):
        releases = [Hold(uid)]
    elif is_held and (retired or _end_is_known(replica, manifest)):
        releases = [Release(Ref.of(manifest), uid, awaited=not stays or _is_deleting(manifest))]
    # a released pod vanishes at its deletion; but the release changes the version that a deletion may depend on
    yield from [*deletes, *releases] if state.deleted else [*releases, *deletes]


def _awaited(state: JobState, manifest: Manifest) -> Child | None:
    """The pod of this name that is to go before anybody has reported it: with other labels nobody ever does."""
    if state.plan is None or state.deleted:
        return None
    kind, name = kind_of(state.api_version, state.kind), manifest["metadata"]["name"]
    labelled = _replica_name(manifest)
    if labelled is not None and labelled in state.replicas and kind.pod_name(state, labelled) == name:
        return None  # as almost always: its labels are its own
    for child in kind.children(state):
        if child.kind == "Pod" and child.name == name and child.replica:
            replica = state.replicas[child.replica]
            return child if replica.awaits_pod and replica.attempt == attempt_of(manifest) else None
    return None


def _runs_as_wished(replica: ReplicaState, manifest: Manifest) -> bool:
    """Nothing is to be done about a desired pod that the log has: true of most pods, most of the time.

    Each question that follows otherwise would say so, too, and there are many for a job of a thousand replicas.
    """
    return (
        replica.lives
        and manifest.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in manifest["metadata"]
        and is_controlled(manifest)
    )


def _is_not_understood(state: JobState) -> bool:
    """The job was refused: another controller, which understood its spec, made its pods before."""
    return state.plan is None and not state.deleted


def _delete(state: JobState, manifest: Manifest, *, doubtful: bool, as_seen: bool = False) -> Delete:
    """The deletion of an object. For a job that is gone it depends on the version, as children may be orphaned.

    With `as_seen` it depends on the version, too: a pod that has ended since must stay.
    """
    version = str(manifest["metadata"].get("resourceVersion", "")) if state.deleted or as_seen else ""
    return Delete(Ref.of(manifest), _uid(manifest), version, doubtful)


def _may_be_current(replica: ReplicaState, uid: PodUid) -> bool:
    """The log has this pod, or none yet; not if its pod is gone."""
    return replica.has_pod and replica.uid in ("", uid)


def _is_unheard_of(state: JobState, replica: ReplicaState | None, manifest: Manifest) -> bool:
    """The log does not have the pod: if it vanished now, it would be created again."""
    waits = replica is not None and replica.awaits_pod
    return waits and not state.is_final and not state.deleted and _nobody_runs_it(manifest)


def _end_is_known(replica: ReplicaState | None, manifest: Manifest) -> bool:
    """The log has the end, or there will be none: the pod never got a node, or is removed by force.

    The grace period of an ended pod is 0 for any client that deletes it: its end is on the way to the log.
    """
    if replica is None or replica.ended:
        return True
    if _will_be_told(manifest):
        return False
    if _nobody_runs_it(manifest):
        return True
    never_ran = manifest.get("status", {}).get("phase", "Pending") == "Pending"
    unplaced = never_ran and not manifest.get("spec", {}).get("nodeName")
    return unplaced and bool(replica.uid) and (replica.deleting or bool(replica.leaving))


def _nobody_runs_it(manifest: Manifest) -> bool:
    """The kubelet has reported that the pod's processes are gone, or the pod was deleted by force.

    Source: Kubernetes, pod termination: the last step is a deletion with a grace period of 0.
    """
    meta = manifest["metadata"]
    return "deletionTimestamp" in meta and meta.get("deletionGracePeriodSeconds") == 0


def _will_be_told(manifest: Manifest) -> bool:
    """The pod has ended, and a watch reports how; that needs the pod's attempt."""
    ended = manifest.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return ended and attempt_of(manifest) > 0


def _never_made(state: JobState, live: Iterable[Manifest]) -> Iterator[Write]:
    replicas = state.replicas.values()
    unseen = [replica for replica in replicas if replica.leaving and replica.awaits_pod]
    if unseen:
        pods = (manifest for manifest in live if manifest["kind"] == "Pod")
        existing = {(name, attempt_of(pod)) for pod in pods if (name := _replica_name(pod))}
        for replica in unseen:
            if (replica.name, replica.attempt) not in existing:
                yield SayAbsent(replica.name, replica.attempt)


def _may_create(state: JobState, child: Child) -> bool:
    """The child may be created: not a pod that was observed, as the bridge reports that it has vanished."""
    if state.terminating or (state.is_final and not child.optional):
        return False
    return not child.replica or not state.replicas[child.replica].uid


def _difference(built: Manifest, live: Manifest) -> dict[str, Any]:
    """The parts of `built`, apart from metadata, that differ in `live`."""
    skip = ("apiVersion", "kind", "metadata", "status")
    return {key: value for key, value in built.items() if key not in skip and live.get(key) != value}


def _replica_name(manifest: Manifest) -> ReplicaName | None:
    return replica_of(manifest["metadata"].get("labels", {}))


def _replica(state: JobState, manifest: Manifest) -> ReplicaState | None:
    name = _replica_name(manifest)
    return state.replicas.get(name) if name else None


def attempt_of(manifest: Manifest) -> int:
    """The attempt that the pod was made for; 0 without a number."""
    return ids.attempt_of(manifest["metadata"].get("annotations", {})) or 0


def _uid(manifest: Manifest) -> str:
    return str(manifest["metadata"]["uid"])


def _is_deleting(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]
