"""Making the children: all accepted, or one refused (spec T4–T6), and which pods are asked for."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    ChildChanged,
    ChildRefused,
    ChildrenAccepted,
    ConditionsChanged,
    Event,
    ReplicaDelayed,
    ReplicaRequested,
    TimerCleared,
    TimerSet,
)
from statemachine.kind import Kind
from statemachine.observations import (
    CANNOT_START,
    Observation,
    PodObserved,
    TimerFired,
    WriteRefused,
)
from statemachine.phases import ACTIVE, STARTING, Trigger, allows
from statemachine.rules import causes, words
from statemachine.rules.asking import answers
from statemachine.rules.backoff import BACKOFF, pods_before, wait
from statemachine.rules.driver import is_held_back
from statemachine.rules.entering import entered
from statemachine.rules.timers import RETRY, is_due
from statemachine.state import JobState

NAME_TAKEN_RETRY: Final = timedelta(seconds=10)
"""How long to wait for somebody else's object to go away. Source: spec R3."""

NAME_CONFLICT: Final = "NameConflict"
"""Reason of a condition: somebody else's object has the name of a child. Source: spec R3."""

FAILED_DELETE: Final = "FailedDelete"
"""Reason of a condition, and of an Event: the cluster refuses to delete a child. Source: spec R16."""

LONGEST_RETRY: Final = timedelta(seconds=60)

SAID_TIMES: Final = 7
"""Refusals in a row after which the same one is not said any more: the wait has reached `LONGEST_RETRY`."""


def retry_delay(refusals: int) -> timedelta:
    """How long a refused child waits before it is tried again.

    One second after the first of `refusals` in a row (≥ 1), doubling up to sixty; no jitter, so that replay
    sets the same timer. Source: spec R5, T5.
    """
    return min(LONGEST_RETRY, timedelta(seconds=2 ** min(refusals - 1, 6)))


@answers(TimerFired, WriteRefused)
def refusals(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """A refused write: tried again later, or, while starting and refused for good, the end of the job."""
    if is_due(state, observation, RETRY):
        yield TimerCleared(timer=RETRY)
    if not isinstance(observation, WriteRefused) or state.plan is None or state.deleted:
        return
    if not kind.needs(observation.kind):
        yield from _unneeded_refused(state, observation)
    elif observation.verb == "delete":
        if is_news(state, observation):
            yield refused(observation, state.refusals)
            yield from deletion_refused(observation)
            yield Announced(reason=FAILED_DELETE, message=refusal_text(observation), level="Warning")
    elif state.phase.is_active and is_still_wanted(state, observation):
        yield from _create_refused(state, observation)


def is_news(state: JobState, observation: WriteRefused) -> bool:
    """Such writes were not refused before, or for another reason: they are tried again and again, and said once."""
    return _refused_as(observation) not in state.refused


def is_old_news(state: JobState, observation: WriteRefused) -> bool:
    """Refused so often that a timer has come to its longest wait: it is tried on, and nothing is appended any more.

    What the cluster refuses for days would fill the log otherwise. Once in each wait another reason than the last is
    said, as the condition would name one that holds no more.
    """
    if state.refusals < SAID_TIMES:
        return False
    creations = [said for said in state.refused if said.startswith(observation.verb)]
    return RETRY in state.timers or creations[-1:] == [_refused_as(observation)]


def _refused_as(observation: WriteRefused) -> str:
    return f"{observation.verb} {observation.kind} {observation.status}"


def deletion_refused(observation: WriteRefused) -> Iterator[Event]:
    """A pod that should go lives on: the condition says so, at the head of the list, where no phase is read."""
    if observation.kind == "Pod":
        said = words.true(words.CHILD_REFUSED, FAILED_DELETE, refusal_text(observation))
        yield ConditionsChanged(at=observation.at, conditions=(said,), first=True)


def cannot_delete(state: JobState) -> bool:
    """The cluster refuses to delete pods of the job."""
    return any(write.startswith("delete Pod") for write in state.refused)


def deletions(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The cluster has accepted the deletion of a pod that it had refused."""
    shown = state.condition(words.CHILD_REFUSED)
    if shown is None or shown.status != "True" or shown.reason != FAILED_DELETE or cannot_delete(state):
        return
    said = words.false(words.CHILD_REFUSED, "Accepted", "The cluster deletes the pods that are to go.")
    yield ConditionsChanged(at=observation.at, conditions=(said,), first=True)


def is_still_wanted(state: JobState, observation: WriteRefused) -> bool:
    """A refusal of an attempt that exists by now, or is no longer asked for, is old news."""
    if not observation.replica:
        return True
    replica = state.replicas.get(observation.replica)
    return replica is not None and replica.attempt == observation.attempt and replica.awaits_pod


def _create_refused(state: JobState, observation: WriteRefused) -> Iterator[Event]:
    if is_old_news(state, observation):
        return
    text = refusal_text(observation)
    count = state.refusals + 1
    yield refused(observation, count)
    yield Announced(reason="FailedCreate", message=text, level="Warning")
    # a job that runs tries again (policies up to 4)
    if not observation.retryable and state.phase in STARTING:
        yield entered(state, Trigger.CHILD_REFUSED_FOR_GOOD, "T6", observation, cause_of(observation, "T6"))
        yield ConditionsChanged(at=observation.at, conditions=words.when_invalid(text))
        yield Announced(reason="Failed", message=text, level="Warning")
        return
    if allows(state.phase, Trigger.CHILD_REFUSED) and (
        state.accepted < state.starts or observation.name_taken
    ):
        reason = NAME_CONFLICT if observation.name_taken else "InitializationFailed"
        yield ConditionsChanged(at=observation.at, conditions=(words.false(words.INITIALIZED, reason, text),))
    delay = NAME_TAKEN_RETRY if observation.name_taken else retry_delay(count)
    yield TimerSet(timer=RETRY, due_at=observation.at + delay)


@answers(PodObserved, phases=ACTIVE)
def start_refusals(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """A pod that the machine will never start ends the job; no restart would help, and none is charged (T6)."""
    refusal = start_refused(kind, state, observation)
    if refusal is not None:
        refused_by, text = refusal
        starts = state.phase in STARTING
        yield entered(state, Trigger.CHILD_REFUSED_FOR_GOOD, "T6", observation, refused_by)
        conditions = words.when_invalid(text) if starts else words.when_failed("InvalidSpec", text)
        yield ConditionsChanged(at=observation.at, conditions=conditions)
        yield Announced(reason="Failed", message=text, level="Warning")


def start_refused(kind: Kind, state: JobState, observation: Observation) -> tuple[Cause, str] | None:
    """Why the pod that counts will never start, and the sentence about it; None if that is not what was seen."""
    if not isinstance(observation, PodObserved) or observation.reason != CANNOT_START or state.deleted:
        return None
    replica = state.replicas.get(observation.replica)
    if (
        replica is None
        or replica.uid != observation.uid
        or replica.leaving
        or not replica.ended
        or replica.judged
    ):
        return None
    if not allows(state.phase, Trigger.CHILD_REFUSED_FOR_GOOD):
        return None
    return causes.of_failure(kind, state, observation, "T6"), words.unstartable(
        observation.pod, observation.message
    )


def refusal_text(observation: WriteRefused) -> str:
    """What the cluster said, or whose name is in the way."""
    if observation.name_taken:
        return f'{observation.kind} "{observation.name}" already exists and is not controlled by this job'
    return observation.message


def cause_of(observation: WriteRefused, rule: str) -> Cause:
    """What a refusal says of why."""
    return Cause(
        kind=CauseClass.REFUSED_BY_API,
        rule=rule,
        reason=str(observation.status),
        message=refusal_text(observation),
    )


def refused(observation: WriteRefused, count: int) -> ChildRefused:
    """The fact, `count` being the number of refusals in a row."""
    return ChildRefused(
        kind=observation.kind,
        name=observation.name,
        verb=observation.verb,
        refusals=count,
        retryable=observation.retryable,
        cause=cause_of(observation, "T5" if observation.retryable else "T6"),
    )


@answers(phases=ACTIVE)
def acceptance(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Pods are made last, so when each replica's pod has been seen every child was accepted (T4)."""
    if not is_accepted(state):
        if _is_out_of_the_way(state):
            yield ConditionsChanged(at=observation.at, conditions=(words.INITIALIZED_TRUE,))
        return
    yield from accepted(state)
    unhurt = not any(replica.hurt for replica in state.members)
    conditions = (words.INITIALIZED_TRUE, words.NO_REPLICA_FAILURE)[: 1 + unhurt]
    yield ConditionsChanged(at=observation.at, conditions=conditions)
    yield Announced(reason="Start", message=words.INITIALIZED_MESSAGE)


def _is_out_of_the_way(state: JobState) -> bool:
    """A name was taken when a pod was to be made again, and is not any more."""
    said = state.condition(words.INITIALIZED)
    if said is None or said.reason != NAME_CONFLICT or state.accepted < state.starts:
        return False
    return is_whole(state)


def is_whole(state: JobState) -> bool:
    """Every replica of the scale that should have a pod has one that was observed."""
    return state.phase.is_active and all(replica.uid or not replica.wanted for replica in state.members)


def is_accepted(state: JobState) -> bool:
    """All children have been made, which was not said yet of this start."""
    if state.accepted == state.starts or not allows(state.phase, Trigger.CHILDREN_ACCEPTED):
        return False
    return all((replica.uid and not replica.leaving) or replica.started for replica in state.members)


def accepted(state: JobState) -> Iterator[Event]:
    """The fact; nothing is to be tried again any more."""
    yield ChildrenAccepted(start=state.starts)
    if RETRY in state.timers:
        yield TimerCleared(timer=RETRY)


@answers(phases=ACTIVE)
def requests(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """A pod is asked for, for every replica that should have one and has none (T1, T11, T15, T18, R12).

    A driver's, only when its workers are ready; one that follows others in a row, only after a while (R8).
    """
    if not state.phase.is_active or state.deleted or state.terminating or _is_emptying(state):
        return
    waiting: list[datetime] = []
    for replica in state.replicas.values():
        if replica.has_pod or not replica.wanted or is_held_back(state, replica):
            continue
        before = pods_before(state, replica, observation.at) if replica.held_until is None else replica.row
        until = replica.held_until or observation.at + wait(state, before)
        if until <= observation.at:
            yield ReplicaRequested(replica=replica.name, attempt=replica.attempt + 1, row=before)
            continue
        waiting.append(until)
        if replica.held_until is None:
            yield ReplicaDelayed(replica=replica.name, until=until, row=before)
            seconds = f"{(until - observation.at).total_seconds():g}"
            pod = kind.pod_name(state, replica.name)
            yield Announced(reason="BackOff", message=f"replica {pod} is started again in {seconds}s")
    if waiting and state.timers.get(BACKOFF) != min(waiting):
        yield TimerSet(timer=BACKOFF, due_at=min(waiting))


def _is_emptying(state: JobState) -> bool:
    """Pods of another scale may still be there: new ones would find them in place of those to come (R12).

    Those that leave for a pause may be: the scale can change until they are gone.
    """
    return state.running_plan.anew_on_scale and any(
        replica.has_pod and replica.leaving in ("scale", "pause") for replica in state.replicas.values()
    )


def _unneeded_refused(state: JobState, observation: WriteRefused) -> Iterator[Event]:
    """The cluster refuses a child that the job can do without: nothing waits for it."""
    known = state.child(observation.kind, observation.name)
    if known and known.uid and not known.outdated:
        return  # a late report: it was made after all
    if known is None or known.error != observation.message:
        uid = known.uid if known else ""
        yield ChildChanged(kind=observation.kind, name=observation.name, uid=uid, error=observation.message)
