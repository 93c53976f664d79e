"""State → `.status` of a PyTorchJob. Source: kubeflow-pytorchjob.md, section 4."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from statemachine.kind import Kind
from statemachine.kinds.common.recorded import conditions, count_at, time_at
from statemachine.kinds.pytorchjob import gang_admission, tally, words
from statemachine.kinds.pytorchjob.replica_types import KEYS
from statemachine.kinds.pytorchjob.roles import type_labels
from statemachine.observations import Recorded
from statemachine.phases import Phase
from statemachine.schema.lookup import entries, is_object, number
from statemachine.state import ConditionState, JobState
from statemachine.timestamps import rfc3339


def status(_kind: Kind, state: JobState) -> dict[str, Any]:
    """The whole status; what is zero or unknown is left out."""
    group = gang_admission.group_of(state)
    times = {
        "startTime": state.started_at,
        "completionTime": state.completed_at,
        "lastReconcileTime": group.held_at if group else None,
    }
    return {
        "conditions": [_condition(condition) for condition in state.conditions],
        **({"replicaStatuses": _replicas(state)} if state.plan and state.started_at else {}),
        **{name: rfc3339(at) for name, at in times.items() if at is not None},
    }


def recorded(said: Mapping[str, Any]) -> Recorded | None:
    """What a status tells of the job's life, also the training operator's. Restarts are not in it."""
    known = tuple(conditions(said))
    if not known:
        return None
    holds = {condition.type for condition in known if condition.status == "True"}
    phase: Literal["", "Succeeded", "Failed"] = (
        "Failed" if words.FAILED in holds else "Succeeded" if words.SUCCEEDED in holds else ""
    )
    return Recorded(
        phase=phase,
        conditions=known,
        started_at=time_at(said, "startTime"),
        completed_at=time_at(said, "completionTime"),
        tally={type_: counts for type_, key in KEYS.items() if (counts := _tallied(said, key))}
        if phase
        else {},
    )


_BY_CONDITION: Final = {
    (words.FAILED, "True"): "Failed",
    (words.SUCCEEDED, "True"): "Succeeded",
    (words.SUSPENDED, "True"): "Paused",
    (words.SUSPENDED, "False"): "Resuming",
    (words.RUNNING, "True"): "Running",
    (words.RESTARTING, "True"): "Running",
    (words.CREATED, "True"): "Pending",
}
"""What a condition says of the phase, which has no field in the status; the newest counts."""


def stated_phase(written: Mapping[str, Any]) -> str:
    """The phase that a status says by its conditions."""
    newest_first = [
        (condition.get("type"), condition.get("status")) for condition in written.get("conditions") or ()
    ][::-1]
    return next((_BY_CONDITION[pair] for pair in newest_first if pair in _BY_CONDITION), "")


def counted(job: Mapping[str, Any]) -> tuple[int, int]:
    """How many replicas are active, and how many the spec asks for."""
    counts = entries(job, "status.replicaStatuses").values()
    asked = entries(job, "spec.pytorchReplicaSpecs").values()
    return (
        sum(number(count, tally.ACTIVE) or 0 for count in counts),
        sum(
            1 if (scale := number(type_, "replicas")) is None else scale
            for type_ in asked
            if is_object(type_)
        ),
    )


def _tallied(said: Mapping[str, Any], key: str) -> dict[str, int]:
    numbers = {how: count_at(said, f"replicaStatuses.{key}.{how}") for how in tally.HOW}
    return {how: number for how, number in numbers.items() if number}


def _replicas(state: JobState) -> dict[str, dict[str, int | str]]:
    counts = _counts(state)
    return {
        KEYS[type_.type]: {**counts.get(type_.type, {}), "selector": selector(state, type_.type)}
        for type_ in state.running_plan.types
    }


def _counts(state: JobState) -> tally.Tally:
    """The present numbers; of a job that has ended those of its end, but for pods that do not run any more."""
    if state.phase is Phase.PAUSED:
        active = {type_: counts.get(tally.ACTIVE, 0) for type_, counts in tally.count(state).items()}
        return {type_: {tally.ACTIVE: number} for type_, number in active.items() if number}
    if not state.is_final or not state.tally:
        return tally.count(state)
    now = tally.count(state)
    return {
        type_: {
            how: left
            for how, number in counts.items()
            if (left := min(number, now.get(type_, {}).get(how, 0)) if how == tally.ACTIVE else number)
        }
        for type_, counts in state.tally.items()
    }


def selector(state: JobState, type_: str) -> str:
    """The label selector of a type's pods, keys in order: what `kubectl scale` and autoscalers ask for."""
    return ",".join(f"{key}={value}" for key, value in sorted(type_labels(state, type_).items()))


def _condition(condition: ConditionState) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastUpdateTime": rfc3339(condition.updated_at or condition.changed_at),
        "lastTransitionTime": rfc3339(condition.changed_at),
    }
