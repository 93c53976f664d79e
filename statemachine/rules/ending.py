"""How a job ends: success, failure, deadline (T8–T10), the clean-up after it (R9), and its closing."""

from collections.abc import Iterator
from typing import Literal

from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    CleanedUp,
    ConditionsChanged,
    Event,
    JobClosed,
    ReplicaDismissed,
)
from statemachine.ids import split_replica
from statemachine.kind import Kind
from statemachine.observations import Observation, PodGone, PodObserved, TimerFired
from statemachine.phases import ACTIVE, FINAL, Trigger, allows
from statemachine.rules import causes, words
from statemachine.rules.asking import answers
from statemachine.rules.driver import early_end
from statemachine.rules.entering import entered
from statemachine.rules.timers import DEADLINE, is_due
from statemachine.spec import CleanUpPolicy, Plan
from statemachine.state import JobState, ReplicaPhase, ReplicaState, changed


@answers(phases=ACTIVE)
def outcome(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The primary decides: its success is the job's, so is its failure without a restart (T8, T9)."""
    if not allows(state.phase, Trigger.SUCCESS_MET):
        return
    primary = state.replicas[state.running_plan.primary]
    if primary.phase is ReplicaPhase.SUCCEEDED and not primary.leaving:
        yield from succeeded(state, observation)
    elif primary.lost_for_good:
        limit = state.running_plan.backoff_limit
        reason, message = "Failed", words.EXIT_MESSAGE
        if primary.exhausted:
            reason, message = "BackoffLimitExceeded", words.limit_message(limit)
        yield from failed(state, observation, reason, message, _cause(kind, state, observation, primary))
    elif (worker := early_end(state)) is not None:
        yield from _early_end(kind, state, observation, worker)


def succeeded(state: JobState, observation: Observation) -> Iterator[Event]:
    """The job has succeeded (T8)."""
    yield entered(state, Trigger.SUCCESS_MET, "T8", observation)
    yield ConditionsChanged(at=observation.at, conditions=words.WHEN_SUCCEEDED)
    yield Announced(reason="Succeeded", message=words.DONE_MESSAGE)


def failed(
    state: JobState, observation: Observation, reason: str, message: str, cause: Cause | None
) -> Iterator[Event]:
    """The job has failed for this `reason` (T9)."""
    yield entered(state, Trigger.FAILURE_MET, "T9", observation, cause)
    yield from _failed(observation, reason, message)


def _cause(kind: Kind, state: JobState, observation: Observation, replica: ReplicaState) -> Cause | None:
    match observation:
        case PodObserved():
            return causes.of_failure(kind, state, observation, "T9")
        case PodGone():
            return causes.of_loss(changed(replica, uid=observation.uid))
        case _:
            return None


def _early_end(
    kind: Kind, state: JobState, observation: Observation, worker: ReplicaState
) -> Iterator[Event]:
    """A worker that is not there for the driver is the end of the job (T9)."""
    cause, pod = _cause(kind, state, observation, worker), kind.pod_name(state, worker.name)
    if worker.phase is ReplicaPhase.FAILED and cause is not None:
        message = words.replica_message(pod, cause)
    else:
        cause = Cause(
            kind=CauseClass.APPLICATION_EXIT,
            rule="T9",
            pod_uid=worker.uid,
            node=worker.node,
            container=kind.training_container(state, split_replica(worker.name)[0]),
            exit_code=0,
        )
        message = words.early_end_message(pod, split_replica(state.running_plan.driver)[0])
        said = words.true(words.REPLICA_FAILURE, "ReplicaFailed", message)
        yield ConditionsChanged(at=observation.at, conditions=(said,))
    yield from failed(state, observation, "Failed", message, cause)


@answers(TimerFired, phases=ACTIVE)
def deadline(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The job was active for too long (T10)."""
    if is_due(state, observation, DEADLINE) and allows(state.phase, Trigger.DEADLINE_PASSED):
        message = words.deadline_message(state.running_plan.active_deadline_seconds)
        cause = Cause(kind=CauseClass.DEADLINE, rule="T10", message=message)
        yield entered(state, Trigger.DEADLINE_PASSED, "T10", observation, cause)
        yield from _failed(observation, "DeadlineExceeded", message)


def _failed(observation: Observation, reason: str, message: str) -> Iterator[Event]:
    yield ConditionsChanged(at=observation.at, conditions=words.when_failed(reason, message))
    yield Announced(reason="Failed", message=message, level="Warning")


@answers(phases=FINAL)
def clean_up(_kind: Kind, state: JobState, _: Observation) -> Iterator[Event]:
    """The clean-up policy, once, when the job has ended; pods not made yet are not made any more (R9)."""
    if not state.is_final or state.cleaned or state.plan is None:
        return
    past_deadline = state.failure is not None and state.failure.kind is CauseClass.DEADLINE
    policy = state.plan.clean_up
    count = 0
    for replica in state.replicas.values():
        if not replica.has_pod or replica.leaving:
            continue
        if _is_cleaned(state.plan, replica, past_deadline=past_deadline):
            count += 1
            cause = causes.of_deletion(replica, "T10" if past_deadline else "R9")
            why: Literal["deadline", "clean-up"] = "deadline" if past_deadline else "clean-up"
            spared = not _goes_however_it_ends(state.plan, replica)
            yield ReplicaDismissed(replica=replica.name, why=why, unless_ended=spared, cause=cause)
        elif not replica.uid:
            cause = causes.of_deletion(replica, "R9")
            yield ReplicaDismissed(replica=replica.name, why="job ended", cause=cause)
    yield CleanedUp(policy=policy, pods=count)
    if count:
        yield Announced(reason="CleanedUp", message=f"Deleted {count} pods (policy {policy})")


def _is_cleaned(plan: Plan, replica: ReplicaState, *, past_deadline: bool) -> bool:
    if _goes_however_it_ends(plan, replica):
        return True
    unfinished = replica.phase not in (ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED)
    return unfinished and (past_deadline or plan.clean_up is CleanUpPolicy.UNFINISHED)


def _goes_however_it_ends(plan: Plan, replica: ReplicaState) -> bool:
    return plan.clean_up is CleanUpPolicy.ALL or (
        plan.clean_up is CleanUpPolicy.WORKERS and replica.name != plan.primary
    )


def closing(_kind: Kind, state: JobState, _: Observation) -> Iterator[Event]:
    """The job is gone and so are its pods: nothing more will be said."""
    if state.deleted and not state.closed and not any(replica.has_pod for replica in state.replicas.values()):
        yield JobClosed()
