"""How many requests at a time: as many as the API server takes without complaint.

Its own priority and fairness says when it is too much (429, with Retry-After); a fixed rate here would only be a
guess about somebody else's server. So a number of places, fewer after each complaint, slowly more again.
"""

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Final

MOST: Final = 48
"""Requests at a time. Beyond that a server of a few cores only queues them (measured: no more per second)."""

_LEAST: Final = 2


class Gate:
    """`async with gate` around each request. `complained` after a 429, `pleased` after an answer."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._places = float(most)
        self._inside = 0
        """Those who have a place, be it that they still wait for a complaint to pass."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed_until = 0.0

    @property
    def places(self) -> int:
        """How many may be inside now."""
        return int(self._places)

    async def __aenter__(self) -> None:
        """There is a place, given in order of arrival, and no complaint that is still to be waited for."""
        if self._inside < self.places and not self._waiting:
            self._inside += 1
        else:
            await self._given_place()
        try:
            while (wait := self._closed_until - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(wait)
        except BaseException:
            self._leave()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The place is free."""
        self._leave()

    def complained(self, retry_after: float) -> None:
        """The server answered 429: half as many at a time, and none for `retry_after` seconds."""
        now = asyncio.get_running_loop().time()
        if now >= self._closed_until:  # one complaint of many that were on their way together
            self._places = max(_LEAST, self._places / 2)
        self._closed_until = max(self._closed_until, now + retry_after)

    def pleased(self) -> None:
        """The server answered: after as many answers as there are places, one place more."""
        if self._places < self._most:
            self._places = min(self._most, self._places + 1 / self._places)
            self._let_in()

    async def _given_place(self) -> None:
        """Returns when somebody has given us a place, and counted us in."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except BaseException:
            if place.cancelled():
                with suppress(ValueError):
                    self._waiting.remove(place)
            else:
                self._leave()
            raise

    def _leave(self) -> None:
        self._inside -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._inside < self.places:
            place = self._waiting.popleft()
            if not place.done():
                self._inside += 1
                place.set_result(None)
