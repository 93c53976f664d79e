"""A PublicStream read from the topic that public events are published to: nothing is projected, and no job is folded.

It gives what is committed. Readers near each other share what has been read (`sharing`), and a task a partition, once
somebody listens, waits at the brokers for more, so that fifty who listen ask them once.
"""

import asyncio
import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Final

from jobledger.publishing.cursors import (
    Cursor,
    LogPlace,
    Place,
    TopicPlace,
    foreign,
    is_behind,
    of_ledger,
    short_id,
    too_old,
)
from jobledger.publishing.public_stream import PlacedEvent, Portion
from jobledger.publishing.sharing import SharedPart, budget
from jobledger.publishing.topics import existing_partitions, first_late
from projectors.contract.binding import event_of, position_of
from projectors.contract.page import PublicEvent
from statemachine.errors import LogError
from statemachine.log.kafka.publishing import Target, last_before
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Message

log = logging.getLogger(__name__)

_AT_ONCE: Final = 2000
"""Offsets that are read at once: some 40 ms of a thread, if there is a record at each."""

_LOOKED_AT: Final = 200
"""Offsets that are read where a place is looked for by halving."""

_RETRY: Final = 1.0
"""Seconds between attempts to wait for more, where brokers are away."""


class TopicStream:
    """The public events in the topic `target`, of the ledger whose id `identified` gives. `close` it."""

    def __init__(self, target: Target, identified: Callable[[], Awaitable[str]]) -> None:
        self._target, self._identified = target, identified
        self._ledger = ""
        self._ends: list[_Followed] = []
        self._parts: list[SharedPart[TopicPlace]] = []
        self._opening = asyncio.Lock()
        self._listeners: list[asyncio.Event] = []
        self._waiting: list[asyncio.Task[None]] = []

    async def ledger(self) -> str:
        """See PublicStream."""
        if not self._ledger:
            self._ledger = short_id(await self._identified())
        return self._ledger

    async def _opened(self) -> "Sequence[_Followed]":
        async with self._opening:
            if not self._ends:
                count = await existing_partitions(self._target)
                address, topic = self._target
                self._ends = [_Followed(Partition(address, topic, number)) for number in range(count)]
                self._parts = [self._part(followed) for followed in self._ends]
                self._wait()
        return self._ends

    def _part(self, followed: "_Followed") -> SharedPart[TopicPlace]:
        size = budget(len(self._ends))
        return SharedPart(lambda after: TopicStretch(followed, after, size))

    async def read(self, partition: int, after: TopicPlace) -> Portion[TopicPlace]:
        """See PublicStream."""
        await self._opened()
        try:
            return await self._parts[partition].read(after)
        except _Gone:
            raise too_old(await self.ledger(), await self.earliest()) from None

    async def resumed(self, cursor: Cursor) -> Sequence[TopicPlace]:
        """See PublicStream. A cursor of the log is looked for in the topic, by halving."""
        followed = await self._opened()
        places = of_ledger(cursor, await self.ledger(), len(followed))
        resumed = [await _resumed(stream, place) for stream, place in zip(followed, places, strict=True)]
        earliest = await self.earliest()
        if any(place.offset < first.offset for place, first in zip(resumed, earliest, strict=True)):
            raise too_old(await self.ledger(), earliest)
        return resumed

    async def earliest(self) -> Sequence[TopicPlace]:
        """See PublicStream."""
        return [TopicPlace(await stream.partition.begin()) for stream in await self._opened()]

    async def ends(self) -> Sequence[TopicPlace]:
        """See PublicStream."""
        return [TopicPlace(await stream.partition.end()) for stream in await self._opened()]

    async def since(self, at: datetime) -> Sequence[TopicPlace]:
        """See PublicStream."""

        def late(event: PublicEvent) -> bool:
            return datetime.fromisoformat(str(event.attributes["recordedtime"])) >= at

        return [await _first(stream.partition, late) for stream in await self._opened()]

    @contextmanager
    def growing(self) -> Iterator[asyncio.Event]:
        """See PublicStream."""
        grown = asyncio.Event()
        self._listeners.append(grown)
        self._wait()
        try:
            yield grown
        finally:
            self._listeners.remove(grown)

    def _wait(self) -> None:
        """From the first listener on, more is waited for."""
        if self._listeners and not self._waiting:
            self._waiting = [
                asyncio.create_task(ending.follow(self._ring), name=f"follow-{ending.partition}")
                for ending in self._ends
            ]

    def _ring(self) -> None:
        for listener in self._listeners:
            listener.set()

    async def close(self) -> None:
        """Nothing is open any more."""
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)
        for ending in self._ends:
            await ending.partition.close()


class _Followed:
    """A partition of the topic, and how far it can be read, while that is known."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._readable: int | None = None

    async def end(self) -> int:
        """The offset up to which it can be read."""
        return await self.partition.end() if self._readable is None else self._readable

    async def follow(self, ring: Callable[[], None]) -> None:
        """Says with every record that comes that there is more; for ever."""
        while True:
            try:
                async for records, place, readable in self.partition.follow(await self.partition.end()):
                    self._readable = max(place, readable)
                    if records:
                        ring()
            except LogError as error:
                fields = {"action": "retry", "partition": str(self.partition), "error": str(error)}
                log.info("nobody can say when there are more public events", extra=fields)
            finally:
                self._readable = None
            await asyncio.sleep(_RETRY)


class _Gone(Exception):
    """Retention has removed what a reader wanted next."""


class TopicStretch:
    """What follows `start` in a partition, as far as it has been read; see Stretch.

    It holds at most `budget` bytes of events, the newest, or those that came at once; older ones are dropped.
    """

    def __init__(self, followed: _Followed, start: TopicPlace, budget: int) -> None:
        self._followed, self._budget = followed, budget
        self._start = start.offset
        self.place = start
        self._events: deque[PlacedEvent[TopicPlace]] = deque()
        self._size = 0

    @property
    def end(self) -> int:
        """See Stretch."""
        return self.place.offset

    def covers(self, start: int) -> bool:
        """See Stretch."""
        return self._start <= start <= self.end

    def behind(self, place: TopicPlace, most: int) -> Sequence[PlacedEvent[TopicPlace]]:
        """See Stretch."""
        first = bisect_right(self._events, place.offset, key=_offset_behind)
        return list(islice(self._events, first, first + most))

    async def advance(self) -> bool:
        """See Stretch. Raises _Gone."""
        start, end = self.end, await self._followed.end()
        if end <= start:
            return False
        end = min(end, start + _AT_ONCE)
        messages = [message async for batch in self._followed.partition.read(start, end) for message in batch]
        if await self._followed.partition.begin() > start:  # asked now: before, it might have gone meanwhile
            raise _Gone
        events = await asyncio.to_thread(_placed, messages)
        self._make_room(sum(map(_size, events)))
        self._events += events
        self._size += sum(map(_size, events))
        self.place = TopicPlace(end, events[-1].place.position if events else self.place.position)
        return True

    def _make_room(self, size: int) -> None:
        """Drops the oldest events. None of what comes now: the reader that asked for it stands before it."""
        while self._events and self._size + size > self._budget:
            dropped = self._events.popleft()
            self._size -= _size(dropped)
            self._start = dropped.place.offset


def _placed(messages: Sequence[Message]) -> list[PlacedEvent[TopicPlace]]:
    placed = []
    for message in messages:
        if (read := event_of(message.key, message.value, message.headers)) is not None:
            event, line = read
            placed.append(PlacedEvent(event, line, TopicPlace(message.offset + 1, event.position)))
    return placed


def _size(placed: PlacedEvent[TopicPlace]) -> int:
    return len(placed.line) * 2


def _offset_behind(placed: PlacedEvent[TopicPlace]) -> int:
    return placed.place.offset


# ---- places ----------------------------------------------------------------------------------------------------


async def _resumed(followed: _Followed, place: Place) -> TopicPlace:
    """Where in the partition somebody goes on who has read up to the place. Raises CursorRefused."""
    if isinstance(place, LogPlace):
        return await _first(followed.partition, lambda event: is_behind(event, place))
    if place.offset > await followed.partition.end():
        raise foreign()
    if place.position:
        before = await last_before(followed.partition, place.offset)
        if before is not None and position_of(before.headers) != place.position:
            raise foreign()  # the topic was emptied, or made again, and filled
    return place


async def _first(partition: Partition, is_late: Callable[[PublicEvent], bool]) -> TopicPlace:
    """The place before the first event that is late; the end where none is."""

    def is_late_event(message: Message) -> bool:
        read = event_of(message.key, message.value, message.headers)
        return read is not None and is_late(read[0])

    return TopicPlace(await first_late(partition, is_late_event, _LOOKED_AT))
