"""One partition of a PublicStream, for all readers: those near each other share a stretch of it that is in memory.

Memory is bounded by the number of stretches and their size, whatever readers do.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol

from jobledger.publishing.cursors import P
from jobledger.publishing.public_stream import PlacedEvent, Portion

STRETCHES: Final = 4
"""Of a partition that are kept: readers so far apart get on without anything being made twice."""

BUDGET: Final = 32 << 20
"""Bytes of all stretches of all partitions."""

_MOST: Final = 500
"""Events that are given at once, or some more: those of an entry come together."""


class Stretch(Protocol[P]):
    """Events that follow a place, in memory, as far as they have been read: up to `end`, which is `place`."""

    @property
    def end(self) -> int:
        """The place behind what has been read, as a number."""

    @property
    def place(self) -> P:
        """The same as readers get it."""

    def covers(self, start: int) -> bool:
        """What follows there is here, or comes next."""

    def behind(self, place: P, most: int) -> Sequence[PlacedEvent[P]]:
        """At most some `most` events behind a place that is covered."""

    async def advance(self) -> bool:
        """Some more is here; False: there is none. If this fails or is cancelled, drop the stretch."""


def budget(partitions: int) -> int:
    """Bytes that one stretch may hold."""
    return BUDGET // STRETCHES // partitions


class SharedPart(Generic[P]):
    """Its stretches, the one that was read last at the end; `made` makes one that begins at a place."""

    def __init__(self, made: Callable[[P], Stretch[P]]) -> None:
        self._made: Callable[[P], Stretch[P]] = made
        self._stretches: list[Stretch[P]] = []
        self._lock = asyncio.Lock()

    async def read(self, after: P) -> Portion[P]:
        """See PublicStream."""
        stretch = self._covering(after)
        if stretch is None or stretch.end == after.whole:
            async with self._lock:
                stretch, grown = await self._advanced(after)
            if not grown:
                return Portion((), after, at_end=True)
        events = stretch.behind(after, _MOST)
        if len(events) >= _MOST:
            return Portion(events, events[-1].place, at_end=False)
        return Portion(events, stretch.place, at_end=False)

    async def _advanced(self, after: P) -> tuple[Stretch[P], bool]:
        """A stretch that covers the place, and whether anything is behind that."""
        stretch = self._covering(after)
        if stretch is None:
            stretch = self._made(after)
            self._stretches.append(stretch)
            del self._stretches[:-STRETCHES]
        if stretch.end > after.whole:
            return stretch, True
        try:
            return stretch, await stretch.advance()
        except BaseException:  # it may have lost something
            self._stretches.remove(stretch)
            raise

    def _covering(self, after: P) -> Stretch[P] | None:
        """Of the stretches that cover the place the one that goes farthest; it is the youngest from now on."""
        covering = [stretch for stretch in self._stretches if stretch.covers(after.whole)]
        if not covering:
            return None
        farthest = max(covering, key=lambda stretch: stretch.end)
        self._stretches.remove(farthest)
        self._stretches.append(farthest)
        return farthest
