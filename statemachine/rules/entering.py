"""The one way into another phase: every rule that enters it asks the phase table where a trigger leads."""

from statemachine.events import Cause, PhaseEntered
from statemachine.observations import Observation
from statemachine.phases import Trigger, step
from statemachine.state import JobState


def entered(
    state: JobState, trigger: Trigger, rule: str, observation: Observation, cause: Cause | None = None
) -> PhaseEntered:
    """The phase that `trigger` leads to from the present one, by this `rule` of the table. Source: spec R5."""
    return PhaseEntered(
        phase=step(state.phase, trigger), trigger=trigger, rule=rule, at=observation.at, cause=cause
    )
