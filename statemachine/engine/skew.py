"""Compares this machine's clock with another: append times of brokers, or an API server's Date.

The other clock stamps a request between its sending and the response, so a sample bounds the difference from both
sides; a process that was stopped in between learns less, never something wrong. Between two samples the steady time
of the event loop shows jumps. Without another clock nothing is compared. Source: ADR 0024.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from statemachine.engine.clock import Clock

LIMIT: Final = timedelta(seconds=5)
"""If the clock is further off, no timers fire."""

_NONE: Final = timedelta()


class Sending(NamedTuple):
    """When a request was sent: by our clock, and by the steady time in seconds."""

    at: datetime
    tick: float


def difference(sent: datetime, took: timedelta, theirs: datetime, resolution: timedelta) -> timedelta:
    """By how much our clock is ahead at least (or behind: negative); zero if it may be right.

    `theirs` was read at some moment of the time that the exchange `took`, and cut to a multiple of `resolution`.
    """
    ahead, behind = sent - (theirs + resolution), sent + took - theirs
    return ahead if ahead > _NONE else min(_NONE, behind)


class ClockCheck:
    """The state of our clock by the last sample. Before the first one it is not trusted."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._base: Sending | None = None
        self._ahead = _NONE

    def begin(self) -> Sending:
        """A sending: to be made right before a request that the other clock will stamp."""
        return Sending(self._clock.now(), asyncio.get_running_loop().time())

    def note(self, sent: Sending, theirs: datetime, resolution: timedelta = _NONE) -> None:
        """Takes a sample: the request of `sent` was stamped with `theirs`, and its response has just arrived."""
        if self._base is not None and sent.tick < self._base.tick:
            return  # an exchange that began before the last sample has nothing newer
        took = timedelta(seconds=asyncio.get_running_loop().time() - sent.tick)
        self._base, self._ahead = sent, difference(sent.at, took, theirs, resolution)

    @property
    def is_known(self) -> bool:
        """There was a sample."""
        return self._base is not None

    @property
    def ahead(self) -> timedelta:
        """By how much our clock is ahead now, with the jumps since the last sample; negative: behind."""
        if self._base is None:
            return _NONE
        now = self.begin()
        return self._ahead + (now.at - self._base.at) - timedelta(seconds=now.tick - self._base.tick)

    @property
    def is_trusted(self) -> bool:
        """Our clock may decide what is due."""
        return self._base is not None and abs(self.ahead) <= LIMIT

    @property
    def trouble(self) -> str:
        """Why our clock may not decide, as a sentence; empty while it may, or before the first sample."""
        ahead = self.ahead
        if abs(ahead) <= LIMIT:
            return ""
        way = "ahead" if ahead > _NONE else "behind"
        return (
            f"the clock of this machine is {abs(ahead).total_seconds():.0f} s {way}: no deadline or back-off is "
            "enforced here until it is right"
        )
