"""Making a PyTorchJob's objects, and what the operator tells of it: pods and Services made, deleted, refused, ended.

Nobody observes Services. They are made before the pods, so the first pod of a replica shows that its Service was
made; they go when a replica leaves, but not when it is restarted. Source: kubeflow-pytorchjob.md, section 5, Events.
"""

from collections.abc import Iterator
from typing import Final

from statemachine.events import (
    Announced,
    Condition,
    ConditionsChanged,
    Event,
    ReplicaCreated,
    ReplicaReleased,
    TimerCleared,
    TimerSet,
)
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob import words
from statemachine.kinds.pytorchjob.conditions import hold
from statemachine.kinds.pytorchjob.restarts import ended_training
from statemachine.observations import Observation, PodGone, PodObserved, TimerFired, WriteRefused
from statemachine.phases import ACTIVE, STARTING, Trigger
from statemachine.rules import creation
from statemachine.rules import pods as shared
from statemachine.rules.asking import answers
from statemachine.rules.entering import entered
from statemachine.rules.timers import RETRY, is_due
from statemachine.rules.words import CHILD_REFUSED, false, true
from statemachine.state import JobState, ReplicaState

QUIET: Final = "autoscaler"
"""Timer of jobs that were decided before policy 5: it ran while refusals of an autoscaler were not announced."""


@answers(PodObserved, PodGone)
def pods(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Reports of current pods become events, and users read of events in the operator's words."""
    for event in shared.pods(kind, state, observation):
        yield event
        if state.deleted:
            continue
        match event:
            case ReplicaCreated():
                yield from _made(kind, state, state.replicas[event.replica])
            case ReplicaReleased():
                yield from _deleted(kind, state, state.replicas[event.replica])
            case _:
                pass
    if isinstance(observation, PodObserved) and not state.deleted:
        yield from _exited(kind, state, observation)


def _made(kind: Kind, state: JobState, replica: ReplicaState) -> Iterator[Event]:
    if replica.uid:
        return  # it has been seen before, and is Pending again
    name = kind.pod_name(state, replica.name)
    if not replica.made:
        yield Announced(reason="SuccessfulCreateService", message=f"Created service: {name}")
    yield Announced(reason="SuccessfulCreatePod", message=f"Created pod: {name}")


def _deleted(kind: Kind, state: JobState, replica: ReplicaState) -> Iterator[Event]:
    """Only what was there, and was deleted by us."""
    if not replica.leaving or not replica.uid:
        return
    name = kind.pod_name(state, replica.name)
    yield Announced(reason="SuccessfulDeletePod", message=f"Deleted pod: {name}")
    if replica.leaving != "restart":
        yield Announced(reason="SuccessfulDeleteService", message=f"Deleted service: {name}")


def _exited(kind: Kind, state: JobState, observation: PodObserved) -> Iterator[Event]:
    """The training container has ended, which was not known yet of this pod."""
    replica = state.replicas.get(observation.replica)
    if replica is None or not replica.has_pod or replica.ended or replica.uid not in ("", observation.uid):
        return
    now = ended_training(kind, state, observation.replica, observation.containers)
    known = ended_training(kind, state, observation.replica, replica.containers)
    if now is None or now.exit_code is None or (known is not None and known.restarts >= now.restarts):
        return
    if observation.attempt == replica.attempt:
        message = f"Pod: {state.namespace}.{observation.pod} exited with code {now.exit_code}"
        yield Announced(reason="ExitedWithCode", message=message)


@answers(TimerFired, WriteRefused)
def refusals(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """A refused write is tried again, later and later; refused for good, it ends a job that does not run yet."""
    for timer in (RETRY, QUIET):
        if is_due(state, observation, timer):
            yield TimerCleared(timer=timer)
    if not isinstance(observation, WriteRefused) or state.plan is None or state.deleted:
        return
    text = creation.refusal_text(observation)
    if observation.verb == "delete":
        if creation.is_news(state, observation):
            yield creation.refused(observation, state.refusals)
            yield from creation.deletion_refused(observation)
            yield _announced("Delete", observation, f"Error deleting: {text}")
    elif observation.kind == "HorizontalPodAutoscaler":
        # nothing waits for it, and it is tried every minute; after the job's end nobody wants to know
        if state.phase.is_active and creation.is_news(state, observation):
            yield creation.refused(observation, state.refusals)
            yield _announced("Create", observation, f"Error creating: {text}")
    elif creation.is_old_news(state, observation):
        return
    elif state.phase.is_active and creation.is_still_wanted(state, observation):
        yield creation.refused(observation, state.refusals + 1)
        yield _announced("Create", observation, f"Error creating: {text}")
        if not observation.retryable and state.phase in STARTING:
            cause = creation.cause_of(observation, "T6")
            yield entered(state, Trigger.CHILD_REFUSED_FOR_GOOD, "T6", observation, cause)
            yield from hold(state, observation, words.FAILED, text, reason=words.INVALID, level="Warning")
            return
        reason = creation.NAME_CONFLICT if observation.name_taken else f"FailedCreate{observation.kind}"
        yield from _refusal_shown(state, observation, true(CHILD_REFUSED, reason, text))
        delay = (
            creation.NAME_TAKEN_RETRY if observation.name_taken else creation.retry_delay(state.refusals + 1)
        )
        yield TimerSet(timer=RETRY, due_at=observation.at + delay)


@answers(PodObserved, phases=ACTIVE)
def start_refusals(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """A pod that the machine will never start ends the job (T6)."""
    refusal = creation.start_refused(kind, state, observation)
    if refusal is not None:
        cause, text = refusal
        yield entered(state, Trigger.CHILD_REFUSED_FOR_GOOD, "T6", observation, cause)
        yield from hold(state, observation, words.FAILED, text, reason=words.INVALID, level="Warning")


def _refusal_shown(state: JobState, observation: Observation, wished: Condition) -> Iterator[Event]:
    """The condition stands at the head of the list: the last one is what `kubectl get` shows as the job's state."""
    known = state.condition(wished.type)
    if known is None or (known.status, known.reason, known.message) != wished.said:
        yield ConditionsChanged(at=observation.at, conditions=(wished,), first=True)


def _announced(verb: str, observation: WriteRefused, message: str) -> Event:
    return Announced(reason=f"Failed{verb}{observation.kind}", message=message, level="Warning")


@answers(phases=ACTIVE)
def acceptance(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Pods are made last, so when each replica's pod has been seen every child was accepted."""
    if creation.is_accepted(state):
        yield from creation.accepted(state)
    shown = state.condition(CHILD_REFUSED)
    if (
        shown is not None
        and shown.status == "True"
        and not creation.cannot_delete(state)
        and creation.is_whole(state)
    ):
        yield from _refusal_shown(state, observation, false(CHILD_REFUSED, words.ACCEPTED, words.ALL_MADE))
