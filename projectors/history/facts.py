"""What lists say of a job beside its row in `history_jobs`: resources, conditions, replicas by type. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from projectors.history.labels import marks
from statemachine.budget import budget
from statemachine.ids import split_replica
from statemachine.kind import Kind
from statemachine.kinds import kind_of
from statemachine.phases import Phase
from statemachine.redact import redacted_text, secrets_of
from statemachine.schema.lookup import find
from statemachine.schema.quantities import quantity
from statemachine.state import JobState, ReplicaPhase

_CPU_AND_MEMORY: Final = ("cpu", "memory", "ephemeral-storage")

Row = Sequence[Any]


def facts(state: JobState, seen_at: datetime) -> Row:
    """The row of a job in `history_listing`."""
    is_error, restarts = has_error(state), budget(state)
    asked, allowed = resources(state)
    placed = _kind(state).placing(state.spec)
    extended = sorted({name for name in (*asked, *allowed) if name not in _CPU_AND_MEMORY})
    shown = {
        "started_at": _iso(state.started_at),
        "completed_at": _iso(state.completed_at),
        "deleting": state.deleted,
        "restarts": restarts.used,
        "backoff_limit": restarts.limit,
        "cpu": [_float(asked.get("cpu")), _float(allowed.get("cpu"))],
        "memory": [_float(asked.get("memory")), _float(allowed.get("memory"))],
        "extended": {name: _float(allowed.get(name, asked.get(name))) for name in extended},
        "priority": placed.priority,
        "paused": bool(state.plan and state.plan.paused),
        "elastic": _elastic(state),
        "error": redacted_text(error(state), secrets_of(state.spec)) if is_error else "",
        "labels": dict(state.labels),
        "counts": counts(state),
        "conditions": [
            [
                condition.type,
                condition.status,
                condition.reason,
                redacted_text(condition.message),
                _iso(condition.changed_at),
            ]
            for condition in state.conditions
        ],
    }
    return (
        *(state.uid, state.namespace, state.api_version, state.kind, state.name, state.phase.value, is_error),
        *(
            state.created_at or seen_at,
            placed.scheduler,
            placed.queue,
            "".join(f" {name} " for name in extended),
        ),
        # PostgreSQL cannot hold the character zero, not even written as JSON writes it
        json.dumps(shown, ensure_ascii=False).replace("\\u0000", "\N{REPLACEMENT CHARACTER}"),
        marks(state.labels),
    )


def resources(state: JobState) -> tuple[Mapping[str, Decimal], Mapping[str, Decimal]]:
    """Requests and limits of all containers of all main replicas, by resource.

    A driver, which only starts the others, is none of them. Of extended resources Kubernetes takes the limit for a
    request that is left out. Source: spec console.md, section 2.
    """
    asked: dict[str, Decimal] = {}
    allowed: dict[str, Decimal] = {}
    for scale, container in _containers(state):
        limits = _section(container, "limits")
        extended = {name: limits[name] for name in limits.keys() - {*_CPU_AND_MEMORY}}
        for total, section in ((asked, extended | _section(container, "requests")), (allowed, limits)):
            for name, value in section.items():
                total[name] = total.get(name, Decimal(0)) + scale * (quantity(value) or 0)
    return asked, allowed


def _section(container: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = find(container, f"resources.{name}")
    return dict(section) if isinstance(section, Mapping) else {}


def _containers(state: JobState) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if state.plan is None:
        return
    scales = {type_.type: type_.scale for type_ in state.plan.training_types}
    for slot in _kind(state).layout.slots(state.spec):
        for _, container in slot.containers:
            if slot.type in scales:
                yield scales[slot.type], container


def counts(state: JobState) -> Mapping[str, Mapping[str, int]]:
    """How many replicas of each type are in which phase."""
    numbers: dict[str, dict[str, int]] = {type_.type: {} for type_ in state.plan.types} if state.plan else {}
    for replica in state.members:
        of_type = numbers.setdefault(split_replica(replica.name)[0], {})
        of_type[replica.phase.value] = of_type.get(replica.phase.value, 0) + 1
    return numbers


def lost(counted: Mapping[str, Mapping[str, int]]) -> int:
    """How many of the replicas in `counts` have failed, or cannot be observed."""
    dead = (ReplicaPhase.FAILED.value, ReplicaPhase.UNKNOWN.value)
    return sum(phases.get(name, 0) for phases in counted.values() for name in dead)


def has_error(state: JobState) -> bool:
    """The job has the badge "Error" beside its phase. Source: spec console.md, section 2."""
    return state.phase is Phase.FAILED or any(_holds(state, trouble) for trouble in _kind(state).troubles)


def error(state: JobState) -> str:
    """The text behind the badge "Error": the replica's failure, else the job's."""
    for type_ in (*_kind(state).troubles, "Failed"):
        condition = state.condition(type_)
        if condition is not None and condition.status == "True":
            return condition.message
    return next(
        (condition.message for condition in state.conditions if condition.reason == "InvalidSpec"), ""
    )


def _holds(state: JobState, type_: str) -> bool:
    condition = state.condition(type_)
    return condition is not None and condition.status == "True"


def _elastic(state: JobState) -> Sequence[int | None] | None:
    """The minimum, maximum and desired number of replicas of an elastic job."""
    kind = _kind(state)
    scaling = kind.scaling(state.spec)
    return (
        None
        if scaling is None
        else [scaling.low, scaling.most, kind.scale_of(state.plan) if state.plan else None]
    )


def _kind(state: JobState) -> Kind:
    return kind_of(state.api_version, state.kind)


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")
