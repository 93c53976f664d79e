"""Mutants of the life of a replica: its table, which event is which move, and what is read of its stages."""

from typing import Final

from tests.mutants.model import Mutant

_FAST: Final = ("tests/scenarios",)


def _table(name: str, old: str, new: str, equivalent: str = "") -> Mutant:
    return Mutant(f"replicas-{name}", "statemachine.replicas", old, new, _FAST, equivalent)


def _moving(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"moving-{name}", "statemachine.moving", old, new, _FAST)


MUTANTS: Final = (
    _table(
        "pods-that-leave-never-come-back",
        "{**_all(Wish.UNWANTED, Wish), Wish.REPLACED: Wish.WANTED}",
        "_all(Wish.UNWANTED, Wish)",
    ),
    _table(
        "pods-that-ended-come-back",
        "_GOES,\n        {**_all(Wish.UNWANTED, Wish),",
        "_GOES,\n        {**_ANY_WISH,",
    ),
    _table("deleted-jobs-want-pods", "{**_all(Wish.LEAVING, Wish), Wish.SPARED: Wish.SPARED}", "_ANY_WISH"),
    _table(
        "lost-for-good-is-wanted",
        "_VANISHES, _all(Wish.UNWANTED, _STAYS), _LOST)",
        "_VANISHES, _same(_STAYS), _LOST)",
    ),
    _table("denied-replica-is-not-lost", "_all(Progress.LOST, Progress)", "_ANY"),
    _table("resumed-replicas-have-started", "_WANTED, _all(Progress.FRESH, Progress))", "_WANTED)"),
    _table(
        "restart-is-never-over",
        "(Progress.FRESH, Progress.MADE, Progress.UP, Progress.RECOVERING)",
        "(Progress.FRESH, Progress.MADE, Progress.UP)",
    ),
    _table(
        "success-recovers",
        "Pod.SUCCEEDED,)),\n        _all(Wish.REPLACED, _STAYS),\n        _UP,",
        "Pod.SUCCEEDED,)),\n        _all(Wish.REPLACED, _STAYS),\n        _HURT,",
    ),
    _table("spared-pods-leave", "{**_same(Wish), Wish.SPARED: Wish.UNWANTED}", "_same(Wish)"),
    _table(
        "dismissed-replica-is-no-longer-hurt",
        "_all(Progress.RECOVERING, (Progress.LOST, Progress.EXHAUSTED))",
        "_all(Progress.UP, (Progress.LOST, Progress.EXHAUSTED))",
    ),
    _table("ended-pods-lose-their-phase", "Pod.RUNNING: Pod.ENDED_RUNNING,", "Pod.RUNNING: Pod.FAILED,"),
    _table(
        "running-again-after-the-end",
        "{Pod.PENDING: Move.STARTED, Pod.UNKNOWN",
        "{Pod.PENDING: Move.STARTED, Pod.RUNNING: Move.STARTED, Pod.UNKNOWN",
    ),
    _table("leaving-pod-starts", "if move is not None and wish in _ROWS[move].wish else None", ""),
    _moving(
        "wait-keeps-the-old-run", "held_until=event.until, running_since=None)", "held_until=event.until)"
    ),
    _moving("unknown-without-a-time", "unknown_at=event.at,\n", "unknown_at=None,\n"),
    _moving("unknown-without-the-write", "unknown_written=event.written_at,\n", "unknown_written=None,\n"),
    _moving(
        "back-without-a-time",
        "unknown_at=event.at, unknown_written=event.written_at)",
        "unknown_written=event.written_at)",
    ),
    _moving(
        "back-without-the-write",
        "unknown_at=event.at, unknown_written=event.written_at)",
        "unknown_at=event.at)",
    ),
    _moving(
        "pending-again-was-not-unknown",
        "    replica = _in_sight(replica, event)\n    return changed(replica.moved(_CREATED)",
        "    return changed(replica.moved(_CREATED)",
    ),
    _moving(
        "replicas-beyond-the-scale-begin-anew",
        "ReplicaState(replica.name, attempt=replica.attempt, ",
        "ReplicaState(replica.name, ",
    ),
    _moving(
        "restarted-replica-has-run",
        "running_since=None,\n        held_until=None,\n    )",
        "held_until=None,\n    )",
    ),
    _moving(
        "run-begins-with-every-report",
        "running_since=replica.running_since or event.at",
        "running_since=event.at",
    ),
    _moving("spared-although-it-ended", "event.unless_ended and not replica.ended", "event.unless_ended"),
)
