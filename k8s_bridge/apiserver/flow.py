"""The number of requests at a time: as many as the API server takes without complaint.

The server's priority and fairness says when it is too much (429, with Retry-After); a fixed rate here would only be a
guess about a server that we do not know. So there are places, fewer after each complaint, then slowly more.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

MOST: Final = 20
"""Requests at a time. With more, a server of a few cores creates objects no faster, and its watches are late
(measured with 300 jobs at once on two cores: 48 made the last pod run after 35 s instead of 29)."""

_LEAST: Final = 2

_BUSY: Final = 8
"""With so many requests of the first rank at a time, those of the second rank stand back."""

_SHARE: Final = 10
"""Requests of the second rank keep every tenth place even then."""


class Gate:
    """`async with gate.place()` around each request; `complained` after a 429, `pleased` after any other response."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._places = float(most)
        self._inside = 0
        """Requests that have a place, also those that still wait for a complaint to pass."""
        self._behind = 0
        """The number of these that are of the second rank."""
        self._waiting: dict[bool, deque[asyncio.Future[None]]] = {False: deque(), True: deque()}
        self._closed_until = 0.0

    @property
    def places(self) -> int:
        """The number of requests that may have a place now."""
        return int(self._places)

    @asynccontextmanager
    async def place(self, *, behind: bool = False) -> AsyncIterator[None]:
        """Waits for a place, in order of arrival, and for a complaint to pass.

        Requests `behind` let the others pass while there are many: no pod runs sooner because of them.
        """
        await self._given_place(behind)
        try:
            while (wait := self._closed_until - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(wait)
            yield
        finally:
            self._leave(behind)

    def complained(self, retry_after: float) -> None:
        """The server responded 429: allows half as many at a time, and none for `retry_after` seconds."""
        now = asyncio.get_running_loop().time()
        if now >= self._closed_until:  # one complaint of many that were on their way together
            self._places = max(_LEAST, self._places / 2)
        self._closed_until = max(self._closed_until, now + retry_after)

    def pleased(self) -> None:
        """The server responded: after as many responses as there are places, there is one place more."""
        if self._places < self._most:
            self._places = min(self._most, self._places + 1 / self._places)
            self._let_in()

    async def _given_place(self, behind: bool) -> None:
        """Waits for a place, and counts it."""
        place = asyncio.get_running_loop().create_future()
        self._waiting[behind].append(place)
        self._let_in()
        try:
            await place
        except BaseException:
            if place.cancelled():
                with suppress(ValueError):
                    self._waiting[behind].remove(place)
            else:
                self._leave(behind)
            raise

    def _leave(self, behind: bool) -> None:
        self._inside -= 1
        self._behind -= behind
        self._let_in()

    def _let_in(self) -> None:
        while self._inside < self.places and (behind := self._next()) is not None:
            place = self._waiting[behind].popleft()
            if not place.done():
                self._inside += 1
                self._behind += behind
                place.set_result(None)

    def _next(self) -> bool | None:
        """Whether the next place goes to a request behind; None if no request may have it."""
        if self._waiting[True] and self._behind < max(1, self.places // _SHARE):
            return True
        if self._waiting[False]:
            return False
        return True if self._waiting[True] and self._inside - self._behind < _BUSY else None
