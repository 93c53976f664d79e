"""Pause and resume (spec R11, T14, T15), and replicas beyond the scale (R12): who has to leave."""

from collections.abc import Iterator

from statemachine.events import (
    Announced,
    ConditionsChanged,
    Event,
    ReplicaDismissed,
    TimerCleared,
)
from statemachine.kind import Kind
from statemachine.observations import Observation
from statemachine.phases import ACTIVE, Phase, Trigger, allows
from statemachine.rules import causes, words
from statemachine.rules.asking import answers
from statemachine.rules.entering import entered
from statemachine.rules.timers import RETRY, UNREADABLE
from statemachine.spec import Plan
from statemachine.state import JobState


@answers(phases=ACTIVE | {Phase.PAUSED})
def pause(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The wish to pause is followed whenever it may be; so is its end."""
    if state.plan is None or state.deleted:
        return
    if state.plan.paused and allows(state.phase, Trigger.PAUSE_WISHED):
        yield from _pause(state, observation)
    elif not state.plan.paused and allows(state.phase, Trigger.PAUSE_ENDED):
        yield entered(state, Trigger.PAUSE_ENDED, "T15", observation)
        yield ConditionsChanged(at=observation.at, conditions=words.WHEN_RESUMING)
        yield Announced(reason="Resuming", message=words.RESUMING_MESSAGE)


def _pause(state: JobState, observation: Observation) -> Iterator[Event]:
    yield from all_dismissed(state)
    yield entered(state, Trigger.PAUSE_WISHED, "T14", observation)
    yield ConditionsChanged(at=observation.at, conditions=(words.RUNNING_PAUSED,))
    yield Announced(reason="Paused", message=words.PAUSED_MESSAGE)


@answers(phases=frozenset({Phase.PAUSED}))
def paused(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Paused=True says that no replica runs on: every pod is gone, or its deletion was accepted (R6)."""
    if state.phase is not Phase.PAUSED or state.deleted:
        return
    condition = state.condition(words.PAUSED)
    if condition is not None and condition.status == "True":
        return
    if not any(
        replica.has_pod and not (replica.deleting or replica.ended) for replica in state.replicas.values()
    ):
        yield ConditionsChanged(at=observation.at, conditions=(words.PAUSED_TRUE,))


def all_dismissed(state: JobState) -> Iterator[Event]:
    """Every pod is to be deleted for a pause, and nothing is waited for."""
    for replica in state.replicas.values():
        if replica.has_pod:
            cause = causes.of_deletion(replica, "R11")
            yield ReplicaDismissed(replica=replica.name, why="pause", counted=True, cause=cause)
    for timer in (RETRY, UNREADABLE):
        if timer in state.timers:
            yield TimerCleared(timer=timer)


def rescaled(state: JobState, after: Plan) -> Iterator[Event]:
    """Where another scale starts all anew, the replicas that stay in it leave, to come back (spec R12).

    `state` is that of before the change. Who leaves the scale is for `scale` to say.
    """
    if not after.anew_on_scale or after.paused or not state.phase.is_active:
        return
    for name in after.replicas():
        replica = state.replicas.get(name)
        if replica is not None and replica.has_pod and replica.leaving in ("", "restart"):
            cause = causes.of_deletion(replica, "R12")
            yield ReplicaDismissed(replica=name, why="scale", cause=cause, again=True)


def scale(_kind: Kind, state: JobState, _: Observation) -> Iterator[Event]:
    """Replicas beyond the scale leave, the highest index first; the others are not touched (spec R12)."""
    plan = state.plan
    if plan is None or state.deleted or len(state.replicas) == plan.scale:
        return
    for replica in reversed(list(state.replicas.values())):
        said = replica.leaving == "scale" or (replica.leaving and not state.phase.is_active)
        if replica.has_pod and not plan.holds(replica.name) and not said:
            cause = causes.of_deletion(replica, "R12")
            yield ReplicaDismissed(replica=replica.name, why="scale", counted=True, cause=cause)
