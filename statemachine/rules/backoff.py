"""How long a replica waits before its pod is made again: restarts and replacements alike (spec R8, Back-off).

The first in a row comes at once, the k-th waits 10 s times 2^(k-2), at most 300 s, from the moment the pod before it
is gone. An attempt that ran for 10 minutes, a pause, or another scale begins a new row.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from statemachine.events import Event, TimerCleared
from statemachine.kind import Kind
from statemachine.observations import Observation
from statemachine.rules.timers import is_due
from statemachine.state import JobState, ReplicaState

BACKOFF: Final = "backoff"
"""The timer: the earliest moment at which a replica that waits is made again."""


class Pace(NamedTuple):
    """Seconds: the second in a row waits `base` (0: nobody waits), nobody longer than `most`; `reset` ends a row."""

    base: float = 10
    most: float = 300
    reset: float = 600


KEYS: Final = {"restart.backoff": "base", "restart.backoffMax": "most", "restart.backoffReset": "reset"}
"""What a job keeps of the settings (`JobAdmitted.settings`), where they are not the defaults."""


def pace_of(state: JobState) -> Pace:
    """The pace that was configured when the job was first seen."""
    said = {name: float(state.settings[key]) for key, name in KEYS.items() if key in state.settings}
    return Pace()._replace(**said)


def pods_before(state: JobState, replica: ReplicaState, at: datetime) -> int:
    """How many pods of the replica there were in this row, if one is made at `at`."""
    since = replica.running_since
    if since is not None and at - since >= timedelta(seconds=pace_of(state).reset):
        return 1
    return replica.row


def wait(state: JobState, before: int) -> timedelta:
    """How long a pod waits that has `before` others before it in its row."""
    pace = pace_of(state)
    if before < 2 or not pace.base:
        return timedelta()
    return timedelta(seconds=min(pace.base * 2.0 ** min(before - 2, 60), pace.most))


def delays(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The wait of a replica is over, or nobody waits any more."""
    if BACKOFF in state.timers and (is_due(state, observation, BACKOFF) or not state.phase.is_active):
        yield TimerCleared(timer=BACKOFF)
