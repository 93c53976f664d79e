"""The invariant of every replica: each step of its life is one of the table (`statemachine.replicas`)."""

from collections.abc import Iterator, Mapping
from typing import Final

from statemachine.events import Event
from statemachine.ids import ReplicaName
from statemachine.replicas import LEAVES, TABLE, Move, Row
from statemachine.state import JobState, ReplicaState
from tests.simulation.histories import LoggedEntry, Story
from tests.simulation.verdicts import Met, Verdicts
from tests.simulation.world import World

MOVES: Final[Mapping[str, tuple[Move, ...]]] = {
    "PhaseEntered": (Move.BEGUN, Move.STOOD_DOWN),
    "SpecChanged": (Move.JOINED, Move.FORGOTTEN),
    "JobDeleted": (Move.JOB_DELETED,),
    "ReplicaRequested": (Move.REQUESTED,),
    "ReplicaAdopted": (Move.ADOPTED, Move.ADOPTED_UNWANTED),
    "ReplicaCreated": (Move.CREATED,),
    "ReplicaUpdated": (Move.UPDATED,),
    "ReplicaStarted": (Move.STARTED,),
    "ReplicaUnreachable": (Move.UNREACHABLE,),
    "ReplicaSucceeded": (Move.SUCCEEDED,),
    "ReplicaFailed": (Move.FAILED,),
    "ReplicaEnded": (Move.ENDED, Move.TAKEN),
    "RestartScheduled": (Move.RESTARTED, Move.RESTARTED_AFTER_SUCCESS),
    "RestartDenied": (Move.DENIED, Move.EXHAUSTED, Move.KEPT),
    "ReplicaDismissed": (Move.DISMISSED, Move.DISMISSED_UNLESS_ENDED, Move.DISMISSED_TO_RETURN),
    "ReplicaReleased": (Move.RELEASED, Move.FORGOTTEN),
    "ReplicaLost": (Move.LOST, Move.LOST_FOR_GOOD, Move.FORGOTTEN),
}
"""Event → what it may be to a replica."""

_ROWS: Final = {row.move: row for row in TABLE}

STEPS: Final = tuple(f"{row.move}: {pod}" for row in TABLE for pod in row.pod)
"""Every step of a pod that the table has, by the name under which it is counted."""


def replicas_move_along_the_table(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """What an event does to a replica is a row of the table, and who stays has no reason to leave."""
    afters = [state for state, _ in step.events[1:]] + [step.after]
    for (before, event), after in zip(step.events, afters, strict=True):
        for old, new in _moved(before, event, after):
            row = next(
                (row for move in MOVES.get(event.type, ()) if _leads(row := _ROWS[move], old, new)), None
            )
            says_why = bool(new.leaving) == (new.wish in LEAVES)
            ok = row is not None and says_why
            yield Met(f"{row.move}: {old.pod}") if row and ok else f"{event.type} made {old} into {new}"


def _moved(before: JobState, event: Event, after: JobState) -> Iterator[tuple[ReplicaState, ReplicaState]]:
    """The replicas that the event is about, or whose stages it changed."""
    about: ReplicaName | None = getattr(event, "replica", None)
    for name, new in after.replicas.items():
        named = name == about and event.type in MOVES
        if not named and before.replicas.get(name) is new:
            continue  # so are most
        old = before.replicas.get(name) or ReplicaState(name)
        if named or (old.pod, old.wish, old.progress) != (new.pod, new.wish, new.progress):
            yield old, new


def _leads(row: Row, old: ReplicaState, new: ReplicaState) -> bool:
    return (
        row.pod.get(old.pod) is new.pod
        and row.wish.get(old.wish) is new.wish
        and row.progress.get(old.progress) is new.progress
    )
