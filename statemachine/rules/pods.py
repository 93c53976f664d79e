"""What the pods of a job do: only a replica's current pod counts, and only what is newer (R5, R7, T18).

A pod's phase, its containers (first by their restarts in place), its readiness and its deletion only ever move
forward, so that a report that comes late or twice says nothing new. A pod that is being deleted keeps the phase it
had; how it ended is kept as evidence.
"""

from collections.abc import Iterator
from typing import Final

from statemachine.events import (
    Announced,
    ConditionsChanged,
    Event,
    ReplicaAdopted,
    ReplicaCreated,
    ReplicaDismissed,
    ReplicaEnded,
    ReplicaFailed,
    ReplicaLost,
    ReplicaReleased,
    ReplicaStarted,
    ReplicaSucceeded,
    ReplicaUnreachable,
    ReplicaUpdated,
)
from statemachine.evolve import evolve
from statemachine.kind import Kind
from statemachine.observations import (
    Container,
    ContainerStatus,
    Observation,
    PodGone,
    PodObserved,
    PodPhase,
)
from statemachine.phases import Phase, Trigger, allows
from statemachine.replicas import Move, Report, news
from statemachine.rules import causes, words
from statemachine.rules.asking import answers
from statemachine.rules.driver import is_driven, only_serves
from statemachine.rules.sight import is_later
from statemachine.state import JobState, ReplicaPhase, ReplicaState, changed

_OVER: Final = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})
_ENDED: Final = frozenset({ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED})
_REPORTS: Final = {phase: Report(phase.value) for phase in PodPhase}
_PROGRESS: Final = {
    ContainerStatus.UNKNOWN: 0,
    ContainerStatus.WAITING: 0,
    ContainerStatus.RUNNING: 1,
    ContainerStatus.TERMINATED: 2,
}


@answers(PodObserved, PodGone)
def pods(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Reports of current pods become events; reports of retired pods are dropped."""
    match observation:
        case PodObserved():
            replica = state.replicas.get(observation.replica)
            for event in _adoption(kind, state, replica, observation):
                yield event
                state = evolve(state, event)
            replica = state.replicas.get(observation.replica)
            if replica and not replica.ended and _is_current(replica, observation):
                yield from _observed(kind, state, replica, observation)
        case PodGone():
            replica = state.replicas.get(observation.replica)
            if replica and _is_its_end(replica, observation):
                yield from _gone(kind, state, replica, observation)
        case _:
            return


def _adoption(
    kind: Kind, state: JobState, replica: ReplicaState | None, observation: PodObserved
) -> Iterator[Event]:
    """The pod is of a later attempt than the log knows of, which was lost: the earlier one of its name is gone."""
    if replica is None or observation.attempt <= replica.attempt or state.deleted:
        return
    if observation.pod != kind.pod_name(state, replica.name):
        return
    yield ReplicaAdopted(replica=replica.name, attempt=observation.attempt)
    if state.phase is Phase.PAUSED:
        cause = causes.of_deletion(changed(replica, uid=observation.uid), "R11")
        yield ReplicaDismissed(replica=replica.name, why="pause", counted=True, cause=cause)


def _is_current(replica: ReplicaState, observation: PodObserved) -> bool:
    if not replica.has_pod:
        return False
    if not replica.uid:
        return observation.attempt == replica.attempt
    return observation.uid == replica.uid and not _is_older_than_unknown(replica, observation)


def _is_older_than_unknown(replica: ReplicaState, observation: PodObserved) -> bool:
    """Into Unknown and out of it a pod may go any number of times, so only time tells a late report there.

    It may be back as Pending although it ran before: a report from then is no start.
    """
    if replica.unknown_at is None or observation.phase in _OVER:
        return False
    may_move = replica.phase is not ReplicaPhase.RUNNING or observation.phase is PodPhase.UNKNOWN
    return may_move and not is_later(observation, replica.unknown_at, replica.unknown_written)


def _is_its_end(replica: ReplicaState, observation: PodGone) -> bool:
    if not replica.has_pod:
        return False
    if replica.uid:
        return observation.uid == replica.uid
    return observation.attempt == replica.attempt and bool(observation.uid or replica.leaving)


def _observed(
    kind: Kind, state: JobState, replica: ReplicaState, observation: PodObserved
) -> Iterator[Event]:
    containers = merged(replica.containers, observation.containers)
    if not replica.uid:
        yield ReplicaCreated(replica=replica.name, uid=observation.uid, containers=containers)
        replica = changed(replica.moved(Move.CREATED), uid=observation.uid, containers=containers)
    event = _event(kind, state, replica, observation, containers)
    if event is not None:
        yield event
        if isinstance(event, _ENDS):
            return
        ready = isinstance(event, ReplicaStarted) and event.ready
        replica = changed(replica, containers=containers, ready=ready or replica.ready)
    deleting, ready = observation.deleting or replica.deleting, observation.ready or replica.ready
    if (containers, ready, deleting) != (replica.containers, replica.ready, replica.deleting):
        yield ReplicaUpdated(
            replica=replica.name, uid=observation.uid, containers=containers, ready=ready, deleting=deleting
        )


_ENDS: Final = (ReplicaSucceeded, ReplicaFailed, ReplicaEnded)


def _event(
    kind: Kind,
    state: JobState,
    replica: ReplicaState,
    observation: PodObserved,
    containers: tuple[Container, ...],
) -> Event | None:
    """The event that takes the replica to where the pod is; None if it is there, or beyond, already."""
    move = news(_report(kind, state, replica, observation), replica.pod, replica.wish)
    if move is None:
        return None
    name, uid = replica.name, observation.uid
    was_unknown = replica.phase is ReplicaPhase.UNKNOWN
    back_at, back_written = (observation.at, observation.written_at) if was_unknown else (None, None)
    match move:
        case Move.CREATED:
            return ReplicaCreated(
                replica=name, uid=uid, containers=containers, at=back_at, written_at=back_written
            )
        case Move.STARTED:
            return ReplicaStarted(
                replica=name,
                uid=uid,
                containers=containers,
                node=observation.node,
                ready=observation.ready or replica.ready,
                at=observation.at,
                written_at=back_written,
            )
        case Move.UNREACHABLE:
            written = observation.written_at
            return ReplicaUnreachable(
                replica=name, uid=uid, containers=containers, at=observation.at, written_at=written
            )
        case Move.SUCCEEDED:
            return ReplicaSucceeded(replica=name, uid=uid, containers=containers)
        case Move.FAILED:
            cause = causes.of_failure(kind, state, observation, "R4")
            return ReplicaFailed(replica=name, uid=uid, containers=containers, cause=cause)
        case Move.ENDED:
            cause = causes.of_deletion(replica, "R5")
            return ReplicaEnded(replica=name, uid=uid, containers=containers, cause=cause)
        case Move.TAKEN:
            cause = causes.of_failure(kind, state, observation, "T18")
            return ReplicaEnded(replica=name, uid=uid, containers=containers, cause=cause)
        case _:
            return None


def _report(kind: Kind, state: JobState, replica: ReplicaState, observation: PodObserved) -> Report:
    """What is reported: a pod that ends by its deletion has neither succeeded nor failed."""
    if observation.phase in _OVER:
        if replica.leaving and not replica.spared:
            return Report.ENDED
        may_succeed = observation.phase is PodPhase.SUCCEEDED and not only_serves(state, replica)
        if observation.deleting and not may_succeed and not _is_own_end(kind, state, replica, observation):
            return Report.ENDED if replica.leaving else Report.TAKEN
    return _REPORTS[observation.phase]


def _is_own_end(kind: Kind, state: JobState, replica: ReplicaState, observation: PodObserved) -> bool:
    """The training had ended when somebody asked for the pod's deletion (spec R8, T18 against T11).

    Times are whole seconds. A deletion that the log had heard of while the pod ran came before the end.
    """
    return causes.training(kind, state, observation) in observation.own_ends and not replica.deleting


def merged(before: tuple[Container, ...], after: tuple[Container, ...]) -> tuple[Container, ...]:
    """Each container in the furthest state reported so far; the newer report on a tie.

    One that the kubelet has started again in its pod is further than it was before, whatever it does now.
    """
    known = {(container.init, container.name): container for container in before}
    for container in after:
        old = known.get((container.init, container.name))
        if old is None or _progress(container) >= _progress(old):
            known[container.init, container.name] = container
    return tuple(known.values())


def _progress(container: Container) -> tuple[int, int]:
    return container.restarts, _PROGRESS[container.state]


def _gone(kind: Kind, state: JobState, replica: ReplicaState, observation: PodGone) -> Iterator[Event]:
    if replica.leaving or replica.phase in _ENDED:
        yield ReplicaReleased(replica=replica.name, uid=observation.uid)
        return
    vanished = allows(state.phase, Trigger.REPLICA_VANISHED)
    for_good = vanished and is_driven(state)
    cause = causes.of_loss(replica)
    yield ReplicaLost(replica=replica.name, uid=observation.uid, cause=cause, for_good=for_good)
    pod = kind.pod_name(state, replica.name)
    if for_good:
        message = words.lost_message(pod)
        yield Announced(reason="ReplicaFailed", message=message, level="Warning")
        failed = words.true(words.REPLICA_FAILURE, "ReplicaFailed", message)
        yield ConditionsChanged(at=observation.at, conditions=(failed,))
    elif vanished:
        again = "" if state.terminating else " and is created again"
        message = f"Replica {pod} was deleted{again}"
        yield Announced(reason="ReplicaLost", message=message, level="Warning")
