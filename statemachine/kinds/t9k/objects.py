"""The children of T9k jobs as plain data: names, labels, owners, PodGroup. Source: spec R3, R13."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from statemachine.ids import ReplicaName, short_hash, split_replica
from statemachine.kinds.t9k.parts import T9kScheduler
from statemachine.owned import NO_QUEUE, Child, Manifest, Owned, owner_reference
from statemachine.state import JobState

POD_GROUP_VERSION: Final = "scheduler.tensorstack.dev/v1beta1"

CONFIG_MAP: Final = Owned("v1", "ConfigMap", "configmaps", optional=False, compared="data")

POD_GROUP: Final = Owned(
    POD_GROUP_VERSION, "PodGroup", "podgroups", compared="spec", gang=True, locally=NO_QUEUE
)
"""Source: spec R13."""

OWNER_KIND: Final = "tensorstack.dev/owner-kind"
"""Label of every child: the kind of its job. Source: spec R3."""

OWNER_NAME: Final = "tensorstack.dev/owner-name"
"""Label of every child: the name of its job. Source: spec R3."""


REPLICA_LABELS: Final = (("replica-type", "replica-index"),)
"""The labels that say which replica a pod is. Source: spec R3."""

MASTER_LABEL: Final = ("job-role", "master")
"""The label of the primary's pod. Source: spec R3."""


@dataclass(frozen=True, slots=True)
class Member:
    """One replica as its objects need it: `role` is the replica type, `pod` the name of its pod."""

    replica: ReplicaName
    pod: str
    primary: bool

    @property
    def role(self) -> str:
        """The replica type."""
        return split_replica(self.replica)[0]

    @property
    def index(self) -> int:
        """The index within the type."""
        return split_replica(self.replica)[1]


def hashed_name(job: JobState) -> str:
    """`<job>-<h5>`: the TensorBoard's name, the Service's, and the first part of pod names. Source: spec R3, R4."""
    return f"{job.name}-{short_hash(job.uid)}"


def hashed_pod_name(job: JobState, replica: ReplicaName) -> str:
    """`<job>-<h5>-<type>-<index>`: how three of the T9k kinds name pods. Source: spec R3."""
    return f"{hashed_name(job)}-{replica}"


def plain_pod_name(job: JobState, replica: ReplicaName) -> str:
    """`<job>-<type>-<index>`: how the other T9k kinds name pods. Source: spec R3."""
    return f"{job.name}-{replica}"


def metadata(job: JobState, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Metadata of a child: in the job's namespace and controlled by the job. Source: spec R3."""
    return {
        "name": name,
        "namespace": job.namespace,
        "labels": dict(labels),
        "ownerReferences": [owner_reference(job)],
    }


def job_labels(job: JobState) -> dict[str, str]:
    """The four labels that every child has. Source: spec R3."""
    return {
        OWNER_NAME: job.name,
        OWNER_KIND: job.object_kind,
        "tensorstack.dev/component": job.kind.lower(),
        "tensorstack.dev/component-type": "user",
    }


def member_labels(job: JobState, member: Member) -> dict[str, str]:
    """The labels of a replica's pod, and of a Service of its own. Source: spec R3."""
    kind = job.kind.lower()
    role = dict([MASTER_LABEL]) if member.primary else {}
    type_label, index_label = REPLICA_LABELS[0]
    return {
        **job_labels(job),
        type_label: member.role,
        index_label: str(member.index),
        **role,
        kind: job.name,
        f"{kind}-replica": member.pod,
    }


def pod_group(job: JobState, scheduler: T9kScheduler, members: int) -> Child:
    """The PodGroup that makes the T9k scheduler place the pods together. Source: spec R13."""
    return Child(POD_GROUP_VERSION, "PodGroup", job.name, partial(_pod_group, job, scheduler, members))


def _pod_group(job: JobState, scheduler: T9kScheduler, members: int) -> Manifest:
    return {
        "apiVersion": POD_GROUP_VERSION,
        "kind": "PodGroup",
        "metadata": metadata(job, job.name, job_labels(job)),
        "spec": {"minMember": members, "queue": scheduler.queue, "priority": scheduler.priority},
    }
