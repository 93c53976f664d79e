"""Whether there is room for what a store has to write.

Whoever wants to write a store that is full tries again, every second or so; now and then a small write succeeds where
larger ones do not. So what counts is not whether the last write failed, but since when some have again and again.
"""

from typing import Final

QUIET: Final = 5.0
"""Seconds without a failed write after which there is room again: nobody waits that long before he tries anew."""


class Room:
    """What is known of the room for a store. Instants are seconds on the clock of who asks."""

    def __init__(self) -> None:
        self._error = ""
        self._first = self._last = 0.0

    def failed(self, error: str, now: float) -> None:
        """A write found no room."""
        if not self.lack(now):
            self._first = now
        self._error, self._last = error, now

    def lack(self, now: float) -> str:
        """The sentence about what there is no room for; empty where there is, as far as anybody knows."""
        return self._error if self._error and now - self._last < QUIET else ""

    def lasting(self, now: float) -> float:
        """For how many seconds writes have found no room; 0 where there is some."""
        return self._last - self._first if self.lack(now) else 0.0
