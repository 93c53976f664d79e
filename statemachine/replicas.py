"""The life of a replica: three stages, and the table of what moves them.

`Pod` is what its pod is, `Wish` what should become of it, `Progress` how far the replica has come since the job was
started or resumed. Each moves by itself; a `Move` is what happens to a replica, in words of the domain. The table is
data: `evolve` looks a stage up in it, `docs/phases.md` is drawn from it, and the simulation examines every step
against it. What the table does not have still folds, as an old log may have it.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar


class Pod(StrEnum):
    """What the pod of the current attempt is.

    One that ended while it was being deleted has neither succeeded nor failed, and keeps the phase it had (spec R7).
    Of one that is settled it was decided that it is not restarted.
    """

    NONE = "none"
    CREATING = "Creating"
    PENDING = "Pending"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SETTLED_SUCCEEDED = "Succeeded, settled"
    SETTLED_FAILED = "Failed, settled"
    ENDED_PENDING = "Pending, ended"
    ENDED_RUNNING = "Running, ended"
    ENDED_UNKNOWN = "Unknown, ended"
    OVER = "none, ended"
    """The pod is gone, and its end is in the log."""


class Wish(StrEnum):
    """What should become of a replica and its pod."""

    UNWANTED = "unwanted"
    """No pod is to be made. One that is there stays."""
    WANTED = "wanted"
    """There should be a pod."""
    LEAVING = "leaving"
    """The pod is to be deleted, and none follows."""
    SPARED = "spared"
    """The same, unless it turns out to have ended."""
    REPLACED = "replaced"
    """The pod is to be deleted, and another attempt follows."""


class Progress(StrEnum):
    """How far a replica has come since its job was started or resumed."""

    FRESH = "fresh"
    """No pod of it has been observed."""
    MADE = "made"
    """A pod of it has been observed."""
    UP = "up"
    """It has been Running, or has ended."""
    RECOVERING = "recovering"
    """It failed, and its restart does not run yet."""
    LOST = "lost"
    """It failed, and stays so."""
    EXHAUSTED = "exhausted"
    """The same, because the restart budget is used up."""
    VANISHED = "vanished"
    """It was lost for good before it was up."""


class Move(StrEnum):
    """What happens to a replica."""

    BEGUN = "begun"
    JOINED = "joined"
    STOOD_DOWN = "stood down"
    JOB_DELETED = "job deleted"
    FORGOTTEN = "forgotten"
    REQUESTED = "requested"
    ADOPTED = "adopted"
    ADOPTED_UNWANTED = "adopted, unwanted"
    CREATED = "created"
    UPDATED = "updated"
    STARTED = "started"
    UNREACHABLE = "unreachable"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ENDED = "ended"
    TAKEN = "taken"
    RESTARTED = "restarted"
    RESTARTED_AFTER_SUCCESS = "restarted after success"
    DENIED = "denied"
    EXHAUSTED = "exhausted"
    KEPT = "kept"
    DISMISSED = "dismissed"
    DISMISSED_UNLESS_ENDED = "dismissed unless ended"
    DISMISSED_TO_RETURN = "dismissed to return"
    RELEASED = "released"
    LOST = "lost"
    LOST_FOR_GOOD = "lost for good"


Stage = TypeVar("Stage", Pod, Wish, Progress)
Steps = Mapping[Stage, Stage]
"""Stage → the stage after a move."""


def _all(target: Stage, sources: Iterable[Stage]) -> Steps[Stage]:
    return dict.fromkeys(sources, target)


def _same(stages: Iterable[Stage]) -> Steps[Stage]:
    return {stage: stage for stage in stages}


OPEN: Final = (Pod.PENDING, Pod.RUNNING, Pod.UNKNOWN)
"""The pod was observed, and has not ended."""

GONE: Final = (Pod.NONE, Pod.OVER)
HAS_POD: Final = tuple(pod for pod in Pod if pod not in GONE)
ENDED: Final = tuple(pod for pod in HAS_POD if pod not in (Pod.CREATING, *OPEN))
LEAVES: Final = (Wish.LEAVING, Wish.SPARED, Wish.REPLACED)

_STAYS: Final = (Wish.UNWANTED, Wish.WANTED)
_ANY_POD: Final = _same(Pod)
_ANY_WISH: Final = _same(Wish)
_ANY: Final = _same(Progress)


class Row(NamedTuple):
    """What `move` makes of every stage that it may meet."""

    move: Move
    says: str
    pod: Steps[Pod] = _ANY_POD
    wish: Steps[Wish] = _ANY_WISH
    progress: Steps[Progress] = _ANY


# ---- what several rows have ----------------------------------------------------------------------------------------

_END_OF: Final = {
    Pod.PENDING: Pod.ENDED_PENDING,
    Pod.RUNNING: Pod.ENDED_RUNNING,
    Pod.UNKNOWN: Pod.ENDED_UNKNOWN,
}
_GOES: Final = {**_all(Pod.NONE, (Pod.CREATING, *OPEN)), **_all(Pod.OVER, ENDED)}
_VANISHES: Final = {pod: _GOES[pod] for pod in (Pod.CREATING, *OPEN, *_END_OF.values())}
_WANTED: Final = {**_same(Wish), Wish.UNWANTED: Wish.WANTED, Wish.LEAVING: Wish.REPLACED}
_NOT_AGAIN: Final = {**_same(Wish), Wish.WANTED: Wish.UNWANTED, Wish.REPLACED: Wish.LEAVING}
_END_SHOWS: Final = {**_same(Wish), Wish.SPARED: Wish.UNWANTED}
_MADE: Final = {**_ANY, Progress.FRESH: Progress.MADE}
_UP: Final = {
    **_all(Progress.UP, (Progress.FRESH, Progress.MADE, Progress.UP, Progress.RECOVERING)),
    **_all(Progress.LOST, (Progress.LOST, Progress.VANISHED)),
    Progress.EXHAUSTED: Progress.EXHAUSTED,
}
_HAS_ENDED: Final = {**_UP, Progress.RECOVERING: Progress.RECOVERING}
_HURT: Final = {**_ANY, **_all(Progress.RECOVERING, (Progress.FRESH, Progress.MADE, Progress.UP))}
_HURT_AGAIN: Final = {**_ANY, **_all(Progress.RECOVERING, (Progress.LOST, Progress.EXHAUSTED))}
_LOST: Final = {
    **_ANY,
    **_all(Progress.VANISHED, (Progress.FRESH, Progress.MADE)),
    **_all(Progress.LOST, (Progress.UP, Progress.RECOVERING)),
}

TABLE: Final = (
    # the job
    Row(Move.BEGUN, "the job starts or resumes", _ANY_POD, _WANTED, _all(Progress.FRESH, Progress)),
    Row(Move.JOINED, "it comes into the scale", _ANY_POD, _WANTED),
    Row(Move.STOOD_DOWN, "the job pauses or ends", _ANY_POD, _NOT_AGAIN),
    Row(
        Move.JOB_DELETED,
        "the job object is gone",
        _ANY_POD,
        {**_all(Wish.LEAVING, Wish), Wish.SPARED: Wish.SPARED},
    ),
    Row(
        Move.FORGOTTEN,
        "outside the scale, and without a pod",
        _all(Pod.NONE, Pod),
        _all(Wish.UNWANTED, Wish),
        _all(Progress.FRESH, Progress),
    ),
    # a pod comes
    Row(Move.REQUESTED, "a pod is asked for", _all(Pod.CREATING, GONE), _same((Wish.WANTED,))),
    Row(
        Move.ADOPTED,
        "a pod of a later attempt exists",
        _all(Pod.CREATING, Pod),
        _all(Wish.WANTED, Wish),
        _MADE,
    ),
    Row(
        Move.ADOPTED_UNWANTED,
        "so it does, and nobody wants it",
        _all(Pod.CREATING, Pod),
        _all(Wish.UNWANTED, Wish),
        _MADE,
    ),
    Row(Move.CREATED, "the pod exists", _all(Pod.PENDING, (Pod.CREATING, Pod.UNKNOWN)), _ANY_WISH, _MADE),
    Row(Move.STARTED, "it runs", _all(Pod.RUNNING, (Pod.PENDING, Pod.UNKNOWN)), _same(_STAYS), _UP),
    Row(Move.UPDATED, "containers, readiness or deletion are news", _same(OPEN)),
    Row(Move.UNREACHABLE, "its status is lost", _all(Pod.UNKNOWN, OPEN), _same(_STAYS)),
    # it ends
    Row(Move.SUCCEEDED, "it has succeeded", _all(Pod.SUCCEEDED, OPEN), _END_SHOWS, _HAS_ENDED),
    Row(Move.FAILED, "it has failed", _all(Pod.FAILED, OPEN), _END_SHOWS, _HAS_ENDED),
    Row(Move.ENDED, "it has ended, as asked", _END_OF, {**_same(LEAVES), Wish.SPARED: Wish.LEAVING}),
    Row(Move.TAKEN, "it has ended, deleted by others", _END_OF, _same(_STAYS), _HAS_ENDED),
    # its end is judged
    Row(
        Move.RESTARTED,
        "it failed, and is restarted",
        _same((Pod.FAILED,)),
        _all(Wish.REPLACED, _STAYS),
        _HURT,
    ),
    Row(
        Move.RESTARTED_AFTER_SUCCESS,
        "it succeeded, and is restarted",
        _same((Pod.SUCCEEDED,)),
        _all(Wish.REPLACED, _STAYS),
        _UP,
    ),
    Row(
        Move.DENIED,
        "it failed, and stays so",
        {Pod.FAILED: Pod.SETTLED_FAILED},
        _same(_STAYS),
        _all(Progress.LOST, Progress),
    ),
    Row(
        Move.EXHAUSTED,
        "so it does, as no budget is left",
        {Pod.FAILED: Pod.SETTLED_FAILED},
        _same(_STAYS),
        _all(Progress.EXHAUSTED, Progress),
    ),
    Row(
        Move.KEPT,
        "it succeeded, and stays so",
        {Pod.SUCCEEDED: Pod.SETTLED_SUCCEEDED},
        _same(_STAYS),
        _all(Progress.UP, Progress),
    ),
    # it goes
    Row(Move.DISMISSED, "it is to go", _same(HAS_POD), _all(Wish.LEAVING, Wish)),
    Row(
        Move.DISMISSED_UNLESS_ENDED,
        "so it is, unless it ends first",
        _same((Pod.CREATING, *OPEN)),
        _all(Wish.SPARED, Wish),
    ),
    Row(
        Move.DISMISSED_TO_RETURN,
        "it is to go, and to be made anew",
        _same(HAS_POD),
        _all(Wish.REPLACED, Wish),
        _HURT_AGAIN,
    ),
    Row(
        Move.RELEASED,
        "it is gone, as asked or after its end",
        _GOES,
        {**_all(Wish.UNWANTED, Wish), Wish.REPLACED: Wish.WANTED},
    ),
    Row(Move.LOST, "it has vanished", _VANISHES, _same(_STAYS)),
    Row(Move.LOST_FOR_GOOD, "so it has, and none follows", _VANISHES, _all(Wish.UNWANTED, _STAYS), _LOST),
)
"""All that can happen to a replica. What a row does not name, its move never meets."""


def _complete(steps: Steps[Stage], stages: Iterable[Stage]) -> Steps[Stage]:
    """Every stage, also those that the move never meets: an event that says one thing only still says it."""
    targets = set(steps.values())
    only = (
        targets.pop() if len(targets) == 1 and any(source is not steps[source] for source in steps) else None
    )
    return {stage: steps.get(stage, only or stage) for stage in stages}


_ROWS: Final = {row.move: row for row in TABLE}
STEPS: Final[Mapping[Move, tuple[Steps[Pod], Steps[Wish], Steps[Progress]]]] = {
    row.move: (_complete(row.pod, Pod), _complete(row.wish, Wish), _complete(row.progress, Progress))
    for row in TABLE
}
"""Move → what it makes of every stage; also of those that the table does not have, which may stand in an old log."""


# ---- reports -------------------------------------------------------------------------------------------------------


class Report(StrEnum):
    """What a report says of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    ENDED = "ended, as asked"
    TAKEN = "ended, deleted by others"


REPORTS: Final[Mapping[Report, Mapping[Pod, Move]]] = {
    Report.PENDING: {Pod.UNKNOWN: Move.CREATED},
    Report.RUNNING: {Pod.PENDING: Move.STARTED, Pod.UNKNOWN: Move.STARTED},
    Report.UNKNOWN: {Pod.PENDING: Move.UNREACHABLE, Pod.RUNNING: Move.UNREACHABLE},
    Report.SUCCEEDED: dict.fromkeys(OPEN, Move.SUCCEEDED),
    Report.FAILED: dict.fromkeys(OPEN, Move.FAILED),
    Report.ENDED: dict.fromkeys(OPEN, Move.ENDED),
    Report.TAKEN: dict.fromkeys(OPEN, Move.TAKEN),
}
"""Report → what the pod is → what that is news of. Where there is nothing, the report is late or old news."""


def news(report: Report, pod: Pod, wish: Wish) -> Move | None:
    """What `report` tells of a replica; nothing of what the table has not for a pod that is to go."""
    move = REPORTS[report].get(pod)
    return move if move is not None and wish in _ROWS[move].wish else None
