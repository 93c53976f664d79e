"""When writes go that nobody waits for: after those that somebody waits for.

A server that is busy with pods and phases gets counts of replicas, finalizers and Events later: they compete with the
reports of the very pods that others wait for.
"""

import asyncio
from typing import Final

from statemachine.ids import JobUid

QUIET: Final = 1.0
"""Seconds without a write that somebody waits for, after which there is leisure."""


class Rush:
    """The last write that somebody waits for, of all projectors of a process."""

    def __init__(self) -> None:
        self._at = -QUIET

    def write(self) -> None:
        """Somebody waits for a write that is made, or follows, now."""
        self._at = asyncio.get_running_loop().time()

    @property
    def is_over(self) -> bool:
        """There was no such write for a moment."""
        return asyncio.get_running_loop().time() - self._at >= QUIET

    async def over(self, within: float) -> None:
        """Returns once there was no such write for a moment, after `within` seconds at the latest."""
        now = asyncio.get_running_loop().time
        end = now() + within
        while (remaining := min(self._at + QUIET, end) - now()) > 0:  # noqa: ASYNC110 - the next may come meanwhile
            await asyncio.sleep(remaining)


class Leisure:
    """Writes of one projector that wait until the rush is over, `most` seconds at most; one a job."""

    def __init__(self, rush: Rush, most: float) -> None:
        self._rush, self._most = rush, most
        self._since: dict[JobUid, float] = {}
        """The loop's time at which a job's write was first wanted."""

    def remaining(self, job: JobUid) -> float:
        """Seconds until the next look whether the job's write may go, twice as long as before; 0 if it may go now."""
        now = asyncio.get_running_loop().time()
        since = self._since.setdefault(job, now)
        remaining = since + self._most - now
        if self._rush.is_over or remaining <= 0:
            del self._since[job]
            return 0.0
        return min(max(QUIET, now - since), remaining)

    def drop(self, job: JobUid) -> None:
        """The job has no such write any more."""
        self._since.pop(job, None)
