"""How a PyTorchJob ends: success, failure, deadline; the clean-up after it; and the end of the job object.

Source: kubeflow-pytorchjob.md, sections 5 and 6.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal, NamedTuple

from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    CleanedUp,
    Event,
    JobExpired,
    ReplicaDismissed,
    TimerCleared,
    TimerSet,
)
from statemachine.ids import ReplicaName, split_replica
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob import tally, words
from statemachine.kinds.pytorchjob.conditions import Level, hold
from statemachine.kinds.pytorchjob.replica_types import KEYS
from statemachine.observations import Observation, PodObserved, PodPhase, TimerFired
from statemachine.owned import Child
from statemachine.phases import ACTIVE, FINAL, Phase, Trigger, allows
from statemachine.rules import causes
from statemachine.rules.asking import answers
from statemachine.rules.entering import entered
from statemachine.rules.timers import DEADLINE, is_due, later
from statemachine.spec import CleanUpPolicy, RestartPolicy
from statemachine.state import JobState, ReplicaPhase, ReplicaState

EXPIRY: Final = "expiry"
"""The timer of `ttlSecondsAfterFinished`."""

PAST_LIMIT: Final = "backoffLimit"
"""The rule in the cause of a failure for too many restarts: then all pods are deleted."""

_LIVING: Final = frozenset({ReplicaPhase.CREATING, ReplicaPhase.PENDING, ReplicaPhase.RUNNING})


class _Failure(NamedTuple):
    message: str
    level: Level
    rule: str = "T9"


@answers(phases=ACTIVE)
def outcome(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The Master decides, without one all Workers; a pod that is not made again fails the job."""
    if state.deleted or not allows(state.phase, Trigger.SUCCESS_MET):
        return
    if _is_success(state):
        yield entered(state, Trigger.SUCCESS_MET, "T8", observation)
        message = words.succeeded(state, master=tally.has_master(state))
        yield from hold(state, observation, words.SUCCEEDED, message, level="Normal")
    elif failure := _failure(state):
        yield from _failed(kind, state, observation, failure)


def past_limit(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """A container was started again in its pod once more than the job may have restarts."""
    if not state.deleted and allows(state.phase, Trigger.FAILURE_MET):
        yield from _failed(kind, state, observation, _past_limit(state))


def _failed(kind: Kind, state: JobState, observation: Observation, failure: _Failure) -> Iterator[Event]:
    yield entered(state, Trigger.FAILURE_MET, "T9", observation, _cause(kind, state, observation, failure))
    yield from hold(state, observation, words.FAILED, failure.message, level=failure.level)


def _cause(kind: Kind, state: JobState, observation: Observation, failure: _Failure) -> Cause:
    """Of the pod that has failed; restarts in place are recognised by their number alone."""
    if isinstance(observation, PodObserved) and (
        observation.phase is PodPhase.FAILED or observation.deleting
    ):
        return causes.of_failure(kind, state, observation, failure.rule)
    return Cause(kind=CauseClass.APPLICATION_EXIT, rule=failure.rule, message=failure.message)


def _is_success(state: JobState) -> bool:
    if tally.has_master(state):
        return state.replicas[state.running_plan.primary].has_succeeded
    done = [replica.has_succeeded for replica in state.members]
    return all(done) or (tally.is_elastic(state) and any(done))


def _failure(state: JobState) -> _Failure | None:
    plan = state.running_plan
    for replica in state.members:
        type_ = split_replica(replica.name)[0]
        policy = plan.type_of(replica.name).restart_policy
        if replica.exhausted:
            break
        if policy is RestartPolicy.NEVER and (replica.lost_for_good or tally.is_disappearing(replica)):
            number = tally.count(state)[type_].get(tally.FAILED, 0)
            return _Failure(words.failed(state, KEYS[type_], number), "Normal")
        if replica.lost_for_good:
            return _Failure(words.failed_by_code(state, KEYS[type_]), "Warning")
    else:
        if not tally.is_too_much(state, tally.in_place(state)):
            return None
    return _past_limit(state)


def _past_limit(state: JobState) -> _Failure:
    return _Failure(words.past_limit(state), "Normal", PAST_LIMIT)


@answers(TimerFired, phases=ACTIVE)
def deadline(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The job was active for too long."""
    if is_due(state, observation, DEADLINE) and allows(state.phase, Trigger.DEADLINE_PASSED):
        message = words.past_deadline(state)
        cause = Cause(kind=CauseClass.DEADLINE, rule="T10", message=message)
        yield entered(state, Trigger.DEADLINE_PASSED, "T10", observation, cause)
        yield from hold(state, observation, words.FAILED, message, level="Normal")


@answers(phases=FINAL)
def clean_up(_kind: Kind, state: JobState, _: Observation) -> Iterator[Event]:
    """The clean-up policy, once; after too many restarts, or too long a time, every pod goes."""
    if not state.is_final or state.cleaned or state.plan is None:
        return
    late = state.failure is not None and state.failure.kind is CauseClass.DEADLINE
    all_go = late or (state.failure is not None and state.failure.rule == PAST_LIMIT)
    policy = CleanUpPolicy.ALL if all_go else state.plan.clean_up
    why: Literal["deadline", "clean-up"] = "deadline" if late else "clean-up"
    count = 0
    for replica in state.replicas.values():
        if not replica.has_pod or replica.leaving:
            continue
        if _is_cleaned(replica, policy):
            count += 1
            cause = causes.of_deletion(replica, "T10" if late else "R9")
            spared = policy is CleanUpPolicy.UNFINISHED
            yield ReplicaDismissed(
                replica=replica.name, why=why, unless_ended=spared, counted=True, cause=cause
            )
        elif not replica.uid:  # it was asked for, and nobody needs it any more
            cause = causes.of_deletion(replica, "R9")
            yield ReplicaDismissed(replica=replica.name, why="job ended", cause=cause)
    kept = tally.final_count(state, succeeded=state.phase is Phase.SUCCEEDED)
    numbers = {} if state.tally else kept
    yield CleanedUp(policy=policy, pods=count, tally=numbers, in_place=tally.in_place(state))


def _is_cleaned(replica: ReplicaState, policy: CleanUpPolicy) -> bool:
    if policy is CleanUpPolicy.UNFINISHED:
        return replica.phase in _LIVING
    return policy is CleanUpPolicy.ALL


def expiry(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The job object goes when it has been finished for `ttlSecondsAfterFinished`; not while it is suspended."""
    wished = _expires_at(state)
    if wished is None:
        if EXPIRY in state.timers:
            yield TimerCleared(timer=EXPIRY)
    elif is_due(state, observation, EXPIRY) and observation.at >= wished:
        yield TimerCleared(timer=EXPIRY)
        yield JobExpired(at=observation.at, after_seconds=state.running_plan.ttl_seconds or 0)
        # the operator's own words, odd as they are: it has no reason of its own for this
        yield Announced(reason="SuccessfulDeletePod", message=f"Deleted job: {state.name}")
    elif state.timers.get(EXPIRY) != wished:
        yield TimerSet(timer=EXPIRY, due_at=wished)


def _expires_at(state: JobState) -> datetime | None:
    plan = state.plan
    if plan is None or plan.ttl_seconds is None or plan.paused or state.deleted or state.expired:
        return None
    if not state.is_final or state.completed_at is None:
        return None
    return later(state.completed_at, plan.ttl_seconds)


def keeps(job: JobState, child: Child) -> bool:
    """What should exist beside the pods. Source: sections 6 and 7.

    Nothing while the job is suspended. After its end: no PodGroup, and the Services of pods that stay.
    """
    if job.phase.is_active:
        return True
    if job.phase is Phase.PAUSED or child.kind == "PodGroup":
        return False
    if child.kind != "Service":
        return True
    replica = job.replicas.get(_of_service(job, child))
    return replica is not None and replica.has_pod and not replica.leaving


def _of_service(job: JobState, child: Child) -> ReplicaName:
    """A Service is called as the pod of its replica."""
    return ReplicaName(child.name.removeprefix(f"{job.name}-"))
