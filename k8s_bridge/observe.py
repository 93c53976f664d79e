"""Raw objects → observations. Pure: a change of a Kubernetes-shaped dict in, observations of a job out.

Changes come from `watchers`, with the time of the observation; observations go to the engine. This module does not
trust the shape of an object: any client, in any version, may have written it. An object that is not recognised as
ours gives nothing (`None`, an empty tuple), never an exception.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final

from k8s_bridge.actors import DELETED_BY
from k8s_bridge.labels import labels
from k8s_bridge.pod_status import (
    ENDED,
    containers_of,
    disruption_of,
    ended_or_started_at,
    own_ends,
    phase_of,
    read_containers,
    refused_for_good,
)
from k8s_bridge.port import EVIDENCE, Change, Verb
from k8s_bridge.raw import mapping, mappings, text, version_of
from statemachine.ids import JOB_UID, JobUid, PodUid, ReplicaName, attempt_of, whole_number
from statemachine.kinds import KINDS, SERVED, UnknownKind, kind_of, replica_of
from statemachine.observations import (
    CANNOT_START,
    ChildObserved,
    Container,
    JobGone,
    JobObserved,
    Observation,
    PodGone,
    PodObserved,
    PodPhase,
    PodUnreadable,
    Recorded,
    WorkloadCondition,
    WorkloadObserved,
)
from statemachine.owned import CONTAINER, MAKER, POD_PHASE, RESTARTS
from statemachine.redact import redacted_text
from statemachine.state import JobState
from statemachine.timestamps import instant

JOB_GROUPS = frozenset(names.group for names in SERVED)
"""API groups whose objects are jobs: those of all kinds. Source: design 6."""

_OWNED: Final = {(owned.group, owned.kind) for kind in KINDS for owned in kind.owns}
"""API group and kind of what jobs own beside pods and Services."""

_FACTS: Final = {
    (owned.group, owned.kind): owned.facts for kind in KINDS for owned in kind.owns if owned.facts is not None
}
"""API group and kind of the children that kinds observe → the facts that are observed of them."""

_MAKERS: Final = {(owned.group, owned.kind) for kind in KINDS for owned in kind.owns if owned.makes_pods}
"""API group and kind of the children whose controllers make pods that jobs observe."""

_CHILD_LABELS = frozenset(kind.child_label for kind in KINDS)

KUEUE_GROUP = "kueue.x-k8s.io"


class Sort(Enum):
    """What an object is to the bridge, by its type."""

    JOB = auto()
    """Of an API group of job kinds, and no child of jobs."""
    POD = auto()
    CHILD = auto()
    """A child that a kind observes."""
    WORKLOAD = auto()
    """A Workload of Kueue's, which has the standing of a job in its queue."""
    OTHER = auto()


def sort_of(raw: Mapping[str, Any]) -> Sort:
    """What the object is; what is no string says nothing."""
    api_version, kind = raw.get("apiVersion"), raw.get("kind")
    return _sort(api_version if isinstance(api_version, str) else "", kind if isinstance(kind, str) else "")


@lru_cache(maxsize=256)
def _sort(api_version: str, kind: str) -> Sort:
    group = _group_of(api_version)
    if group in JOB_GROUPS and (group, kind) not in _OWNED:
        return Sort.JOB
    if kind == "Pod":
        return Sort.POD
    if (group, kind) in _FACTS:
        return Sort.CHILD
    return Sort.WORKLOAD if (group, kind) == (KUEUE_GROUP, "Workload") else Sort.OTHER


def observe(change: Change, known: PodGone | None = None) -> tuple[Observation, ...]:
    """The observations in `change`, in the order in which they happened; empty if it is not of a job of ours.

    A pod that is gone gives two observations if its last form shows an end, which may be a new one. The
    `known`, by its uid, stays its replica, with any labels, unless it has another controller.
    """
    observations: tuple[Observation | None, ...] = ()
    match sort_of(mapping(change.object)):
        case Sort.JOB:
            observations = (job(change),)
        case Sort.POD:
            observations = (_end(change, known), pod(change, known), *_made_pod(change))
        case Sort.CHILD:
            observations = (_end_of_child(change), child(change))
        case Sort.WORKLOAD:
            observations = (workload(change),)
        case Sort.OTHER:
            pass
    return tuple([observation for observation in observations if observation is not None])


def is_job(raw: Mapping[str, Any]) -> bool:
    """The object is of an API group of job kinds, and no child of jobs."""
    return sort_of(raw) is Sort.JOB


def is_controlled(raw: Mapping[str, Any]) -> bool:
    """The object has a controller."""
    return controller_of(mapping(raw.get("metadata"))) is not None


def has_status(raw: Mapping[str, Any]) -> bool:
    """Somebody reports on the object: its status says something."""
    return any(mapping(raw.get("status")).values())


def is_in_sight(raw: Mapping[str, Any]) -> bool:
    """The object has a label that watches of children select by."""
    return not _CHILD_LABELS.isdisjoint(mapping(mapping(raw.get("metadata")).get("labels")))


def owner_of(raw: Mapping[str, Any]) -> JobUid:
    """The uid of the job that controls the object; empty if none of ours does."""
    return _owner(mapping(raw.get("metadata")))


def pod_name_of(pod: Mapping[str, Any], replica: ReplicaName) -> str:
    """The name of the replica's pods in the job that controls `pod`; empty if no job of a known kind does."""
    owner = controller_of(mapping(pod.get("metadata"))) or {}
    try:
        kind = kind_of(text(owner.get("apiVersion")), text(owner.get("kind")))
    except UnknownKind:
        return ""
    return kind.pod_name(JobState(JobUid(text(owner.get("uid"))), name=text(owner.get("name"))), replica)


def job(change: Change) -> JobObserved | JobGone | None:
    """The present job, without the actor (`actors.named`).

    A job in deletion exists until nothing holds it any more.
    """
    raw = mapping(change.object)
    meta = mapping(raw.get("metadata"))
    uid, name = JobUid(text(meta.get("uid"))), text(meta.get("name"))
    if not (is_job(raw) and uid and name and text(raw.get("kind"))):
        return None
    deleted_at = instant(meta.get("deletionTimestamp"))
    by = text(mapping(meta.get("annotations")).get(DELETED_BY))
    if change.verb is Verb.DELETED:
        return JobGone(job=uid, at=change.at, happened_at=deleted_at, actor=by)
    spec = dict(mapping(raw.get("spec")))
    if not all(isinstance(field, str) for field in spec):
        return None
    return JobObserved(
        job=uid,
        at=change.at,
        api_version=text(raw.get("apiVersion")),
        kind=text(raw.get("kind")),
        namespace=text(meta.get("namespace")) or "default",
        name=name,
        generation=whole_number(meta.get("generation")) or 0,
        spec=spec,
        actor=by if deleted_at else "",
        labels=labels(meta),
        terminating_since=deleted_at,
        version=version_of(meta),
        written_at=_written_at(meta),
    )


def pod(change: Change, known: PodGone | None = None) -> PodObserved | PodGone | PodUnreadable | None:
    """The present pod, if a job of ours controls it, or if it is `known` and has no other controller."""
    raw = mapping(change.object)
    meta = mapping(raw.get("metadata"))
    owner, replica, uid = _owner(meta), replica_of(mapping(meta.get("labels"))), PodUid(text(meta.get("uid")))
    if known is not None and known.uid == uid and (owner == known.job or not is_controlled(raw)):
        owner, replica = known.job, known.replica
    if not (owner and replica and uid):
        return None
    attempt = attempt_of(mapping(meta.get("annotations")))
    if change.verb is Verb.DELETED:
        return PodGone(job=owner, at=change.at, replica=replica, attempt=attempt or 0, uid=uid)
    status = mapping(raw.get("status"))
    phase = phase_of(status)
    if phase is None or attempt is None:
        return PodUnreadable(job=owner, at=change.at, replica=replica, uid=uid, written_at=_written_at(meta))
    conditions = mappings(status.get("conditions"))
    containers = read_containers(status)
    refused = refused_for_good(containers) if phase is PodPhase.FAILED else ""
    return PodObserved(
        job=owner,
        at=change.at,
        happened_at=ended_or_started_at(containers, phase),
        replica=replica,
        attempt=attempt,
        pod=text(meta.get("name")),
        uid=uid,
        phase=phase,
        containers=containers_of(containers),
        node=text(mapping(raw.get("spec")).get("nodeName")),
        reason=CANNOT_START if refused else text(status.get("reason")),
        message=_shown(refused or text(status.get("message")), raw),
        disruption=disruption_of(conditions),
        deleting=bool(meta.get("deletionTimestamp")),
        ready=any(
            condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions
        ),
        own_ends=tuple(own_ends(meta, containers)) if phase in ENDED else (),
        written_at=_written_at(meta),
    )


def _written_at(meta: Mapping[str, Any]) -> datetime | None:
    """When the API server took the last change of the object. Source: Kubernetes, ManagedFieldsEntry.time."""
    times = [instant(entry.get("time")) for entry in mappings(meta.get("managedFields"))]
    return max([time for time in times if time is not None], default=None)


def recorded(raw: Mapping[str, Any]) -> Recorded | None:
    """The job's life as recorded in its status; None if it has none."""
    try:
        kind = kind_of(text(raw.get("apiVersion")), text(raw.get("kind")))
        return kind.recorded(mapping(raw.get("status")))
    except UnknownKind:
        return None


def child(change: Change) -> ChildObserved | None:
    """The present child, if a job controls it and a kind observes such; with an empty uid once it is gone."""
    raw = mapping(change.object)
    meta = mapping(raw.get("metadata"))
    owner, uid, name = _owner(meta), text(meta.get("uid")), text(meta.get("name"))
    kind, facts = text(raw.get("kind")), facts_of(raw)
    if facts is None or not (owner and uid and name):
        return None
    if change.verb is Verb.DELETED:
        return ChildObserved(job=owner, at=change.at, kind=kind, name=name, uid="", gone_uid=uid)
    generation = whole_number(meta.get("generation")) or 0
    return ChildObserved(
        job=owner, at=change.at, kind=kind, name=name, uid=uid, generation=generation, facts=facts
    )


def facts_of(raw: Mapping[str, Any]) -> dict[str, str] | None:
    """The observed facts of a child (`Owned.facts`); None if no kind observes such objects."""
    facts = _FACTS.get(_group_kind(raw))
    return None if facts is None else dict(facts(raw))


def _end_of_child(change: Change) -> ChildObserved | None:
    """The last form of a deleted child whose end counts: no watch may have shown it before."""
    raw = mapping(change.object)
    if change.verb is not Verb.DELETED or _group_kind(raw) not in _MAKERS:
        return None
    last = child(Change(Verb.MODIFIED, change.object, change.at))
    return last if last is not None and last.facts else None


def _made_pod(change: Change) -> Iterator[ChildObserved]:
    """The present pod, if the controller of a child made it of that child: what it is, as facts of its own.

    The job stands in an annotation, as the pod's owner is the child. A deleted pod that shows an end is reported with
    it first.
    """
    raw = mapping(change.object)
    meta = mapping(raw.get("metadata"))
    job = text(mapping(meta.get("annotations")).get(JOB_UID))
    if not job:
        return
    uid, name = text(meta.get("uid")), text(meta.get("name"))
    maker = controller_of(meta) or {}
    if not (uid and name) or _group_kind(maker) not in _MAKERS:
        return
    status, is_gone = mapping(raw.get("status")), change.verb is Verb.DELETED
    phase, containers = phase_of(status), containers_of(read_containers(status))
    if phase is not None and (phase in ENDED or not is_gone):
        restarts = sum(container.restarts for container in containers)
        facts = {MAKER: text(maker.get("name")), POD_PHASE: phase.value}
        facts |= {RESTARTS: str(restarts)} if restarts else {}
        facts |= {f"{CONTAINER}{one.name}": _said_of(one) for one in containers if not one.init}
        yield ChildObserved(job=JobUid(job), at=change.at, kind="Pod", name=name, uid=uid, facts=facts)
    if is_gone:
        yield ChildObserved(job=JobUid(job), at=change.at, kind="Pod", name=name, uid="", gone_uid=uid)


def _said_of(container: Container) -> str:
    code = "" if container.exit_code is None else f" {container.exit_code}"
    return f"{container.state.value}{code}"


_TOLD: Final = (
    "QuotaReserved",
    "Admitted",
    "Evicted",
    "Preempted",
    "Finished",
)
"""Conditions of a Workload about admission and eviction, in the order in which they are reported."""

_LONGEST_MESSAGE: Final = 1024


def workload(change: Change) -> WorkloadObserved | None:
    """The present Workload, if a job of ours controls it; with an empty uid once it is gone."""
    raw = mapping(change.object)
    meta = mapping(raw.get("metadata"))
    owner, uid, name = _owner(meta), text(meta.get("uid")), text(meta.get("name"))
    if not (owner and uid and name):
        return None
    if change.verb is Verb.DELETED:
        return WorkloadObserved(job=owner, at=change.at, name=name, uid="", gone_uid=uid)
    spec, status = mapping(raw.get("spec")), mapping(raw.get("status"))
    admission = mapping(status.get("admission"))
    conditions = tuple(_workload_conditions(status))
    return WorkloadObserved(
        job=owner,
        at=change.at,
        happened_at=max(
            (condition.changed_at for condition in conditions if condition.changed_at), default=None
        ),
        name=name,
        uid=uid,
        queue=text(spec.get("queueName")),
        cluster_queue=text(admission.get("clusterQueue")),
        flavors=tuple(sorted(set(_flavors(admission)))),
        active=spec.get("active") is not False,
        conditions=conditions,
    )


def _workload_conditions(status: Mapping[str, Any]) -> Iterator[WorkloadCondition]:
    by_type = {text(condition.get("type")): condition for condition in mappings(status.get("conditions"))}
    for type_ in _TOLD:
        if (condition := by_type.get(type_)) is not None:
            yield WorkloadCondition(
                type=type_,
                status=text(condition.get("status")),
                reason=text(condition.get("reason")),
                message=text(condition.get("message"))[:_LONGEST_MESSAGE],
                changed_at=instant(condition.get("lastTransitionTime")),
            )


def _flavors(admission: Mapping[str, Any]) -> Iterator[str]:
    """The ResourceFlavors with reserved quota. Source: Kueue, PodSetAssignment.flavors: resource → flavor."""
    for assignment in mappings(admission.get("podSetAssignments")):
        for flavor in mapping(assignment.get("flavors")).values():
            if name := text(flavor):
                yield name


def is_over(pod: Mapping[str, Any]) -> bool:
    """The pod's node has done the last step of the deletion: if the pod still exists, a finalizer holds it.

    For a pod that had ended before, or never got a node, that is the first step as well.
    """
    meta = mapping(pod.get("metadata"))
    return "deletionTimestamp" in meta and meta.get("deletionGracePeriodSeconds") == 0


def is_held(pod: Mapping[str, Any]) -> bool:
    """The pod would be gone but for a finalizer of ours."""
    finalizers = mapping(pod.get("metadata")).get("finalizers")
    return is_over(pod) and isinstance(finalizers, list | tuple) and EVIDENCE in finalizers


def tells_no_more(pod: Mapping[str, Any]) -> bool:
    """The pod is in deletion, and this form of it has all that will ever be known of its end."""
    is_deleting = "deletionTimestamp" in mapping(pod.get("metadata"))
    return is_over(pod) or (is_deleting and phase_of(mapping(pod.get("status"))) in ENDED)


def _end(change: Change, known: PodGone | None) -> PodObserved | None:
    """The end of a deleted pod, if its last form shows it."""
    if change.verb is not Verb.DELETED:
        return None
    last = pod(Change(Verb.MODIFIED, change.object, change.at), known)
    return last if isinstance(last, PodObserved) and last.phase in ENDED else None


def _owner(meta: Mapping[str, Any]) -> JobUid:
    """The uid of the controlling job; empty if the object has no controller, or another one."""
    for owner in mappings(meta.get("ownerReferences")):
        if owner.get("controller") is True and is_job(owner):
            return JobUid(text(owner.get("uid")))
    return JobUid("")


def controller_of(meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first owner reference that says that it is the controller's."""
    for owner in mappings(meta.get("ownerReferences")):
        if owner.get("controller") is True:
            return owner
    return None


def _shown(message: str, raw: Mapping[str, Any]) -> str:
    """The message of a kubelet or a runtime, without the secrets that it quotes."""
    return redacted_text(message, raw.get("spec")) if message else ""


def _group_kind(raw: Mapping[str, Any]) -> tuple[str, str]:
    """API group and kind; what is no string is nothing."""
    api_version, kind = raw.get("apiVersion"), raw.get("kind")
    group = _group_of(api_version) if isinstance(api_version, str) else ""
    return group, kind if isinstance(kind, str) else ""


@lru_cache(maxsize=256)
def _group_of(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
