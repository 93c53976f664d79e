"""The timers of the shared rules, and the status that cannot be made out for a while (spec T16, R5, R9).

A job keeps the timers it wants in its state; the engine wakes it when one is due. A firing of a timer that is
no longer wanted, or was moved, says nothing.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from statemachine.events import Event, ReplicaUnreachable, TimerCleared, TimerSet
from statemachine.kind import Kind
from statemachine.observations import Observation, PodObserved, PodPhase, PodUnreadable, TimerFired
from statemachine.phases import ACTIVE
from statemachine.rules.asking import answers
from statemachine.rules.sight import is_later
from statemachine.state import JobState, ReplicaPhase, ReplicaState

DEADLINE: Final = "deadline"
RETRY: Final = "retry"
UNREADABLE: Final = "unreadable"

UNREADABLE_FOR: Final = timedelta(seconds=60)
"""How long a primary's status may be unreadable before the phase is Unknown. Source: spec T16."""

LONGEST: Final = timedelta(days=36525)
"""100 years: a duration that is longer means never. Source: spec G19."""


def later(begin: datetime, seconds: int) -> datetime:
    """`seconds` after `begin`, at most `LONGEST`."""
    return begin + timedelta(seconds=min(seconds, LONGEST // timedelta(seconds=1)))


def is_due(state: JobState, observation: Observation, timer: str) -> bool:
    """`observation` is the firing of this timer as it is set now."""
    return (
        isinstance(observation, TimerFired)
        and observation.timer == timer
        and state.timers.get(timer) == observation.due_at
        and observation.at >= observation.due_at
    )


@answers(PodObserved, PodUnreadable, TimerFired, phases=ACTIVE)
def readability(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The primary's status unreadable for a minute is the primary's status lost (T16).

    A pod that leaves keeps the phase it had, as with every report; one that has ended leaves, or ended its job. Its
    timer is set all the same, as histories of this policy have it.
    """
    if not state.phase.is_active:
        return
    primary = state.replicas.get(state.running_plan.primary)
    if primary is None:
        return
    match observation:
        case PodUnreadable(replica=primary.name, uid=primary.uid) if (
            primary.phase is not ReplicaPhase.UNKNOWN
            and UNREADABLE not in state.timers
            and _is_another_loss(state, observation)
        ):
            yield TimerSet(
                timer=UNREADABLE, due_at=observation.at + UNREADABLE_FOR, written_at=observation.written_at
            )
        case PodObserved(replica=primary.name, uid=primary.uid) if (
            observation.phase is not PodPhase.UNKNOWN and _is_news(state, observation)
        ):
            yield TimerCleared(timer=UNREADABLE)
        case TimerFired() if is_due(state, observation, UNREADABLE):
            yield TimerCleared(timer=UNREADABLE)
            if primary.uid and not primary.leaving and not _is_lost_since(state, primary):
                yield ReplicaUnreachable(
                    replica=primary.name,
                    uid=primary.uid,
                    containers=primary.containers,
                    at=observation.at,
                    written_at=state.unread_written,
                )


def _is_another_loss(state: JobState, observation: PodUnreadable) -> bool:
    """Not a repeat of the last such report: once the status could be read, nothing would say so a second time.

    One write has one time. Where the API server says none, a repeat cannot be recognised, and counts.
    """
    last = state.unread_written
    return last is None or observation.written_at is None or observation.written_at > last


def _is_lost_since(state: JobState, primary: ReplicaState) -> bool:
    """A report that is not older than the unreadable one has made it Unknown, and its time counts."""
    if primary.phase is not ReplicaPhase.UNKNOWN:
        return False
    unread, unknown = state.unread_written, primary.unknown_written
    return unread is None or unknown is None or unknown >= unread


def _is_news(state: JobState, observation: PodObserved) -> bool:
    """The status was read after it could not be: a repeat of an older report is no news."""
    due_at = state.timers.get(UNREADABLE)
    return due_at is not None and is_later(observation, due_at - UNREADABLE_FOR, state.unread_written)


def deadline_timer(_kind: Kind, state: JobState, _: Observation) -> Iterator[Event]:
    """The deadline timer is set exactly while the job is active and has a deadline (spec R9)."""
    wished = _deadline(state)
    if wished is None:
        if DEADLINE in state.timers:
            yield TimerCleared(timer=DEADLINE)
    elif state.timers.get(DEADLINE) != wished:
        yield TimerSet(timer=DEADLINE, due_at=wished)


def _deadline(state: JobState) -> datetime | None:
    if not state.phase.is_active or state.deleted or state.started_at is None:
        return None
    seconds = state.running_plan.active_deadline_seconds
    return None if seconds is None else later(state.started_at, seconds)
