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
            [each.type, each.status, each.reason, redacted_text(each.message), _iso(each.changed_at)]
            for each in state.conditions
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
    held = find(container, f"resources.{name}")
    return dict(held) if isinstance(held, Mapping) else {}


def _containers(state: JobState) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if state.plan is None:
        return
    scales = {each.type: each.scale for each in state.plan.training_types}
    for slot in _kind(state).layout.slots(state.spec):
        for _, container in slot.containers:
            if slot.type in scales:
                yield scales[slot.type], container


def counts(state: JobState) -> Mapping[str, Mapping[str, int]]:
    """How many replicas of each type are in which phase."""
    found: dict[str, dict[str, int]] = {each.type: {} for each in state.plan.types} if state.plan else {}
    for replica in state.members:
        of_type = found.setdefault(split_replica(replica.name)[0], {})
        of_type[replica.phase.value] = of_type.get(replica.phase.value, 0) + 1
    return found


def lost(counted: Mapping[str, Mapping[str, int]]) -> int:
    """How many replicas are dead, or out of sight, of those that `counts` has."""
    dead = (ReplicaPhase.FAILED.value, ReplicaPhase.UNKNOWN.value)
    return sum(phases.get(name, 0) for phases in counted.values() for name in dead)


def has_error(state: JobState) -> bool:
    """The job has the badge "Error" beside its phase. Source: spec console.md, section 2."""
    return state.phase is Phase.FAILED or any(_holds(state, each) for each in _kind(state).troubles)


def error(state: JobState) -> str:
    """What the badge "Error" says when it is asked: the replica's failure, else the job's."""
    for type_ in (*_kind(state).troubles, "Failed"):
        condition = state.condition(type_)
        if condition is not None and condition.status == "True":
            return condition.message
    return next((each.message for each in state.conditions if each.reason == "InvalidSpec"), "")


def _holds(state: JobState, type_: str) -> bool:
    condition = state.condition(type_)
    return condition is not None and condition.status == "True"


def _elastic(state: JobState) -> Sequence[int | None] | None:
    """The fewest, the most and the wished for replicas of an elastic job."""
    kind = _kind(state)
    found = kind.scaling(state.spec)
    return (
        None if found is None else [found.low, found.most, kind.scale_of(state.plan) if state.plan else None]
    )


def _kind(state: JobState) -> Kind:
    return kind_of(state.api_version, state.kind)


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")
