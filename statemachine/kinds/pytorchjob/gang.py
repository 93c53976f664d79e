"""Placing all pods of a job together, or none: PodGroups of Volcano and of scheduler-plugins.

Which of them is a setting of the installation, none by default. Source: kubeflow-pytorchjob.md, section 3.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Final

from statemachine.events import Announced
from statemachine.kind import Placement
from statemachine.kinds.pytorchjob.replica_types import by_type, total
from statemachine.kinds.pytorchjob.roles import job_labels, metadata, slots
from statemachine.kinds.pytorchjob.settings import gang_scheduler
from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec
from statemachine.owned import NO_QUEUE, Child, Manifest, Owned
from statemachine.schema.lookup import entries, find, text
from statemachine.schema.quantities import quantity
from statemachine.state import JobState

NONE: Final = ("", "none")
VOLCANO: Final = "volcano"

VOLCANO_VERSION: Final = "scheduling.volcano.sh/v1beta1"
PLUGINS_VERSION: Final = "scheduling.x-k8s.io/v1alpha1"

PLUGINS: Final = "scheduler-plugins"

POD_GROUP: Final = "PodGroup"
PHASE: Final = "phase"


def _facts(raw: Mapping[str, Any]) -> Mapping[str, str]:
    phase = text(raw, "status.phase")
    return {PHASE: phase} if phase else {}


OWNS: Final = (
    Owned(
        VOLCANO_VERSION,
        POD_GROUP,
        "podgroups",
        when=("gang_scheduler", VOLCANO),
        facts=_facts,
        compared="spec",
        gang=True,
        locally=NO_QUEUE,
    ),
    Owned(
        PLUGINS_VERSION,
        POD_GROUP,
        "podgroups",
        when=("gang_scheduler", PLUGINS),
        compared="spec",
        gang=True,
        locally=NO_QUEUE,
    ),
)
"""The PodGroups, each where its scheduler is configured."""

OTHER_SCHEDULER: Final = Announced(
    reason="SetPodTemplateSchedulerName",
    message="Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten",
    level="Warning",
)


def placement(spec: Mapping[str, Any]) -> Placement:
    """What the gang scheduler gets; the name of the scheduler is a setting."""
    policy = entries(spec, "runPolicy.schedulingPolicy")
    return Placement(queue=text(policy, "queue"), priority_class=text(policy, "priorityClass"))


def pod_group(job: JobState, spec: PyTorchJobSpec) -> Iterator[Child]:
    """The job's PodGroup, if a gang scheduler is configured."""
    scheduler = gang_scheduler(job.settings)
    if scheduler not in NONE:
        version = VOLCANO_VERSION if scheduler == VOLCANO else PLUGINS_VERSION
        yield Child(version, "PodGroup", job.name, partial(_manifest, job, spec, version), mutable=True)


def _manifest(job: JobState, spec: PyTorchJobSpec, version: str) -> Manifest:
    policy = spec.run_policy.scheduling_policy
    members = total(spec) if policy.min_available is None else policy.min_available
    resources = policy.min_resources
    group: dict[str, Any] = {
        "minMember": members,
        "minResources": _resources(job, spec, members) if resources is None else dict(resources),
    }
    if version == VOLCANO_VERSION:
        group["queue"] = policy.queue or "default"
        if policy.priority_class:
            group["priorityClassName"] = policy.priority_class
    elif policy.schedule_timeout_seconds is not None:
        group["scheduleTimeoutSeconds"] = policy.schedule_timeout_seconds
    return {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": metadata(job, job.name, job_labels(job)),
        "spec": group,
    }


def _resources(job: JobState, spec: PyTorchJobSpec, members: int) -> dict[str, str]:
    """What the first `members` pods ask for, the Master's first; a container without requests asks for its limits."""
    templates = {slot.type: slot for slot in slots(job.spec)}
    asked: dict[str, list[tuple[int, object]]] = {}
    for type_, replica_spec in by_type(spec):
        pods = min(replica_spec.replicas, members)
        members -= pods
        for _, container in templates[type_].containers if pods else ():
            requests = find(container, "resources.requests")
            amounts = entries(container, "resources.limits" if requests is None else "resources.requests")
            for name, amount in amounts.items():
                asked.setdefault(name, []).append((pods, amount))
    return {name: _sum(amounts) for name, amounts in asked.items()}


def _sum(amounts: list[tuple[int, object]]) -> str:
    """The sum of so many times each amount, as a quantity; with powers of 1024 where the amounts have them."""
    quantities = [(times, quantity(amount)) for times, amount in amounts]
    added = sum((times * Fraction(number) for times, number in quantities if number is not None), Fraction(0))
    if added and any(str(amount).endswith("i") for _, amount in amounts):
        for power, suffix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
            if added % 1024**power == 0:
                return f"{added / 1024**power}{suffix}"
    for unit, suffix in ((1, ""), (10**3, "m"), (10**6, "u")):
        if (added * unit).denominator == 1:
            return f"{added * unit}{suffix}"
    return f"{ceil(added * 10**9)}n"


def scheduled(scheduler: str, pod: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod with the gang scheduler's name, unless the template says another."""
    return pod if scheduler in NONE or pod.get("schedulerName") else {**pod, "schedulerName": scheduler}


def group_annotations(job: JobState, type_: str) -> dict[str, str]:
    """What tells Volcano which group a pod is in, and as what."""
    if gang_scheduler(job.settings) != VOLCANO:
        return {}
    return {"scheduling.k8s.io/group-name": job.name, "volcano.sh/task-spec": type_}


def group_labels(job: JobState) -> dict[str, str]:
    """What tells scheduler-plugins which group a pod is in."""
    if gang_scheduler(job.settings) in (*NONE, VOLCANO):
        return {}
    return {"scheduling.x-k8s.io/pod-group": job.name}


def other_scheduler(spec: Mapping[str, Any], scheduler: str) -> Iterator[Announced]:
    """What a user reads whose template names a scheduler that is not the gang's. Source: section 5, Events."""
    named = [text(slot.template, "spec.schedulerName") for slot in slots(spec)]
    if scheduler not in NONE and any(name not in ("", scheduler) for name in named):
        yield OTHER_SCHEDULER
