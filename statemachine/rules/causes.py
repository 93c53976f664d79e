"""Evidence → cause class (design.md, Entry): what an ended pod tells of why it ended, and nothing more."""

from statemachine.events import Cause, CauseClass
from statemachine.ids import split_replica
from statemachine.kind import Kind
from statemachine.observations import CANNOT_START, Container, ContainerStatus, PodObserved
from statemachine.state import JobState, ReplicaState

_DISRUPTED = frozenset(
    {"Evicted", "Preempting", "Preempted", "PreemptionByScheduler", "TerminationByKubelet"}
)
_DISRUPTED |= {"EvictionByEvictionAPI", "DeletionByTaintManager", "UnexpectedAdmissionError"}
_NODE_LOST = frozenset({"NodeLost", "NodeShutdown", "Terminated", "Shutdown", "DeletionByPodGC"})


def of_failure(kind: Kind, job: JobState, observation: PodObserved, rule: str) -> Cause:
    """Why the pod in `observation` failed; `rule` is the spec rule by which that is judged.

    Source: spec R4 (which exit code counts), design.md (cause classes).
    """
    main = training(kind, job, observation)
    container = exit_container(main, observation)
    return Cause(
        kind=_classify(observation, container, training_ended=main in observation.own_ends),
        rule=rule,
        pod_uid=observation.uid,
        node=observation.node,
        container=container.name if container else "",
        exit_code=container.exit_code if container else None,
        reason=observation.disruption or observation.reason or (container.reason if container else ""),
        message=observation.message,
    )


def exit_container(main: str, observation: PodObserved) -> Container | None:
    """The container whose exit code is the replica's; None if the pod failed without any (infrastructure).

    That of `main`, which trains, unless that is 0 or missing; then the first non-zero one, init containers first.
    """
    ordered = sorted(
        observation.containers,
        key=lambda container: (container.name != main or container.init, not container.init),
    )
    return next(
        (
            container
            for container in ordered
            if container.state is ContainerStatus.TERMINATED and container.exit_code
        ),
        None,
    )


def training(kind: Kind, job: JobState, observation: PodObserved) -> str:
    """The name of the training container of the pod in `observation`."""
    return kind.training_container(job, split_replica(observation.replica)[0])


def _classify(observation: PodObserved, container: Container | None, *, training_ended: bool) -> CauseClass:
    if observation.reason == CANNOT_START:
        return CauseClass.REFUSED_BY_API
    if container and container.reason == "OOMKilled":
        return CauseClass.OUT_OF_MEMORY
    if observation.reason in _NODE_LOST or observation.disruption in _NODE_LOST:
        return CauseClass.NODE_LOST
    if observation.disruption or observation.reason in _DISRUPTED:
        return CauseClass.DISRUPTED
    if observation.deleting and not training_ended:
        return CauseClass.DELETED_BY_SOMEONE
    return CauseClass.APPLICATION_EXIT if container else CauseClass.EVIDENCE_LOST


def of_deletion(replica: ReplicaState, rule: str) -> Cause:
    """A pod that the controller deletes, or has deleted."""
    return Cause(
        kind=CauseClass.DELETED_BY_US,
        rule=rule,
        pod_uid=replica.uid,
        node=replica.node,
        reason=replica.leaving,
    )


def of_loss(replica: ReplicaState) -> Cause:
    """A pod that vanished: its deletion was seen to begin, or nothing is known (T18)."""
    kind = CauseClass.DELETED_BY_SOMEONE if replica.deleting else CauseClass.EVIDENCE_LOST
    return Cause(kind=kind, rule="T18", pod_uid=replica.uid, node=replica.node)
