"""A replica ended: is it restarted, and what does that cost? Policy and budget (R8, T11, T12)."""

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
from statemachine.kind import Budget, Kind
from statemachine.observations import Observation, PodObserved
from statemachine.phases import ACTIVE, Trigger, allows
from statemachine.rules import causes, words
from statemachine.rules.asking import answers
from statemachine.spec import RestartPolicy
from statemachine.state import JobState, ReplicaPhase, ReplicaState


@answers(PodObserved, phases=ACTIVE)
def restart(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Judges the replica that `observation` showed to have ended, once."""
    if not isinstance(observation, PodObserved) or not allows(state.phase, Trigger.RESTART_GRANTED):
        return
    replica = state.replicas.get(observation.replica)
    if replica is None or replica.uid != observation.uid or replica.judged or replica.leaving:
        return
    match replica.phase:
        case ReplicaPhase.FAILED:
            yield from _failed(kind, state, replica, observation)
        case ReplicaPhase.SUCCEEDED if replica.name != state.running_plan.primary:
            yield from _succeeded(kind, state, replica, observation)
        case _:
            return


def _succeeded(
    kind: Kind, state: JobState, replica: ReplicaState, observation: PodObserved
) -> Iterator[Event]:
    """Exit 0 under Always costs budget too; without budget the replica simply stays Succeeded (spec R8)."""
    plan = state.running_plan
    if plan.type_of(replica.name).restart_policy is not RestartPolicy.ALWAYS:
        return
    cause = Cause(
        kind=CauseClass.APPLICATION_EXIT,
        rule="R8 Always",
        pod_uid=observation.uid,
        node=observation.node,
        exit_code=0,
    )
    budget = kind.budget(state, replica.name)
    if budget.is_spent or state.terminating:
        yield denied(replica, cause, budget, exhausted=budget.is_spent)
    else:
        yield granted(state, replica, cause, budget, after_success=True)
        yield _announced(observation, cause, budget)


def _failed(kind: Kind, state: JobState, replica: ReplicaState, observation: PodObserved) -> Iterator[Event]:
    policy, budget = state.running_plan.type_of(replica.name).restart_policy, kind.budget(state, replica.name)
    cause = causes.of_failure(kind, state, observation, f"R8 {policy}")
    asked = _policy_restarts(kind, policy, cause)
    if asked and not budget.is_spent and not state.terminating:
        yield granted(state, replica, cause, budget)
        yield _announced(observation, cause, budget)
    else:
        yield denied(replica, cause, budget, exhausted=asked and budget.is_spent)
        yield Announced(
            reason="ReplicaFailed", message=words.replica_message(observation.pod, cause), level="Warning"
        )
    yield ConditionsChanged(at=observation.at, conditions=(_failure(observation, cause),))


def _failure(observation: PodObserved, cause: Cause) -> Condition:
    return words.true(words.REPLICA_FAILURE, "ReplicaFailed", words.replica_message(observation.pod, cause))


def _policy_restarts(kind: Kind, policy: RestartPolicy, cause: Cause) -> bool:
    """The table of spec R8 for a failed pod; no exit code is an infrastructure failure."""
    match policy:
        case RestartPolicy.NEVER:
            return False
        case RestartPolicy.EXIT_CODE:
            return cause.exit_code is None or kind.is_retryable(cause.exit_code)
        case RestartPolicy.ON_FAILURE | RestartPolicy.ALWAYS:
            return True


def denied(replica: ReplicaState, cause: Cause, budget: Budget, *, exhausted: bool = False) -> RestartDenied:
    """The replica stays ended: by its policy, because its job is being deleted, or as no budget is left."""
    left = budget.left
    unspent = cause.changed(budget_before=left, budget_after=left)
    return RestartDenied(replica=replica.name, exhausted=exhausted, limit=budget.limit, cause=unspent)


def granted(
    state: JobState, replica: ReplicaState, cause: Cause, budget: Budget, *, after_success: bool = False
) -> RestartScheduled:
    """The restart, paid for out of `budget`."""
    left = budget.left
    spent = cause.changed(budget_before=left, budget_after=None if left is None else left - 1)
    return RestartScheduled(
        replica=replica.name,
        spent=state.spent + 1,
        limit=budget.limit,
        after_success=after_success,
        cause=spent,
    )


def _announced(observation: PodObserved, cause: Cause, budget: Budget) -> Announced:
    message = words.restart_message(observation.pod, cause, budget.used + 1, budget.limit)
    return Announced(reason="ReplicaRestart", message=message, level="Warning")
