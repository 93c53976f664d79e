"""Whether the disk has room for a store.

Writers of a full store retry every second or so, and now and then a small write succeeds where larger ones fail. So
not the last write counts, but since when writes have failed again and again.
"""

from typing import Final

QUIET: Final = 5.0
"""Seconds without a failed write after which there is room again: every writer retries sooner."""


class Room:
    """What is known of the room for a store. Instants are seconds of the caller's clock."""

    def __init__(self) -> None:
        self._error = ""
        self._first = self._last = 0.0

    def failed(self, error: str, now: float) -> None:
        """A write found no room."""
        if not self.lack(now):
            self._first = now
        self._error, self._last = error, now

    def lack(self, now: float) -> str:
        """The error of the last write without room; empty if there is room, as far as known."""
        return self._error if self._error and now - self._last < QUIET else ""

    def lasting(self, now: float) -> float:
        """The seconds for which writes have found no room; 0 if there is room."""
        return self._last - self._first if self.lack(now) else 0.0
