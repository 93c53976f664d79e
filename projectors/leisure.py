"""When writes go that nobody waits for: after those that somebody waits for.

A server that is busy with pods and phases gets counts of replicas, finalizers and Events later: they compete with the
reports of the very pods that others wait for.
"""

import asyncio
from math import exp
from typing import Final, NamedTuple

from statemachine.ids import JobUid

QUIET: Final = 1.0
"""Seconds without a write that somebody waits for, after which there is leisure."""

_CROWD: Final = 10.0
"""Writes a second that somebody waits for, from which on it is a crowd: two or three jobs begin or end a second."""

_WINDOW: Final = 2.0
"""Seconds over which they are counted: later, a write counts for a third and less."""


class Patience(NamedTuple):
    """Seconds for which a write lets others pass at most, as a rule and in a crowd.

    A server that is full gives what is put in between to nobody sooner, and takes it from all others. Where jobs come
    all the time it is not full, and they are no reason to wait for long.
    """

    usual: float
    crowded: float


class Rush:
    """The last write that somebody waits for, of all projectors of a process, and how many there are."""

    def __init__(self) -> None:
        self._at = -QUIET
        self._recent = 0.0

    def write(self) -> None:
        """Somebody waits for a write that is made, or follows, now."""
        self._recent = self._counted() + 1
        self._at = asyncio.get_running_loop().time()

    def _counted(self) -> float:
        return self._recent * exp((self._at - asyncio.get_running_loop().time()) / _WINDOW)

    def most(self, patience: Patience) -> float:
        """The seconds of `patience` that hold now."""
        return patience.crowded if self._counted() >= _CROWD * _WINDOW else patience.usual

    @property
    def is_over(self) -> bool:
        """There was no such write for a moment."""
        return asyncio.get_running_loop().time() - self._at >= QUIET

    async def over(self, patience: Patience) -> None:
        """Returns once there was no such write for a moment, or `patience` is over."""
        now = asyncio.get_running_loop().time
        begun = now()
        while (end := min(self._at + QUIET, begun + self.most(patience))) > now():  # noqa: ASYNC110 - more may come
            await asyncio.sleep(min(end - now(), QUIET))


class Leisure:
    """Writes of one projector that wait until the rush is over, as long as `patience` says; one a job."""

    def __init__(self, rush: Rush, patience: Patience) -> None:
        self._rush, self._patience = rush, patience
        self._since: dict[JobUid, float] = {}
        """The loop's time at which a job's write was first wanted."""

    def remaining(self, job: JobUid) -> float:
        """Seconds until the next look whether the job's write may go, twice as long as before; 0 if it may go now."""
        now = asyncio.get_running_loop().time()
        since = self._since.setdefault(job, now)
        remaining = since + self._rush.most(self._patience) - now
        if self._rush.is_over or remaining <= 0:
            del self._since[job]
            return 0.0
        return min(max(QUIET, now - since), remaining)

    def drop(self, job: JobUid) -> None:
        """The job has no such write any more."""
        self._since.pop(job, None)
