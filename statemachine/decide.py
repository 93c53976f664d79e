"""(state, observation) → events: what an observation of the world outside means for one job. Pure."""

from typing import Final

from statemachine.events import Event
from statemachine.kinds import kind_of
from statemachine.observations import JobObserved, Observation
from statemachine.phases import Phase
from statemachine.rules.asking import in_turn
from statemachine.state import JobState

POLICY: Final = 10
"""Version of the rules, written into every entry. Raised when the same observation may be decided
differently."""


def decide(state: JobState, observation: Observation) -> tuple[Event, ...]:
    """What `observation` means for the job, in log order; empty if it changes nothing."""
    return decided(state, observation)[0]


def decided(state: JobState, observation: Observation) -> tuple[tuple[Event, ...], JobState]:
    """What `observation` means for the job, and the state that this leads to."""
    if state.closed or (state.phase is Phase.NEW and not isinstance(observation, JobObserved)):
        return (), state
    of = observation if isinstance(observation, JobObserved) else state
    kind = kind_of(of.api_version, of.kind)
    return in_turn(kind.lifecycle, kind, state, observation)
