"""A part of a log with its public events, in memory: made once for all readers that are near each other.

A state is needed before every entry. A stretch that begins in the middle of a log gets those of its jobs from the
entries before it, by the log's index of jobs; so a page near the end does not fold the whole log. A log without such
an index is folded once from its first entry on.
"""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple

from jobledger.publishing.cursors import LogPlace
from jobledger.publishing.public_stream import PlacedEvent
from projectors.contract.envelope import structured
from projectors.contract.page import PublicEvent, index_of
from projectors.contract.publication import Publication
from projectors.contract.stream import Publisher
from statemachine.ids import JobUid, Position
from statemachine.log.port import ReadableLog, Record

_AT_ONCE: Final = 200
"""Entries that are projected at once: some 20 ms of a thread."""


class _PlacedEntry(NamedTuple):
    position: Position
    events: Sequence[PlacedEvent[LogPlace]]
    size: int


class LogStretch:
    """What follows position `start` of `log`, as far as it has been read: up to `end`.

    It holds at most `budget` bytes of events, the newest, or those that came at once; `start` moves when older ones
    are dropped.
    """

    def __init__(self, log: ReadableLog, start: Position, publication: Publication, budget: int) -> None:
        self.start = self.end = start
        self._log, self._budget = log, budget
        self._publisher = Publisher(publication)
        self._began = False
        self._entries: deque[_PlacedEntry] = deque()
        self._size = 0
        self._records: deque[Record] = deque()
        """Records that have been read and not projected yet."""

    @property
    def place(self) -> LogPlace:
        """See Stretch."""
        return LogPlace(self.end)

    def covers(self, position: Position) -> bool:
        """What follows the position is here, or comes next."""
        return self.start <= position <= self.end

    def behind(self, place: LogPlace, most: int) -> Sequence[PlacedEvent[LogPlace]]:
        """At most some `most` events behind a place that is covered: whole entries, but for the first."""
        entries = self._entries
        events: list[PlacedEvent[LogPlace]] = []
        for number in range(bisect_right(entries, place.whole, key=_position), len(entries)):
            entry = entries[number]
            if entry.position == place.position:
                events += (event for event in entry.events if index_of(event.event) > (place.event or 0))
            else:
                events += entry.events
            if len(events) >= most:
                break
        return events

    async def advance(self) -> bool:
        """Some more entries are here; False: there are none. If this fails or is cancelled, drop the stretch."""
        if not self._began:
            await self._begin()
        if not self._records:
            async with aclosing(_scanned(self._log, self.end)) as batches:
                async for records in batches:
                    self._records += records
                    break
        records = [self._records.popleft() for _ in range(min(_AT_ONCE, len(self._records)))]
        if not records:
            return False
        before = await self._before(records) if self._log.finds_jobs else []
        more = await asyncio.to_thread(self._projected, before, records)
        self._make_room(sum(entry.size for entry in more))
        self._entries += more
        self._size += sum(entry.size for entry in more)
        self.end = records[-1].position
        return True

    async def _begin(self) -> None:
        """The states at the start, where the log cannot give those of single jobs."""
        if self.start and not self._log.finds_jobs:
            async with aclosing(_scanned(self._log, 0)) as batches:
                async for records in batches:
                    earlier = [record for record in records if record.position <= self.start]
                    await asyncio.to_thread(self._pass_over, earlier)
                    if len(earlier) < len(records):
                        break
        self._began = True

    async def _before(self, records: Sequence[Record]) -> list[Record]:
        """The records before these of all jobs among them whose states are not known."""
        firsts: dict[JobUid, Record] = {}
        for record in records:
            firsts.setdefault(record.job, record)
        return [
            earlier
            for job, first in firsts.items()
            if first.seq > 1 and job not in self._publisher
            async for batch in self._log.scan(job=job)
            for earlier in batch
            if earlier.position < first.position
        ]

    def _pass_over(self, records: Iterable[Record]) -> None:
        for record in records:
            self._publisher.pass_by(record)

    def _projected(self, before: Iterable[Record], records: Sequence[Record]) -> list[_PlacedEntry]:
        self._pass_over(before)
        entries = []
        for record in records:
            published = self._publisher.take(record)
            if published is not None and published.events:
                entries.append(_placed(record.position, published.events))
        if self._log.finds_jobs:
            self._publisher.forget_closed()
        return entries

    def _make_room(self, size: int) -> None:
        """Drops the oldest entries. None of what comes now: the reader that asked for it stands before it."""
        while self._entries and self._size + size > self._budget:
            dropped = self._entries.popleft()
            self._size -= dropped.size
            self.start = dropped.position


def _placed(position: Position, events: Sequence[PublicEvent]) -> _PlacedEntry:
    lines = [structured(event) for event in events]
    last = len(events) - 1
    placed = [
        PlacedEvent(event, line, LogPlace(position, None if number == last else index_of(event)))
        for number, (event, line) in enumerate(zip(events, lines, strict=True))
    ]
    return _PlacedEntry(position, placed, sum(map(len, lines)) * 2)


def _position(entry: _PlacedEntry) -> Position:
    return entry.position


async def _scanned(log: ReadableLog, after: Position) -> AsyncGenerator[Sequence[Record]]:
    async for records in log.scan(after):
        yield records
