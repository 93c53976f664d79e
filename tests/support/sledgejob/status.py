"""State → `.status` of a SledgeJob, which has no `phase` and no `aggregate`, and back."""

from collections.abc import Mapping
from typing import Any, Final

from statemachine.kind import Kind
from statemachine.kinds.common.recorded import conditions, time_at
from statemachine.observations import Recorded
from statemachine.phases import Phase
from statemachine.schema.lookup import entries, number, text
from statemachine.state import JobState, ReplicaPhase
from statemachine.timestamps import rfc3339
from tests.support.sledgejob.life import arrived
from tests.support.sledgejob.roles import TYPES

_GAITS: Final = {
    Phase.RUNNING: "trots",
    Phase.PAUSED: "rests",
    Phase.SUCCEEDED: "arrived",
    Phase.FAILED: "fell",
}


def status(_kind: Kind, state: JobState) -> dict[str, Any]:
    """The whole status."""
    pulling = sum(replica.phase is ReplicaPhase.RUNNING for replica in state.members)
    times = {"left": state.started_at, "ended": state.completed_at}
    return {
        "gait": _GAITS.get(state.phase, "waits"),
        "phaseOfRun": state.phase.value,
        "pulling": pulling,
        "arrived": arrived(state),
        **{name: rfc3339(at) for name, at in times.items() if at is not None},
        "conditions": [
            {
                "type": condition.type,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": rfc3339(condition.changed_at),
            }
            for condition in state.conditions
        ],
    }


def recorded(written: Mapping[str, Any]) -> Recorded | None:
    """What a status tells of the job's life."""
    phase = text(written, "phaseOfRun")
    if not phase:
        return None
    return Recorded(
        phase="Succeeded" if phase == Phase.SUCCEEDED else "Failed" if phase == Phase.FAILED else "",
        conditions=tuple(conditions(written)),
        started_at=time_at(written, "left"),
        completed_at=time_at(written, "ended"),
    )


def stated_phase(written: Mapping[str, Any]) -> str:
    """The phase that a status says."""
    return text(written, "phaseOfRun")


def counted(job: Mapping[str, Any]) -> tuple[int, int]:
    """How many dogs pull, and how many there are."""
    teams = (entries(job, f"spec.{part}") for part in TYPES)
    return number(job, "status.pulling") or 0, sum(number(team, "number") or 1 for team in teams if team)


SCHEMA: Final = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("gait", "phaseOfRun", "left", "ended")},
        **{name: {"type": "integer"} for name in ("pulling", "arrived")},
        "conditions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    name: {"type": "string"}
                    for name in ("type", "status", "reason", "message", "lastTransitionTime")
                },
            },
        },
    },
}
