"""A PublicStream made from the entries of the log: each is projected when somebody reads there, and kept for others.

Readers that go through the log, and those that wait at its end, share stretches (`stretches`): fifty who listen cost
one projection. Memory is bounded by the number of stretches and their size, whatever readers do.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from datetime import datetime
from typing import Final, NamedTuple

from jobledger.publishing.cursors import LogPlace, short_id
from jobledger.publishing.public_stream import Portion
from jobledger.publishing.stretches import Stretch
from projectors.contract.publication import Publication
from statemachine.errors import EntryUnreadable
from statemachine.ids import Position
from statemachine.log.codec import decode_brief
from statemachine.log.partitions import Partitions
from statemachine.log.port import ReadableLog, Record

_STRETCHES: Final = 4
"""Of a partition that are kept: readers so far apart get on without projecting anything twice."""

_BUDGET: Final = 32 << 20
"""Bytes of all stretches of all partitions."""

_MOST: Final = 500
"""Events that are given at once, or some more: those of an entry come together."""


class Naming(NamedTuple):
    """Whose events they are: the ledger's id, and what is configured."""

    id: str
    publication: Publication


Named = Callable[[], Awaitable[Naming]]
"""Asked once, when somebody first reads: then a ledger that has no name yet gets one."""

Listening = Callable[[Callable[[object], None]], AbstractContextManager[None]]
"""Calls what it is given with every new entry, as long as it is entered."""


class ProjectedStream:
    """The public events of the logs in `partitions`; `listening` says when these grow."""

    def __init__(self, partitions: Partitions, named: Named, listening: Listening) -> None:
        self._logs: Sequence[ReadableLog] = partitions.logs
        self._ends = [log.end for log in partitions.logs]
        self._named, self._listening = named, listening
        self._naming: Naming | None = None
        self._parts: list[_Part] = []

    @property
    def partitions(self) -> int:
        """See PublicStream."""
        return len(self._logs)

    async def ledger(self) -> str:
        """See PublicStream."""
        return short_id((await self._name()).id)

    async def _name(self) -> Naming:
        if self._naming is None:
            self._naming = await self._named()
        return self._naming

    async def read(self, partition: int, after: LogPlace) -> Portion:
        """See PublicStream."""
        publication = (await self._name()).publication
        if not self._parts:
            budget = _BUDGET // _STRETCHES // len(self._logs)
            self._parts = [_Part(log, publication, budget) for log in self._logs]
        return await self._parts[partition].read(after)

    async def earliest(self) -> Sequence[LogPlace]:
        """See PublicStream: a log keeps all entries."""
        return [LogPlace()] * len(self._logs)

    async def ends(self) -> Sequence[LogPlace]:
        """See PublicStream."""
        return [LogPlace(await end()) for end in self._ends]

    async def since(self, at: datetime) -> Sequence[LogPlace]:
        """See PublicStream."""
        return [
            LogPlace(await _since(log, end.position, at))
            for log, end in zip(self._logs, await self.ends(), strict=True)
        ]

    @contextmanager
    def growing(self) -> Iterator[asyncio.Event]:
        """See PublicStream."""
        grown = asyncio.Event()
        with self._listening(lambda _: grown.set()):
            yield grown


class _Part:
    """One partition: its stretches, the one that was read last at the end."""

    def __init__(self, log: ReadableLog, publication: Publication, budget: int) -> None:
        self._log, self._publication, self._budget = log, publication, budget
        self._stretches: list[Stretch] = []
        self._lock = asyncio.Lock()

    async def read(self, after: LogPlace) -> Portion:
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
        return Portion(events, LogPlace(stretch.end), at_end=False)

    async def _advanced(self, after: LogPlace) -> tuple[Stretch, bool]:
        """A stretch that covers the place, and whether anything is behind that."""
        stretch = self._covering(after)
        if stretch is None:
            stretch = Stretch(self._log, after.whole, self._publication, self._budget)
            self._stretches.append(stretch)
            del self._stretches[:-_STRETCHES]
        if stretch.end > after.whole:
            return stretch, True
        try:
            return stretch, await stretch.advance()
        except BaseException:  # it may have lost records
            self._stretches.remove(stretch)
            raise

    def _covering(self, after: LogPlace) -> Stretch | None:
        """Of the stretches that cover the place the one that goes farthest; it is the youngest from now on."""
        covering = [stretch for stretch in self._stretches if stretch.covers(after.whole)]
        if not covering:
            return None
        farthest = max(covering, key=lambda stretch: stretch.end)
        self._stretches.remove(farthest)
        self._stretches.append(farthest)
        return farthest


async def _since(log: ReadableLog, end: Position, at: datetime) -> Position:
    """The last position before the first entry that was recorded at `at` or later."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        first = await _first_dated(log, middle)
        if first is None or first[1] >= at:
            high = middle
        else:
            low = first[0]
    return high


async def _first_dated(log: ReadableLog, after: Position) -> tuple[Position, datetime] | None:
    """Position and time of the first entry behind `after` that can be read; None where there is none."""
    async with aclosing(_records(log, after)) as records:
        async for record in records:
            try:
                return record.position, decode_brief(record.body).seen_at
            except EntryUnreadable:
                continue
    return None


async def _records(log: ReadableLog, after: Position) -> AsyncGenerator[Record]:
    async for batch in log.scan(after):
        for record in batch:
            yield record
