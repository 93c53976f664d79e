"""Event → the replica that it is about, after it: which `Move` the event is, and what else it says."""

from statemachine import events as e
from statemachine.ids import PodUid
from statemachine.replicas import Move
from statemachine.state import ReplicaPhase, ReplicaState, changed

_CREATED, _STARTED, _UPDATED = Move.CREATED, Move.STARTED, Move.UPDATED
_NO_POD = PodUid("")

_DISMISSALS = {
    (False, False): Move.DISMISSED,
    (False, True): Move.DISMISSED_UNLESS_ENDED,
    (True, False): Move.DISMISSED_TO_RETURN,
    (True, True): Move.DISMISSED_TO_RETURN,
}
"""Whether it is made anew, and whether it stays if it has ended → the move."""


def created(replica: ReplicaState, event: e.ReplicaCreated) -> ReplicaState:
    """The pod was observed."""
    replica = _in_sight(replica, event)
    return changed(replica.moved(_CREATED), uid=event.uid, containers=event.containers)


def delayed(replica: ReplicaState, event: e.ReplicaDelayed) -> ReplicaState:
    """The next pod waits; that is no move, as the replica stays as it is."""
    return changed(replica, row=event.row, held_until=event.until, running_since=None)


def updated(replica: ReplicaState, event: e.ReplicaUpdated) -> ReplicaState:
    """What is known of the pod beside its phase is news."""
    return changed(
        replica.moved(_UPDATED), containers=event.containers, ready=event.ready, deleting=event.deleting
    )


def unreachable(replica: ReplicaState, event: e.ReplicaUnreachable) -> ReplicaState:
    """The pod is out of sight since then."""
    return changed(
        replica.moved(Move.UNREACHABLE),
        containers=event.containers,
        unknown_at=event.at,
        unknown_written=event.written_at,
    )


def _in_sight(replica: ReplicaState, event: e.ReplicaCreated | e.ReplicaStarted) -> ReplicaState:
    """The pod was Unknown, and is so no more: only what is later than this says that it is Unknown again."""
    if event.written_at is None:
        return replica
    return changed(replica, unknown_at=event.at, unknown_written=event.written_at)


def restarted(replica: ReplicaState, event: e.RestartScheduled) -> ReplicaState:
    """The pod leaves for another."""
    move = Move.RESTARTED_AFTER_SUCCESS if event.after_success else Move.RESTARTED
    return changed(replica.moved(move), leaving="restart", restarts=replica.restarts + 1)


def requested(replica: ReplicaState, move: Move, attempt: int, row: int) -> ReplicaState:
    """A pod of `attempt` is awaited, of which nothing is known."""
    return changed(
        replica.moved(move),
        attempt=attempt,
        uid=_NO_POD,
        containers=(),
        node="",
        ready=False,
        deleting=False,
        row=row,
        running_since=None,
        held_until=None,
    )


def started(replica: ReplicaState, event: e.ReplicaStarted) -> ReplicaState:
    """The pod runs."""
    replica = _in_sight(replica, event)
    return changed(
        replica.moved(_STARTED),
        uid=event.uid,
        containers=event.containers,
        node=event.node,
        ready=event.ready,
        running_since=replica.running_since or event.at,
    )


def ended(
    replica: ReplicaState, event: e.ReplicaSucceeded | e.ReplicaFailed | e.ReplicaEnded, move: Move
) -> ReplicaState:
    """The pod has ended, as `move` says."""
    return changed(replica.moved(move), uid=event.uid, containers=event.containers, ready=False)


def denied(replica: ReplicaState, event: e.RestartDenied) -> ReplicaState:
    """It stays as it ended."""
    if replica.phase is not ReplicaPhase.FAILED:
        return replica.moved(Move.KEPT)
    return replica.moved(Move.EXHAUSTED if event.exhausted else Move.DENIED)


def dismissed(replica: ReplicaState, event: e.ReplicaDismissed) -> ReplicaState:
    """The pod is to go."""
    spared = event.unless_ended and not replica.ended  # one that ended in a deletion neither runs nor stays
    return changed(replica.moved(_DISMISSALS[event.again, spared]), leaving=event.why, counted=event.counted)


def gone(replica: ReplicaState, move: Move) -> ReplicaState:
    """The pod is gone. A replica of the scale keeps its exit codes."""
    return changed(replica.moved(move), uid=_NO_POD, ready=False, deleting=False)


def forgotten(replica: ReplicaState) -> ReplicaState:
    """Outside the scale only attempts and restarts count: should the replica come back, no number is used again."""
    return ReplicaState(replica.name, attempt=replica.attempt, restarts=replica.restarts)
