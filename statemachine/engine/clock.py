"""The only place that reads the wall clock; tests pass clocks of their own."""

from datetime import UTC, datetime
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
