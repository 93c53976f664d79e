"""Pause and resume (spec R11, T14, T15), and replicas beyond the scale (R12): who has to leave."""

from collections.abc import Iterator

from statemachine.events import (
    Announced,
    ConditionsChanged,
    Event,
    PhaseEntered,
    ReplicaDismissed,
    TimerCleared,
)
from statemachine.kind import Kind
from statemachine.observations import Observation
from statemachine.phases import Trigger, allows, step
from statemachine.rules import causes, words
from statemachine.rules.timers import RETRY, UNREADABLE
from statemachine.state import JobState


def pause(_kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """The wish to pause is followed whenever it may be; so is its end."""
    if state.plan is None or state.deleted:
        return
    if state.plan.paused and allows(state.phase, Trigger.PAUSE_WISHED):
        yield from _pause(state, seen)
    elif not state.plan.paused and allows(state.phase, Trigger.PAUSE_ENDED):
        phase = step(state.phase, Trigger.PAUSE_ENDED)
        yield PhaseEntered(phase=phase, trigger=Trigger.PAUSE_ENDED, rule="T15", at=seen.at)
        yield ConditionsChanged(at=seen.at, conditions=words.WHEN_RESUMING)
        yield Announced(reason="Resuming", message=words.RESUMING_MESSAGE)


def _pause(state: JobState, seen: Observation) -> Iterator[Event]:
    for replica in state.replicas.values():
        if replica.has_pod:
            cause = causes.of_deletion(replica, "R11")
            yield ReplicaDismissed(replica=replica.name, why="pause", cause=cause)
    for timer in (RETRY, UNREADABLE):
        if timer in state.timers:
            yield TimerCleared(timer=timer)
    phase = step(state.phase, Trigger.PAUSE_WISHED)
    yield PhaseEntered(phase=phase, trigger=Trigger.PAUSE_WISHED, rule="T14", at=seen.at)
    yield ConditionsChanged(at=seen.at, conditions=words.WHEN_PAUSED)
    yield Announced(reason="Paused", message=words.PAUSED_MESSAGE)


def scale(_kind: Kind, state: JobState, _: Observation) -> Iterator[Event]:
    """Replicas beyond the scale leave, the highest index first; the others are not touched (spec R12)."""
    plan = state.plan
    if plan is None or state.deleted or len(state.replicas) == plan.scale:
        return
    for replica in reversed(list(state.replicas.values())):
        said = replica.leaving == "scale" or (replica.leaving and not state.phase.is_active)
        if replica.has_pod and not plan.holds(replica.name) and not said:
            cause = causes.of_deletion(replica, "R12")
            yield ReplicaDismissed(replica=replica.name, why="scale", cause=cause)
