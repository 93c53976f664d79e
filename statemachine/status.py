"""State → `.status` of the job object. Pure; what it looks like is the kind's to say."""

from typing import Any

from statemachine.kinds import kind_of
from statemachine.phases import Phase
from statemachine.state import JobState


def status(state: JobState) -> dict[str, Any]:
    """The whole status of a job in `state`; empty for one that was never admitted."""
    return {} if state.phase is Phase.NEW else kind_of(state.api_version, state.kind).status(state)
