"""A pod has failed, or is being deleted: is the replica made again? Source: kubeflow-pytorchjob.md, section 5.

Containers that exit while their pod lives are the kubelet's, which starts them again in place for OnFailure and
Always; here are only pods that are Failed, which under those policies means evicted or a lost node.
"""

from collections.abc import Iterator

from statemachine.events import Event
from statemachine.ids import ReplicaName, split_replica
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob import tally, words
from statemachine.kinds.pytorchjob.conditions import hold
from statemachine.kinds.pytorchjob.replica_types import KEYS
from statemachine.observations import Container, ContainerStatus, Observation, PodObserved
from statemachine.phases import ACTIVE, Trigger, allows
from statemachine.rules import causes
from statemachine.rules.asking import answers
from statemachine.rules.restart import denied, granted
from statemachine.spec import RestartPolicy
from statemachine.state import JobState, ReplicaPhase, ReplicaState


def is_retryable(exit_code: int) -> bool:
    """Restart policy ExitCode makes a pod again that ended so: by a signal."""
    return exit_code >= 128


@answers(PodObserved, phases=ACTIVE)
def restarts(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Judges the replica that `observation` showed to have failed, once; tells of one that is being deleted."""
    if not isinstance(observation, PodObserved) or not allows(state.phase, Trigger.RESTART_GRANTED):
        return
    replica = state.replicas.get(observation.replica)
    if (
        replica is None
        or replica.uid != observation.uid
        or replica.leaving
        or not state.running_plan.holds(replica.name)
    ):
        return
    if replica.phase is ReplicaPhase.FAILED and not replica.judged:
        yield from _judged(kind, state, replica, observation)
    elif tally.is_disappearing(replica) and _policy(state, replica) is not RestartPolicy.NEVER:
        type_ = split_replica(replica.name)[0]
        number = tally.count(state)[type_].get(tally.FAILED, 0)
        message = words.disappearing(state, KEYS[type_], number)
        yield from hold(state, observation, words.RESTARTING, message, level="Warning")


def _policy(state: JobState, replica: ReplicaState) -> RestartPolicy:
    return state.running_plan.type_of(replica.name).restart_policy


def _judged(kind: Kind, state: JobState, replica: ReplicaState, observation: PodObserved) -> Iterator[Event]:
    policy, budget = _policy(state, replica), kind.budget(state, replica.name)
    cause = causes.of_failure(kind, state, observation, f"R8 {policy}")
    if not _asks(kind, state, policy, observation):
        yield denied(replica, cause, budget)
        return
    if budget.is_spent or state.terminating:
        yield denied(replica, cause, budget, exhausted=budget.is_spent)
        return
    yield granted(state, replica, cause, budget)
    message = words.restarting(state, KEYS[split_replica(replica.name)[0]])
    yield from hold(state, observation, words.RESTARTING, message, level="Warning")


def _asks(kind: Kind, state: JobState, policy: RestartPolicy, observation: PodObserved) -> bool:
    """The policy makes a pod again that failed like this."""
    match policy:
        case RestartPolicy.NEVER:
            return False
        case RestartPolicy.EXIT_CODE:
            code = training_exit_code(kind, state, observation)
            return code is None or kind.is_retryable(code)
        case RestartPolicy.ON_FAILURE | RestartPolicy.ALWAYS:
            return True


def training_exit_code(kind: Kind, state: JobState, observation: PodObserved) -> int | None:
    """The exit code of container `pytorch`, whatever others did; None if it has none: evicted, or a lost node."""
    training = ended_training(kind, state, observation.replica, observation.containers)
    return None if training is None else training.exit_code


def ended_training(
    kind: Kind, state: JobState, replica: ReplicaName, containers: tuple[Container, ...]
) -> Container | None:
    """The training container among `containers`, if it has ended."""
    name = kind.training_container(state, split_replica(replica)[0])
    return next(
        (
            container
            for container in containers
            if container.name == name and not container.init and container.state is ContainerStatus.TERMINATED
        ),
        None,
    )
