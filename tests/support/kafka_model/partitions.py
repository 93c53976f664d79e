"""Partitions of topics as brokers keep them: records and markers by offset, and how far readers may read.

Source: Kafka, KIP-98 (control batches, last stable offset, producer epochs), KIP-890 (verified transactions).
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from operator import attrgetter
from typing import Final, NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import InvalidProducerEpoch, OffsetOutOfRangeError

from statemachine.log.kafka.records import Row

COMPACT: Final = "compact"


class Fate(Enum):
    """What becomes of a transaction, in one partition."""

    OPEN = auto()
    COMMITTED = auto()
    ABORTED = auto()


class Writing(NamedTuple):
    """Who writes: the producer's id and epoch, and the client that says so, which only the model knows."""

    pid: int
    epoch: int
    client: str


@dataclass(slots=True)
class Part:
    """The records of one transaction in one partition."""

    fate: Fate
    begin: int


class Message(NamedTuple):
    """A record as a consumer gives it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass(slots=True)
class Stored:
    """What has an offset: a record, or (without a message) a marker."""

    offset: int
    message: Message | None
    part: Part | None
    writer: Writing | None

    @property
    def is_visible(self) -> bool:
        """A read_committed consumer gets it."""
        return self.message is not None and (self.part is None or self.part.fate is Fate.COMMITTED)


@dataclass
class ModelPartition:
    """One partition. `fences`: an older epoch of a producer is refused, as it has to be."""

    tp: TopicPartition
    fences: bool = True
    log: list[Stored] = field(default_factory=list)
    begin: int = 0
    """What was before it is gone."""
    end: int = 0
    _parts: dict[int, Part] = field(default_factory=dict)
    _epochs: dict[int, int] = field(default_factory=dict)
    _batches: dict[int, int] = field(default_factory=dict)
    _waiting: list[Callable[[], None]] = field(default_factory=list)

    # ---- writing -------------------------------------------------------------------------------------------------

    def append(
        self, rows: Sequence[Row], batch: int, now: int, writer: Writing | None = None, *, transactional: bool
    ) -> int:
        """The offset of the first of `rows`; a `batch` that is there already is not appended again.

        Raises InvalidProducerEpoch.
        """
        if writer is not None:
            self._check(writer)
        if batch in self._batches:
            return self._batches[batch]
        first = self.end
        part = self._open(writer) if writer is not None and transactional else None
        for row in rows:
            message = Message(
                self.tp.topic, self.tp.partition, self.end, now, row.key, row.value, tuple(row.headers)
            )
            self._store(message, part, writer)
        self._batches[batch] = first
        self._changed()
        return first

    def mark(self, writer: Writing, *, committed: bool) -> None:
        """The producer's transaction has ended here."""
        if self.fences:
            self._epochs[writer.pid] = max(writer.epoch, self._epochs.get(writer.pid, 0))
        part = self._parts.pop(writer.pid, None)
        if part is not None:
            part.fate = Fate.COMMITTED if committed else Fate.ABORTED
        self._store(None, None, writer)
        self._changed()

    def _check(self, writer: Writing) -> None:
        if self.fences and writer.epoch < self._epochs.get(writer.pid, 0):
            raise InvalidProducerEpoch
        self._epochs[writer.pid] = writer.epoch

    def _open(self, writer: Writing) -> Part:
        if writer.pid not in self._parts:
            self._parts[writer.pid] = Part(Fate.OPEN, self.end)
        return self._parts[writer.pid]

    def _store(self, message: Message | None, part: Part | None, writer: Writing | None) -> None:
        self.log.append(Stored(self.end, message, part, writer))
        self.end += 1

    def compact(self) -> None:
        """Of each key only the last committed record stays, of what is stable; markers of it go."""
        stable = self.last_stable
        last = {
            stored.message.key: stored.offset for stored in self.log if stored.is_visible and stored.message
        }
        self.log = [
            stored
            for stored in self.log
            if stored.offset >= stable
            or (stored.is_visible and stored.message and last[stored.message.key] == stored.offset)
        ]

    # ---- reading -------------------------------------------------------------------------------------------------

    @property
    def last_stable(self) -> int:
        """The offset of the first record of a transaction that is open; else the end."""
        return min((part.begin for part in self._parts.values()), default=self.end)

    def bound(self, *, committed: bool) -> int:
        """How far a consumer may read."""
        return self.last_stable if committed else self.end

    def read(self, start: int, most: int, *, committed: bool) -> tuple[list[Message], int]:
        """At most so many messages from offset `start` on, and the offset behind all that was looked at.

        Raises OffsetOutOfRangeError.
        """
        if not self.begin <= start <= self.end:
            raise OffsetOutOfRangeError({self.tp: start})
        messages: list[Message] = []
        limit, position = self.bound(committed=committed), start
        for index in range(bisect_left(self.log, start, key=attrgetter("offset")), len(self.log)):
            stored = self.log[index]
            if stored.offset >= limit or len(messages) == most:
                return messages, max(position, min(stored.offset, limit))
            if stored.message is not None and (stored.is_visible or not committed):
                messages.append(stored.message)
            position = stored.offset + 1
        return messages, max(position, limit)

    def visible(self) -> list[Stored]:
        """What a read_committed consumer would get now, from the beginning."""
        stable = self.last_stable
        return [stored for stored in self.log if stored.is_visible and stored.offset < stable]

    def when_changed(self, call: Callable[[], None]) -> None:
        """`call` is called once, at the next change."""
        self._waiting.append(call)

    def _changed(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call()
