"""A reader's way through a PublicStream: all partitions as one, from a cursor on, a page or without an end."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Generic, NamedTuple

from jobledger.publishing.cursors import Cursor, P, cursor_in, unusable
from jobledger.publishing.public_stream import PlacedEvent, PublicStream
from jobledger.publishing.selection import Selection, instant_in

_LOOK: Final = 1.0
"""Seconds after which a stream is looked at that has not said that it grows."""

_GATHERED: Final = 0.03
"""Seconds for which what comes is gathered: a hundred entries a second are not a hundred rounds of every reader."""

_ROUNDS: Final = 20
"""Portions of each partition that a page looks at, where a filter leaves nothing of them: some 4,000 entries."""


class CursoredEvent(NamedTuple):
    """An event for a reader, and the cursor with which the reader goes on behind it."""

    placed: PlacedEvent[Any]
    cursor: str


class Page(NamedTuple):
    """Events, the cursor behind them, and whether nothing followed."""

    events: Sequence[CursoredEvent]
    cursor: str
    at_end: bool


async def start(stream: PublicStream[P], after: str) -> Sequence[P]:
    """The places that `after` means: beginning, end, a time, or a cursor.

    Raises:
        ConfigError: it means nothing.
        CursorRefused: nobody can go on with the cursor.
    """
    if after in {"", "beginning"}:
        return await stream.earliest()
    if after == "end":
        return await stream.ends()
    cursor = cursor_in(after)
    if cursor is not None:
        return await stream.resumed(cursor)
    if not after[:1].isdigit() or "T" not in after.upper():
        raise unusable(after)
    return await stream.since(instant_in(after))


class Browser(Generic[P]):
    """Goes through `stream` from `places` on, with eyes for what is in `selection`."""

    def __init__(
        self, stream: PublicStream[P], ledger: str, places: Sequence[P], selection: Selection
    ) -> None:
        self._stream: PublicStream[P] = stream
        self._places: list[P] = list(places)
        self._ledger, self._selection = ledger, selection
        self.handed_over = self.cursor
        """While `live` goes on: a cursor behind which nothing has been gone through that it has not given yet."""

    @property
    def cursor(self) -> str:
        """The cursor behind all that has been gone through."""
        return str(Cursor(self._ledger, tuple(self._places)))

    async def page(self, limit: int, wait: float = 0.0) -> Page:
        """At most `limit` events; where there are none at the end, those that come within `wait` seconds."""
        until = asyncio.get_running_loop().time() + wait
        events: list[CursoredEvent] = []
        rounds, at_end = 0, False
        with self._stream.growing() as grown:
            while len(events) < limit and rounds < _ROUNDS:
                grown.clear()
                more, at_end = await self._round(limit - len(events))
                events += more
                left = until - asyncio.get_running_loop().time()
                if not at_end:
                    rounds += 1
                elif events or left <= 0:
                    break
                else:
                    await _set(grown, min(left, _LOOK))
        return Page(events, self.cursor, at_end)

    async def live(self) -> AsyncIterator[Sequence[CursoredEvent]]:
        """Events as they come, some at once, for ever."""
        with self._stream.growing() as grown:
            while True:
                grown.clear()
                events, at_end = await self._round(sys.maxsize)
                if events:
                    yield events
                self.handed_over = self.cursor
                if at_end and await _set(grown, _LOOK):
                    await asyncio.sleep(_GATHERED)

    async def _round(self, most: int) -> tuple[list[CursoredEvent], bool]:
        """Events of one portion of each partition, at most `most`; and whether all are at their ends."""
        events: list[CursoredEvent] = []
        all_at_end = True
        await asyncio.sleep(0)  # what is in memory comes without waiting, and others want to go on, too
        for number, place in enumerate(self._places):
            portion = await self._stream.read(number, place)
            for placed in portion.events:
                if await self._selection.has(placed):
                    self._places[number] = placed.place
                    events.append(CursoredEvent(placed, self.cursor))
                    if len(events) >= most:
                        return events, False
            self._places[number] = portion.place
            all_at_end = all_at_end and portion.at_end
        return events, all_at_end


async def _set(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
