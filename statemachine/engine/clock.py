"""The only place that reads the wall clock; tests pass a clock that follows the event loop's time."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Gives the time. Waiting is left to asyncio: a clock may jump, the event loop's time may not."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""


class WallClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The current instant in UTC."""
        return datetime.now(UTC)


class LoopClock:
    """Follows the running loop's time from `start` on: with a simulated loop, simulated time."""

    def __init__(self, start: datetime) -> None:
        self._start = start

    def now(self) -> datetime:
        """`start` plus what the loop's clock shows, to the microsecond."""
        return self._start + timedelta(microseconds=round(asyncio.get_running_loop().time() * 1e6))
