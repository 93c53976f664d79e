"""What makes a `ModelKind` one of group `batch.tensorstack.dev`: names, status, columns."""

from collections.abc import Mapping
from typing import Any, Final

from statemachine.kind import Names, Placement
from statemachine.kinds.common.crd import Served
from statemachine.kinds.t9k.status_schema import status_schema
from statemachine.schema.lookup import find, flag, is_object, number, text

GROUP: Final = "batch.tensorstack.dev"
VERSION: Final = "v1beta1"
SCHEDULER: Final = "t9k-scheduler"
"""Its name in pods. Source: spec R13."""

DEBUG_COMMAND: Final = ("sleep", "inf")
"""What a replica runs in debug mode unless the spec says otherwise. Source: spec R10."""


def t9k_names(kind: str, short: str) -> Names:
    """Names of a T9k kind: everything but the short name follows from the kind. Source: spec R1."""
    lower = kind.lower()
    return Names(
        kind=kind,
        group=GROUP,
        version=VERSION,
        plural=f"{lower}s",
        singular=lower,
        list_kind=f"{kind}List",
        short=(short,),
    )


def t9k_placement(spec: Mapping[str, Any]) -> Placement:
    """The T9k scheduler's queue, where the spec has one. Source: spec R13."""
    asked = find(spec, "scheduler.t9kScheduler")
    if not is_object(asked):
        return Placement()
    return Placement(SCHEDULER, text(asked, "queue") or "default", number(asked, "priority") or 0)


def debugging(spec: Mapping[str, Any]) -> bool:
    """Debug mode is on. Source: spec R10."""
    return flag(spec, "runMode.debug.enabled")


def t9k_served(about: str, *, restarts: bool, tensorboard: bool = False, elastic: bool = False) -> Served:
    """Status, printer columns and scale subresource of a T9k kind. Source: spec R7, R12.

    `restarts`: the controller restarts replicas and counts it in `backoffCount`.
    """
    columns: list[dict[str, str | int]] = [
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Running", "type": "integer", "jsonPath": ".status.aggregate.running"},
        {"name": "Succeeded", "type": "integer", "jsonPath": ".status.aggregate.succeeded"},
        {"name": "Failed", "type": "integer", "jsonPath": ".status.aggregate.failed"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    if restarts:
        columns.append(
            {"name": "Restarts", "type": "integer", "jsonPath": ".status.backoffCount", "priority": 1}
        )
    queue = ".spec.scheduler.t9kScheduler.queue"
    columns.append({"name": "Queue", "type": "string", "jsonPath": queue, "priority": 1})
    scale = {
        "specReplicasPath": ".spec.elastic.expectedReplicas",
        "statusReplicasPath": ".status.aggregate.running",
    }
    return Served(
        about=about,
        status=status_schema(restarts=restarts, tensorboard=tensorboard),
        columns=tuple(columns),
        scale=scale if elastic else None,
    )
