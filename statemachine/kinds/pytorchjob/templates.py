"""A replica's pod, from its template. Source: kubeflow-pytorchjob.md, section 3."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from statemachine.errors import InvariantBroken
from statemachine.ids import ATTEMPT, ReplicaName, split_replica
from statemachine.kinds.pytorchjob import gang
from statemachine.kinds.pytorchjob.env import Pair, variables, with_env
from statemachine.kinds.pytorchjob.ports import with_port
from statemachine.kinds.pytorchjob.replica_types import MASTER, WORKER, has_master
from statemachine.kinds.pytorchjob.roles import (
    LAYOUT,
    WAITING,
    metadata,
    pod_labels,
    pod_name,
    template_metadata,
)
from statemachine.kinds.pytorchjob.settings import gang_scheduler, init_image
from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec
from statemachine.owned import Manifest
from statemachine.schema.layout import Slot
from statemachine.schema.lookup import entries
from statemachine.spec import RestartPolicy
from statemachine.state import JobState

_WAIT: Final = (
    "err=1;for i in $(seq 100); do if nslookup {host}; then err=0 && break; fi;"
    "echo waiting for master; sleep 2; done; exit $err"
)
"""At most 100 tries, two seconds apart."""


def pod(job: JobState, spec: PyTorchJobSpec, slots: dict[str, Slot], replica: ReplicaName) -> Manifest:
    """The pod of a replica's current attempt. Labels and annotations of the template are kept, ours win."""
    type_ = split_replica(replica)[0]
    slot = slots[type_]
    labels = {**template_metadata(slot, "labels"), **pod_labels(job, replica), **gang.group_labels(job)}
    meta = metadata(job, pod_name(job, replica), labels)
    attempt = job.replicas[replica].attempt if replica in job.replicas else 0
    meta["annotations"] = {
        **template_metadata(slot, "annotations"),
        **gang.group_annotations(job, type_),
        ATTEMPT: str(attempt),
    }
    of_pod = _containers(slot, variables(job.name, spec, slots, replica))
    of_pod["restartPolicy"] = restart_policy(job.running_plan.type_of(replica).restart_policy)
    if type_ == WORKER and has_master(spec):
        of_pod["initContainers"] = [*(of_pod.get("initContainers") or ()), _waiting(job)]
    of_pod = gang.scheduled(gang_scheduler(job.settings), of_pod)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": of_pod}


def restart_policy(policy: RestartPolicy) -> str:
    """A pod's own policy: whether exit codes count is the controller's to judge, not the kubelet's."""
    return RestartPolicy.NEVER.value if policy is RestartPolicy.EXIT_CODE else policy.value


def _containers(slot: Slot, generated: Sequence[Pair]) -> dict[str, Any]:
    """The template's spec with environment in every container, and the port in the one that trains."""
    training = LAYOUT.training(slot)
    if training is None:
        raise InvariantBroken(f"{slot.path} has no container")  # K4 sees to it
    containers: list[Mapping[str, Any]] = [with_env(container, generated) for _, container in slot.containers]
    containers[training[0]] = with_port(containers[training[0]])
    return {**entries(slot.template, "spec"), "containers": containers}


def _waiting(job: JobState) -> dict[str, Any]:
    """The init container that keeps a Worker from starting before the Master can be found."""
    return {
        "name": WAITING,
        "image": init_image(job),
        "imagePullPolicy": "IfNotPresent",
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
        "command": ["sh", "-c", _WAIT.format(host=f"{job.name}-{MASTER}-0")],
    }
