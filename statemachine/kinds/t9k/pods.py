"""A replica's pod, from its template. Source: spec R3, R4, R13."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from statemachine.ids import ATTEMPT
from statemachine.kinds.t9k.kind import SCHEDULER
from statemachine.kinds.t9k.objects import Member, member_labels, metadata
from statemachine.kinds.t9k.parts import T9kScheduler
from statemachine.kinds.t9k.services import hosted
from statemachine.owned import Child, Manifest
from statemachine.schema.layout import Container, Slot
from statemachine.schema.lookup import entries, items, text
from statemachine.state import JobState

_QUEUE: Final = "scheduler.tensorstack.dev/queue"


class Attached(NamedTuple):
    """A volume that the controller adds to a pod, and where the training container finds it."""

    volume: Mapping[str, Any]
    mount: Mapping[str, Any]


def replica_pod(
    job: JobState,
    member: Member,
    build: Callable[[], Manifest],
    expand: Callable[[str], str] | None = None,
) -> Child:
    """The pod of a replica's current attempt as a child of the job; `build` gives its manifest (see `pod`)."""
    known = job.replicas.get(member.replica)
    attempt = known.attempt if known else 0
    return Child("v1", "Pod", member.pod, build, replica=member.replica, attempt=attempt, expand=expand)


def pod(
    job: JobState,
    member: Member,
    slot: Slot,
    training: tuple[int, Container],
    *,
    scheduler: T9kScheduler | None = None,
    skip_init: bool = False,
    attached: Sequence[Attached] = (),
    grouped: bool = True,
    own_labels: Mapping[str, str] | None = None,
) -> Manifest:
    """The pod of a replica's current attempt; `training` says which container is replaced, and by what.

    `attached` volumes come after the user's, mounted in the training container. A pod that is not `grouped` is
    queued alone, outside of the job's PodGroup. `own_labels` are those that only pods of this kind have.

    Labels and annotations of the template are kept; on a clash the controller's win.
    """
    attempt = job.replicas[member.replica].attempt if member.replica in job.replicas else 0
    labels = member_labels(job, member) | _queue_labels(job, member, scheduler, grouped=grouped)
    labels |= own_labels or {}
    meta = metadata(job, member.pod, {**entries(slot.template, "metadata.labels"), **labels})
    meta["annotations"] = {**slot.annotations, ATTEMPT: str(attempt)}
    spec = _pod_spec(slot, _mounted(training, attached), scheduler, attached, skip_init=skip_init)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": spec | hosted(job, member, spec),
    }


def _mounted(training: tuple[int, Container], attached: Sequence[Attached]) -> tuple[int, Container]:
    if not attached:
        return training
    index, container = training
    own = container.get("volumeMounts") or []
    return index, {**container, "volumeMounts": [*own, *(dict(volume.mount) for volume in attached)]}


def _pod_spec(
    slot: Slot,
    training: tuple[int, Container],
    scheduler: T9kScheduler | None,
    attached: Sequence[Attached],
    *,
    skip_init: bool,
) -> dict[str, Any]:
    spec = dict(entries(slot.template, "spec"))
    containers = spec["containers"] = list(spec["containers"])
    containers[training[0]] = training[1]
    spec["restartPolicy"] = "Never"
    if scheduler is not None:
        spec["schedulerName"] = SCHEDULER
    if attached:
        spec["volumes"] = [*(spec.get("volumes") or []), *(dict(volume.volume) for volume in attached)]
    if skip_init:
        spec.pop("initContainers", None)
    return spec


def placed(
    job: JobState, member: Member, scheduler: T9kScheduler | None
) -> tuple[dict[str, str], dict[str, str]]:
    """What of the spec, and which labels, put a pod without a template of its own into its group and queue."""
    return _spec(scheduler), _queue_labels(job, member, scheduler, grouped=True)


def placed_alone(scheduler: T9kScheduler | None) -> tuple[dict[str, str], dict[str, str]]:
    """The same of a pod outside of the group of its job."""
    return _spec(scheduler), {_QUEUE: scheduler.queue} if scheduler is not None else {}


def _spec(scheduler: T9kScheduler | None) -> dict[str, str]:
    return {"schedulerName": SCHEDULER} if scheduler is not None else {}


def _queue_labels(
    job: JobState, member: Member, scheduler: T9kScheduler | None, *, grouped: bool
) -> dict[str, str]:
    """The labels that put a pod into its group and queue. Source: spec R13."""
    _, queued = placed_alone(scheduler)
    if not queued or not grouped:
        return queued
    return {
        "scheduler.tensorstack.dev/group-name": job.name,
        **queued,
        "scheduler.tensorstack.dev/role": member.role,
    }


def with_env(container: Container, generated: Mapping[str, str]) -> dict[str, Any]:
    """The container with generated variables before the user's, so that those may refer to them (spec R4).

    The user's entries of the same names go; PYTHONUNBUFFERED is the user's if set.
    """
    own = [entry for _, entry in items(container, "env") if text(entry, "name") not in generated]
    variables = dict(generated)
    if not any(text(entry, "name") == "PYTHONUNBUFFERED" for entry in own):
        variables["PYTHONUNBUFFERED"] = "1"
    env: Sequence[object] = [{"name": name, "value": value} for name, value in variables.items()]
    return {**container, "env": [*env, *own]}
