"""Starting, running, losing sight and finding again (spec T7, T13, T16, T17)."""

from collections.abc import Iterator

from statemachine.events import Announced, Condition, ConditionsChanged, Event
from statemachine.kind import Kind
from statemachine.observations import Observation
from statemachine.phases import ACTIVE, STARTING, Phase, Trigger, allows
from statemachine.rules import words
from statemachine.rules.asking import answers
from statemachine.rules.entering import entered
from statemachine.state import JobState, ReplicaPhase, ReplicaState


def is_up(state: JobState) -> bool:
    """Replicas up, as T7 has it: everybody has been Running or has ended since this start.

    Elastic: the primary and at least `min_running` replicas are Running. With a driver, it alone counts.
    """
    plan = state.running_plan
    if plan.driver:
        return state.replicas[plan.driver].started
    if plan.min_running is None:
        return all(replica.started for replica in state.members)
    up = [
        replica.name
        for replica in state.members
        if replica.phase is ReplicaPhase.RUNNING and not replica.leaving
    ]
    return plan.primary in up and len(up) >= plan.min_running


@answers(phases=ACTIVE)
def lost_and_found(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The status of the primary, or of all replicas, is lost (T16), or known again (T17)."""
    if not state.phase.is_active:
        return
    lost = _lost(state)
    if lost and allows(state.phase, Trigger.STATUS_LOST):
        yield entered(state, Trigger.STATUS_LOST, "T16", observation)
        message = words.unknown_message(kind.pod_name(state, lost.name))
        unknown = Condition(type=words.RUNNING, status="Unknown", reason="StatusUnknown", message=message)
        yield ConditionsChanged(at=observation.at, conditions=(unknown,))
    elif not lost and state.phase is Phase.UNKNOWN:
        known = entered(state, _known_trigger(state), "T17", observation)
        yield known
        conditions = words.known_again(known.phase)
        removed = () if conditions else (words.RUNNING,)
        yield ConditionsChanged(at=observation.at, conditions=conditions, removed=removed)


def _lost(state: JobState) -> ReplicaState | None:
    """The replica by whose lost status the job's is lost: the primary; without one the first, if all are lost."""
    if primary := state.running_plan.primary:
        deciding = [state.replicas[primary]]
    else:
        deciding = [replica for replica in state.members if replica.lives]
    lost = bool(deciding) and all(replica.phase is ReplicaPhase.UNKNOWN for replica in deciding)
    return deciding[0] if lost else None


def _known_trigger(state: JobState) -> Trigger:
    if is_up(state):
        return Trigger.STATUS_KNOWN_UP
    return Trigger.STATUS_KNOWN_RESUMING if state.resumed else Trigger.STATUS_KNOWN_PENDING


@answers(phases=frozenset(STARTING))
def running(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """All replicas up: Running (T7)."""
    if allows(state.phase, Trigger.REPLICAS_UP) and is_up(state):
        yield entered(state, Trigger.REPLICAS_UP, "T7", observation)
        yield ConditionsChanged(at=observation.at, conditions=(words.RUNNING_TRUE,))
        yield Announced(reason="Running", message=words.NORMAL_MESSAGE)


@answers(phases=frozenset({Phase.RUNNING}))
def recovered(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Every restarted replica runs again and none has failed for good: no replica failure any more (T13)."""
    if not allows(state.phase, Trigger.REPLICAS_RECOVERED):
        return
    condition = state.condition(words.REPLICA_FAILURE)
    if condition is None or condition.status != "True":
        return
    if not any(replica.hurt for replica in state.members):
        yield ConditionsChanged(at=observation.at, conditions=(words.NO_REPLICA_FAILURE,))
