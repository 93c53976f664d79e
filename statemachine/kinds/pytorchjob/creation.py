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
from statemachine.observations import Observation, PodObserved, WriteRefused
from statemachine.phases import STARTING, Trigger
from statemachine.rules import creation
from statemachine.rules import pods as shared
from statemachine.rules.entering import entered
from statemachine.rules.timers import RETRY, is_due
from statemachine.rules.words import CHILD_REFUSED, false, true
from statemachine.state import JobState, ReplicaState

QUIET: Final = "autoscaler"
"""Timer of jobs that were decided before policy 5: it ran while a refused HorizontalPodAutoscaler was not told of."""


def pods(kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """Reports of current pods become events, and events are told in the operator's words."""
    for event in shared.pods(kind, state, seen):
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
    if isinstance(seen, PodObserved) and not state.deleted:
        yield from _exited(kind, state, seen)


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


def _exited(kind: Kind, state: JobState, seen: PodObserved) -> Iterator[Event]:
    """The training container has ended, which was not known yet of this pod."""
    replica = state.replicas.get(seen.replica)
    if replica is None or not replica.has_pod or replica.ended or replica.uid not in ("", seen.uid):
        return
    now = ended_training(kind, state, seen.replica, seen.containers)
    known = ended_training(kind, state, seen.replica, replica.containers)
    if now is None or now.exit_code is None or (known is not None and known.restarts >= now.restarts):
        return
    if seen.attempt == replica.attempt:
        message = f"Pod: {state.namespace}.{seen.pod} exited with code {now.exit_code}"
        yield Announced(reason="ExitedWithCode", message=message)


def refusals(_kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """A refused write is tried again, later and later; refused for good, it ends a job that does not run yet."""
    for timer in (RETRY, QUIET):
        if is_due(state, seen, timer):
            yield TimerCleared(timer=timer)
    if not isinstance(seen, WriteRefused) or state.plan is None or state.deleted:
        return
    text = creation.refusal_text(seen)
    if seen.verb == "delete":
        if creation.is_news(state, seen):
            yield creation.refused(seen, state.refusals)
            yield from creation.deletion_refused(seen)
            yield _told("Delete", seen, f"Error deleting: {text}")
    elif seen.kind == "HorizontalPodAutoscaler":
        # nothing waits for it, and it is tried every minute; after the job's end nobody wants to know
        if state.phase.is_active and creation.is_news(state, seen):
            yield creation.refused(seen, state.refusals)
            yield _told("Create", seen, f"Error creating: {text}")
    elif creation.is_old_news(state, seen):
        return
    elif state.phase.is_active and creation.is_still_wanted(state, seen):
        yield creation.refused(seen, state.refusals + 1)
        yield _told("Create", seen, f"Error creating: {text}")
        if not seen.retryable and state.phase in STARTING:
            cause = creation.cause_of(seen, "T6")
            yield entered(state, Trigger.CHILD_REFUSED_FOR_GOOD, "T6", seen, cause)
            yield from hold(state, seen, words.FAILED, text, reason=words.INVALID, level="Warning")
            return
        reason = creation.NAME_CONFLICT if seen.name_taken else f"FailedCreate{seen.kind}"
        yield from _refusal_shown(state, seen, true(CHILD_REFUSED, reason, text))
        delay = creation.NAME_TAKEN_RETRY if seen.name_taken else creation.retry_delay(state.refusals + 1)
        yield TimerSet(timer=RETRY, due_at=seen.at + delay)


def start_refusals(kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """A pod that the machine will never start ends the job (T6)."""
    found = creation.start_refused(kind, state, seen)
    if found is not None:
        cause, text = found
        yield entered(state, Trigger.CHILD_REFUSED_FOR_GOOD, "T6", seen, cause)
        yield from hold(state, seen, words.FAILED, text, reason=words.INVALID, level="Warning")


def _refusal_shown(state: JobState, seen: Observation, wished: Condition) -> Iterator[Event]:
    """The condition stands at the head of the list: the last one is what `kubectl get` shows as the job's state."""
    known = state.condition(wished.type)
    if known is None or (known.status, known.reason, known.message) != wished.said:
        yield ConditionsChanged(at=seen.at, conditions=(wished,), first=True)


def _told(verb: str, seen: WriteRefused, message: str) -> Event:
    return Announced(reason=f"Failed{verb}{seen.kind}", message=message, level="Warning")


def acceptance(_kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
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
        yield from _refusal_shown(state, seen, false(CHILD_REFUSED, words.ACCEPTED, words.ALL_MADE))
