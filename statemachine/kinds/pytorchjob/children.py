"""The objects of a PyTorchJob. Source: kubeflow-pytorchjob.md, section 3."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from statemachine.ids import ReplicaName, split_replica
from statemachine.kinds.pytorchjob import gang
from statemachine.kinds.pytorchjob.ports import service_ports
from statemachine.kinds.pytorchjob.replica_types import elastic_range
from statemachine.kinds.pytorchjob.roles import job_labels, member_labels, metadata, pod_name, slots
from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec
from statemachine.kinds.pytorchjob.templates import pod
from statemachine.owned import Child, Manifest, Owned
from statemachine.schema.layout import Slot
from statemachine.state import JobState

AUTOSCALING: Final = "autoscaling/v2"

OWNS: Final = (
    *gang.OWNS,
    Owned(
        AUTOSCALING,
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        compared="spec",
        locally="measures nothing; scale the job yourself",
    ),
)
"""What a job may own beside pods and Services."""


def children(job: JobState, spec: PyTorchJobSpec) -> Iterator[Child]:
    """PodGroup, Services, HorizontalPodAutoscaler, pods, in the order of creation; built when asked for."""
    templates = {slot.type: slot for slot in slots(job.spec)}
    replicas = list(job.running_plan.replicas())
    yield from gang.pod_group(job, spec)
    for replica in replicas:
        build = partial(_service, job, templates[split_replica(replica)[0]], replica)
        yield Child("v1", "Service", pod_name(job, replica), build)
    if spec.elastic_policy is not None and spec.elastic_policy.metrics is not None:
        build = partial(_autoscaler, job, spec)
        yield Child(AUTOSCALING, "HorizontalPodAutoscaler", job.name, build, mutable=True, optional=True)
    for replica in replicas:
        current = job.replicas.get(replica)
        attempt = current.attempt if current else 0
        build = partial(pod, job, spec, templates, replica)
        yield Child("v1", "Pod", pod_name(job, replica), build, replica=replica, attempt=attempt)


def _service(job: JobState, slot: Slot, replica: ReplicaName) -> Manifest:
    """The headless Service that gives a replica its host name."""
    labels = member_labels(job, replica)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job, pod_name(job, replica), labels),
        "spec": {"clusterIP": "None", "selector": labels, "ports": service_ports(slot)},
    }


def _autoscaler(job: JobState, spec: PyTorchJobSpec) -> Manifest:
    """What changes the number of Workers by the user's metrics."""
    fewest, most = elastic_range(spec)
    metrics = spec.elastic_policy.metrics if spec.elastic_policy else None
    return {
        "apiVersion": AUTOSCALING,
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(job, job.name, job_labels(job)),
        "spec": {
            "scaleTargetRef": {"apiVersion": job.api_version, "kind": job.kind, "name": job.name},
            "minReplicas": fewest,
            "maxReplicas": most,
            **({"metrics": metrics} if metrics else {}),
        },
    }
