"""Desired and live children → the writes that bring one to the other, in order. Pure.

What a stale projector must never do shows here: a pod of a later attempt than the state knows of is left alone, a pod
that was observed is not created again for its attempt, only uids are deleted, never names, and what the state may be
too old to want is marked as doubtful.
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
    ("Pod", "Service", "ConfigMap", "Secret", *(each.kind for kind in KINDS for each in kind.owns))
)
"""The kinds that jobledger creates; whatever else a job owns is not touched."""


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
    """Set where the object may have been taken from the job meanwhile: then it is not ours to delete."""
    doubtful: bool = False
    """It may have been asked for since this state: no attempt tells."""


@dataclass(frozen=True, slots=True)
class Release:
    """Nothing more can be learnt from the pod: its evidence finalizer may go."""

    ref: Ref
    uid: str


@dataclass(frozen=True, slots=True)
class SayAbsent:
    """A pod that was asked for and then dismissed seems never to have been made."""

    replica: ReplicaName
    attempt: int


@dataclass(frozen=True, slots=True)
class Hold:
    """The log has yet to hear of the pod, or of its end: until then it stays."""

    uid: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """The job's pod has no controller any more: somebody took its owner references away (spec R3).

    `labels` are those of the pod that is wished for; None, if none is.
    """

    ref: Ref
    uid: str
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SayTaken:
    """The pod outlives its job, which was deleted with its children left as orphans: to the job it is gone."""

    replica: ReplicaName
    attempt: int
    uid: PodUid


@dataclass(frozen=True, slots=True)
class Report:
    """The log does not know of the object, although a watch may have reported it: it is reported once more."""

    ref: Ref
    uid: str


Write = Hold | TakeBack | SayTaken | Report | Create | Update | Delete | Release | SayAbsent


def diff(state: JobState, desired: Iterable[Child], live: Sequence[Manifest]) -> Iterator[Write]:
    """What is to be written, deletions first. `live` are the objects that the job's uid controls.

    While the retry timer of a refused write runs (spec T5) nothing is created. A job that has ended keeps what
    it has; only what is optional is still made.
    """
    wanted = list(desired)
    there = {(each["kind"], each["metadata"]["name"]): each for each in live}
    keep = {(child.kind, child.name): child for child in wanted}
    by_uid = {each.uid: each for each in state.replicas.values() if each.uid}
    for key, manifest in there.items():
        if key[0] == "Pod":
            yield from _pod(state, by_uid, manifest, keep.get(key))
        elif key not in keep and key[0] in MANAGED and not _is_deleting(manifest):
            yield _delete(state, manifest, doubtful=not state.deleted)
    yield from _never_made(state, there.values())
    blocked = RETRY in state.timers
    for child in wanted:
        found = there.get((child.kind, child.name))
        if found is None:
            if not blocked and _may_create(state, child):
                yield Create(child)
        elif child.mutable and (merge := _difference(child.build(), found)):
            yield Update(child, _uid(found), merge)
        elif child.mutable and _is_mistaken(state, found):
            yield Report(Ref.of(found), _uid(found))


def _is_mistaken(state: JobState, found: Manifest) -> bool:
    """The log does not have the child as it stands, and no watch has to report that again.

    A spec that was changed and changed back changes no object. A late report of the child before, or of an earlier
    status, is not to be told from news.
    """
    kind, name = found["kind"], found["metadata"]["name"]
    known = state.child(kind, name)
    planned = state.plan.children if state.plan else ()
    if known is None or not any((child.kind, child.name) == (kind, name) for child in planned):
        return False
    return known.outdated or (known.uid, known.facts) != (_uid(found), facts_of(found))


def _pod(
    state: JobState, by_uid: Mapping[PodUid, ReplicaState], manifest: Manifest, wished: Child | None
) -> Iterator[Write]:
    uid = PodUid(_uid(manifest))
    known = by_uid.get(uid)
    if known is None:
        replica, attempt = _replica(state, manifest), attempt_of(manifest)
    else:  # whatever has been written on the pod since
        replica, attempt = known, known.attempt
        if not is_controlled(manifest):
            labels = wished.build()["metadata"]["labels"] if wished is not None else None
            gone = state.deleted
            yield SayTaken(known.name, attempt, uid) if gone else TakeBack(Ref.of(manifest), uid, labels)
            return
    if replica is not None and attempt > replica.attempt and not state.deleted:
        ref = Ref.of(manifest)
        if ref.name == kind_of(state.api_version, state.kind).pod_name(state, replica.name):
            yield Report(ref, uid)
        return
    retired = replica is None or attempt < replica.attempt or not _may_be_current(replica, uid)
    stays = wished is not None and not retired
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
    held = EVIDENCE in manifest["metadata"].get("finalizers", ())
    releases: list[Write] = []
    if held and not retired and _is_unheard_of(state, replica, manifest):
        releases = [Hold(uid)]
    elif held and (retired or _end_is_known(replica, manifest)):
        releases = [Release(Ref.of(manifest), uid)]
    # let go first, and the deletion is the end of it at once; but that would change the version it depends on
    yield from [*deletes, *releases] if state.deleted else [*releases, *deletes]


def _is_not_understood(state: JobState) -> bool:
    """The job was refused: pods that it has were made before that, by somebody who understood its spec."""
    return state.plan is None and not state.deleted


def _delete(state: JobState, manifest: Manifest, *, doubtful: bool, as_seen: bool = False) -> Delete:
    """Of a job that is gone only what still is its own: its children may have been left as orphans.

    With `as_seen` only the object as it was seen: a pod that has ended since is to stay.
    """
    version = str(manifest["metadata"].get("resourceVersion", "")) if state.deleted or as_seen else ""
    return Delete(Ref.of(manifest), _uid(manifest), version, doubtful)


def _may_be_current(replica: ReplicaState, uid: PodUid) -> bool:
    """The log knows of this pod, or of none yet; it may also say that there is none any more."""
    return replica.has_pod and replica.uid in ("", uid)


def _is_unheard_of(state: JobState, replica: ReplicaState | None, manifest: Manifest) -> bool:
    """Once the pod has vanished, nothing would tell that it was made, and it would be made again."""
    waits = replica is not None and replica.has_pod and not replica.uid
    return waits and not state.is_final and not state.deleted and _nobody_runs_it(manifest)


def _end_is_known(replica: ReplicaState | None, manifest: Manifest) -> bool:
    """The end is in the log; or there will be none: the pod never got a node, or somebody removes it by force.

    The grace period of a pod that has ended is 0 whoever deletes it: its end is on the way into the log.
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
    """The kubelet has said that nothing of the pod runs any more, or somebody has deleted it by force.

    Source: Kubernetes, pod termination: the last step is a deletion with a grace period of 0.
    """
    meta = manifest["metadata"]
    return "deletionTimestamp" in meta and meta.get("deletionGracePeriodSeconds") == 0


def _will_be_told(manifest: Manifest) -> bool:
    """The pod has ended, and the watches can tell how: of one that does not say its attempt they cannot."""
    ended = manifest.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return ended and attempt_of(manifest) > 0


def _never_made(state: JobState, live: Iterable[Manifest]) -> Iterator[Write]:
    unseen = [each for each in state.replicas.values() if each.leaving and not each.uid and each.has_pod]
    if unseen:
        pods = (each for each in live if each["kind"] == "Pod")
        made = {(name, attempt_of(each)) for each in pods if (name := _replica_name(each))}
        for replica in unseen:
            if (replica.name, replica.attempt) not in made:
                yield SayAbsent(replica.name, replica.attempt)


def _may_create(state: JobState, child: Child) -> bool:
    """A pod that has been observed and is not there any more has vanished: that is for the watcher to say."""
    if state.terminating or (state.is_final and not child.optional):
        return False
    return not child.replica or not state.replicas[child.replica].uid


def _difference(built: Manifest, live: Manifest) -> dict[str, Any]:
    """The parts of `built` beside metadata that `live` has otherwise."""
    skip = ("apiVersion", "kind", "metadata", "status")
    return {key: value for key, value in built.items() if key not in skip and live.get(key) != value}


def _replica_name(manifest: Manifest) -> ReplicaName | None:
    return replica_of(manifest["metadata"].get("labels", {}))


def _replica(state: JobState, manifest: Manifest) -> ReplicaState | None:
    name = _replica_name(manifest)
    return state.replicas.get(name) if name else None


def attempt_of(manifest: Manifest) -> int:
    """The attempt that the pod was made for; 0 if what it says is no number."""
    return ids.attempt_of(manifest["metadata"].get("annotations", {})) or 0


def _uid(manifest: Manifest) -> str:
    return str(manifest["metadata"]["uid"])


def _is_deleting(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]
