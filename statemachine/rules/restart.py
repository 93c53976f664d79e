"""A replica ended: is it restarted, and what does that cost? Policy and shared budget (R8, T11, T12)."""

from collections.abc import Iterator

from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    Condition,
    ConditionsChanged,
    Event,
    RestartDenied,
    RestartScheduled,
)
from statemachine.kind import Kind
from statemachine.observations import Observation, PodObserved
from statemachine.phases import Trigger, allows
from statemachine.rules import causes, words
from statemachine.spec import RestartPolicy
from statemachine.state import JobState, ReplicaPhase, ReplicaState


def restart(kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """Judges the replica that `seen` showed to have ended, once."""
    if not isinstance(seen, PodObserved) or not allows(state.phase, Trigger.RESTART_GRANTED):
        return
    replica = state.replicas.get(seen.replica)
    if replica is None or replica.uid != seen.uid or replica.judged or replica.leaving:
        return
    match replica.phase:
        case ReplicaPhase.FAILED:
            yield from _failed(kind, state, replica, seen)
        case ReplicaPhase.SUCCEEDED if replica.name != state.running_plan.primary:
            yield from _succeeded(state, replica, seen)
        case _:
            return


def _succeeded(state: JobState, replica: ReplicaState, seen: PodObserved) -> Iterator[Event]:
    """Exit 0 under Always costs budget too; without budget the replica simply stays Succeeded (spec R8)."""
    plan = state.running_plan
    if plan.type_of(replica.name).restart_policy is not RestartPolicy.ALWAYS:
        return
    cause = Cause(
        kind=CauseClass.APPLICATION_EXIT,
        rule="R8 Always",
        pod_uid=seen.uid,
        node=seen.node,
        exit_code=0,
    )
    if _may_restart(state):
        yield from _grant(state, replica, seen, cause, after_success=True)
    else:
        yield _denied(state, replica, cause, asked=True)


def _failed(kind: Kind, state: JobState, replica: ReplicaState, seen: PodObserved) -> Iterator[Event]:
    plan = state.running_plan
    policy = plan.type_of(replica.name).restart_policy
    cause = causes.of_failure(kind, state, seen, f"R8 {policy}")
    asked = _policy_restarts(kind, policy, cause)
    if asked and _may_restart(state):
        yield from _grant(state, replica, seen, cause, after_success=False)
    else:
        yield _denied(state, replica, cause, asked=asked)
        yield Announced(
            reason="ReplicaFailed", message=words.replica_message(seen.pod, cause), level="Warning"
        )
    yield ConditionsChanged(at=seen.at, conditions=(_failure(seen, cause),))


def _failure(seen: PodObserved, cause: Cause) -> Condition:
    return words.true(words.REPLICA_FAILURE, "ReplicaFailed", words.replica_message(seen.pod, cause))


def _policy_restarts(kind: Kind, policy: RestartPolicy, cause: Cause) -> bool:
    """The table of spec R8 for a failed pod; no exit code is an infrastructure failure."""
    match policy:
        case RestartPolicy.NEVER:
            return False
        case RestartPolicy.EXIT_CODE:
            return cause.exit_code is None or kind.is_retryable(cause.exit_code)
        case RestartPolicy.ON_FAILURE | RestartPolicy.ALWAYS:
            return True


def _left(state: JobState) -> int | None:
    """Restarts left; None without a limit. A limit lowered below what was spent leaves none."""
    limit = state.running_plan.backoff_limit
    return None if limit is None else max(0, limit - state.spent)


def _has_budget(state: JobState) -> bool:
    return _left(state) != 0


def _may_restart(state: JobState) -> bool:
    """Nothing is made any more of a job that is being deleted."""
    return _has_budget(state) and not state.terminating


def _denied(state: JobState, replica: ReplicaState, cause: Cause, *, asked: bool) -> RestartDenied:
    """Its policy did not ask for a restart, the budget is used up, or the job is being deleted."""
    return RestartDenied(
        replica=replica.name,
        exhausted=asked and not _has_budget(state),
        limit=state.running_plan.backoff_limit,
        cause=_unspent(state, cause),
    )


def _unspent(state: JobState, cause: Cause) -> Cause:
    left = _left(state)
    return cause.model_copy(update={"budget_before": left, "budget_after": left})


def _grant(
    state: JobState, replica: ReplicaState, seen: PodObserved, cause: Cause, *, after_success: bool
) -> Iterator[Event]:
    left, limit = _left(state), state.running_plan.backoff_limit
    spent = state.spent + 1
    yield RestartScheduled(
        replica=replica.name,
        spent=spent,
        limit=limit,
        after_success=after_success,
        cause=cause.model_copy(
            update={"budget_before": left, "budget_after": None if left is None else left - 1}
        ),
    )
    message = words.restart_message(seen.pod, cause, spent, limit)
    yield Announced(reason="ReplicaRestart", message=message, level="Warning")
