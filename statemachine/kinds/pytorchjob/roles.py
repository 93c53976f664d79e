"""Who is who in a PyTorchJob: names of the kind, pod templates, pod names, labels.

Source: kubeflow-pytorchjob.md, section 3.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.ids import ReplicaName, split_replica
from statemachine.kind import Names
from statemachine.kinds.pytorchjob.replica_types import KEYS
from statemachine.owned import owner_reference
from statemachine.schema.layout import Layout, Slot
from statemachine.schema.lookup import entries, find, is_object
from statemachine.state import JobState

NAMES: Final = Names(
    kind="PyTorchJob",
    group="kubeflow.org",
    version="v1",
    plural="pytorchjobs",
    singular="pytorchjob",
    list_kind="PyTorchJobList",
    short=(),
)

CONTAINER: Final = "pytorch"
"""Name of the container that trains; there must be one (K6)."""

OPERATOR: Final = "training.kubeflow.org/operator-name"
"""Label of every child of a job of this API group."""

CONTROLLER: Final = "pytorchjob-controller"
"""What it says for this kind."""

JOB_NAME: Final = "training.kubeflow.org/job-name"
"""Label of every child: the name of its job."""

QUEUE: Final = "kueue.x-k8s.io/queue-name"
"""Label of a job that Kueue's integration `kubeflow.org/pytorchjob` lets run when there is quota for it."""

_TYPE: Final = "training.kubeflow.org/replica-type"
_INDEX: Final = "training.kubeflow.org/replica-index"
_OLD_TYPE: Final = "replica-type"
_OLD_INDEX: Final = "replica-index"

REPLICA_LABELS: Final = ((_OLD_TYPE, _OLD_INDEX), (_TYPE, _INDEX))
"""Pairs of labels that say which replica a pod is; the training operator sets only the second pair (spec R3)."""

MASTER_LABEL: Final = ("job-role", "master")
"""The label of the primary's pod."""

_ROLE: Final = "training.kubeflow.org/job-role"

WAITING: Final = "init-pytorch"
"""Name of a Worker's init container that waits until the Master can be found."""


def slots(spec: Mapping[str, Any]) -> Iterator[Slot]:
    """The pod templates of a spec, the Master's first."""
    for type_, key in KEYS.items():
        template = find(spec, f"pytorchReplicaSpecs.{key}.template")
        if is_object(template):
            yield Slot(type_, f"spec.pytorchReplicaSpecs[{key}].template.spec", template)


LAYOUT: Final = Layout(slots=slots, training_names=(CONTAINER,), generated_env=lambda _: ())
"""The names of generated variables depend on more than can be known here: `template_rules` finds them."""


def pod_name(job: JobState, replica: ReplicaName) -> str:
    """`<job>-<type>-<index>`: the name of a replica's pod and of its Service."""
    return f"{job.name}-{replica}"


def job_labels(job: JobState) -> dict[str, str]:
    """The labels that every child has."""
    return {JOB_NAME: job.name, OPERATOR: CONTROLLER}


def type_labels(job: JobState, type_: str) -> dict[str, str]:
    """The labels by which a replica type's pods are found: `status.replicaStatuses.<Type>.selector`."""
    return {**job_labels(job), _TYPE: type_}


def member_labels(job: JobState, replica: ReplicaName) -> dict[str, str]:
    """The labels of a replica's Service, and the ones by which it finds its pod."""
    type_, index = split_replica(replica)
    return {**type_labels(job, type_), _INDEX: str(index)}


def pod_labels(job: JobState, replica: ReplicaName) -> dict[str, str]:
    """The labels of a replica's pod, those of earlier releases included: users select by `job-name`."""
    type_, index = split_replica(replica)
    old = {
        "group-name": NAMES.group,
        "job-name": job.name,
        _OLD_TYPE: type_,
        _OLD_INDEX: str(index),
    }
    role = {_ROLE: "master", **dict([MASTER_LABEL])} if replica == job.running_plan.primary else {}
    return {**member_labels(job, replica), **old, **role}


def metadata(job: JobState, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Metadata of a child: in the job's namespace and controlled by the job. Source: spec R3."""
    return {
        "name": name,
        "namespace": job.namespace,
        "labels": dict(labels),
        "ownerReferences": [owner_reference(job)],
    }


def template_metadata(slot: Slot, of: str) -> Mapping[str, Any]:
    """Labels or annotations of a pod template, as the user wrote them."""
    return entries(slot.template, f"metadata.{of}")
