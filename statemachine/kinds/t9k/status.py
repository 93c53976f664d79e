"""State → `.status` of a T9k job, field by field as spec R7 has it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.ids import split_replica
from statemachine.kind import Kind
from statemachine.kinds.common.recorded import conditions, count_at, time_at
from statemachine.kinds.t9k import tensorboard
from statemachine.observations import Container, Recorded
from statemachine.phases import Phase
from statemachine.schema.lookup import items, text
from statemachine.state import ConditionState, JobState
from statemachine.timestamps import rfc3339

TENSORBOARD: Final = {"apiVersion": tensorboard.API_VERSION, "kind": tensorboard.KIND}


def status(kind: Kind, state: JobState, *, restarts: bool) -> dict[str, Any]:
    """The whole status; `backoffCount` only where the controller restarts replicas. Source: spec R7."""
    times = {"startTime": state.started_at, "completionTime": state.completed_at}
    board = _tensorboard(state)
    return {
        "phase": state.phase.value,
        **{name: rfc3339(at) for name, at in times.items() if at is not None},
        "observedGeneration": state.generation,
        **({"backoffCount": state.spent} if restarts else {}),
        "aggregate": state.aggregate,
        "tasks": list(tasks(kind, state)),
        "conditions": [shown_condition(condition) for condition in state.conditions],
        **({"tensorboard": board} if board else {}),
    }


def recorded(said: Mapping[str, Any]) -> Recorded | None:
    """What a status tells of the job's life: the inverse of `status`, but for what the pods tell themselves."""
    phase = text(said, "phase")
    if not phase:
        return None
    counts = {
        type_: number
        for _, item in items(said, "tasks")
        if (type_ := text(item, "type")) and (number := count_at(item, "restartCount")) is not None
    }
    return Recorded(
        phase="Succeeded" if phase == Phase.SUCCEEDED else "Failed" if phase == Phase.FAILED else "",
        conditions=tuple(conditions(said)),
        started_at=time_at(said, "startTime"),
        completed_at=time_at(said, "completionTime"),
        restarts=counts or None,
        spent=count_at(said, "backoffCount"),
    )


def tasks(kind: Kind, state: JobState) -> Iterator[dict[str, Any]]:
    """`status.tasks`: the replicas by type. Source: spec R7."""
    if state.plan is None:
        return
    listed: dict[str, list[dict[str, Any]]] = {type_.type: [] for type_ in state.plan.types}
    for replica in state.members:
        listed[split_replica(replica.name)[0]].append(
            {
                "name": kind.pod_name(state, replica.name),
                "uid": replica.uid,
                "phase": state.reported(replica).value,
                "containers": [
                    _container(container) for container in replica.containers if not container.init
                ],
            }
        )
    for type_, replicas in listed.items():
        yield {"type": type_, "restartCount": state.restarts.get(type_, 0), "replicas": replicas}


def _container(container: Container) -> dict[str, Any]:
    code = {} if container.exit_code is None else {"exitCode": container.exit_code}
    return {"name": container.name, "state": container.state.value, **code}


def shown_condition(condition: ConditionState) -> dict[str, str]:
    """One of `status.conditions`. Source: spec R6."""
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": rfc3339(condition.changed_at),
    }


def _tensorboard(state: JobState) -> dict[str, Any] | None:
    """`status.tensorboard`, row by row of the table in spec R14."""
    planned = tensorboard.of(state)
    if planned is None:
        return None
    name, known = planned.name, state.child(planned.kind, planned.name)
    uid = known.uid if known else ""
    ready, type_ = False, "Normal"
    if known and known.error:
        reason, action, note, type_ = "DependentError", "Create", known.error, "Warning"
    elif known is None or not uid:
        reason, action, note = "DependentNotFound", "Create", f"TensorBoard [{name}] is being created"
    elif known.outdated:
        reason, action, note = "DependentOutdated", "Update", f"TensorBoard [{name}] is being updated"
    elif tensorboard.RUNNING in known.facts:
        ready = True
        reason, action, note = "DependentReady", "NOP", f"TensorBoard [{name}] is ready"
    else:
        reason, action, note = "DependentNotReady", "NOP", f"TensorBoard [{name}] is not ready"
    return {
        "dependent": {**TENSORBOARD, "name": name, "namespace": state.namespace, "uid": uid},
        "ready": ready,
        "reason": reason,
        "action": action,
        "type": type_,
        "note": note,
    }
