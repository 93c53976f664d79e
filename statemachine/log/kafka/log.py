"""The event log in Kafka, for more than one machine: one partition of the topic of events.

The position of an entry is its offset plus one. Positions have holes, as brokers write markers of transactions
between the entries. The small stores that belong to the log are in the partitions of the same number of the topics
of snapshots and dead letters; checkpoints are committed offsets.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final, Self, TypeVar

from statemachine.errors import LogUnavailable, SeqConflict, StoreUnusable
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.closed_jobs import ClosedJobs
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.checkpoints import Checkpoints
from statemachine.log.kafka.clients import parts
from statemachine.log.kafka.failures import missing
from statemachine.log.kafka.layout import DEAD_LETTERS, EVENTS, JOBS, RECORD_LIMIT
from statemachine.log.kafka.letters import Letters
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Message, entry_row, record_of
from statemachine.log.kafka.snapshots import Snapshots
from statemachine.log.kafka.writing import Stamping, Writer, unstamped
from statemachine.log.port import UNUSABLE, DeadLetter, EntryDraft, NewRecords, Record, Saved, Snapshot
from statemachine.log.seal import Seal

log = logging.getLogger(__name__)

T = TypeVar("T")

_BESIDES: Final = 64 << 10
"""Bytes that are left for what stands beside an entry in its record."""

_PATIENCE: Final = 3.0
"""Seconds that closing waits for what is being written."""


class KafkaLog:
    """An EventLog in a partition. It has one writer, the last who opened it so, and any number of readers.

    A writer that fails is of no use any more: its methods raise OwnerLost, reading goes on. The owner of the
    partition closes it and opens another, which settles what had become of the last append.
    """

    def __init__(
        self, address: Address, partition: int, writer: Writer | None, key: bytes | None = None
    ) -> None:
        self.address, self.partition = address, partition
        self._writer = writer
        self._events = Partition(address, address.topic(EVENTS.name), partition)
        self._jobs = Partition(address, address.topic(JOBS.name), partition)
        self._dead = Partition(address, address.topic(DEAD_LETTERS.name), partition)
        seal = Seal(key, f"{address.topic(JOBS.name)}/{partition}") if key else None
        self._snapshots = Snapshots(self._jobs, seal)
        self._letters = Letters(address, self._dead, partition)
        self._checkpoints = Checkpoints(address, self._events.topic, partition)
        self._appending, self._saving = asyncio.Lock(), asyncio.Lock()
        self._works: set[asyncio.Task[Any]] = set()
        self._written: Position = 0
        self._appended: dict[JobUid, Seq] = {}
        self._read: dict[JobUid, Seq] = {}
        self._closed = False

    @classmethod
    async def open(
        cls,
        address: Address,
        partition: int,
        *,
        read_only: bool = False,
        key: bytes | None = None,
        stamping: Stamping = unstamped,
    ) -> Self:
        """The log in the partition; a writer before this one can write no more (unless `read_only`).

        With a `key` its snapshots are sealed, and only those that are sealed with it are used. `stamping` gets the
        append times of what is written.

        Raises:
            LogUnavailable: no broker answers.
            OwnerLost: another has become its writer meanwhile.
            StoreUnusable: there is no such partition, or we may not use it.
        """
        topic = address.topic(EVENTS.name)
        count = (await parts(address)).get(topic, 0)
        if partition >= count:
            raise missing(address, topic, partition if count else None)
        if read_only:
            return cls(address, partition, None, key)
        opened = cls(address, partition, await Writer.open(address, partition, stamping), key)
        try:
            await opened._settle()
        except BaseException:
            await opened.close()
            raise
        return opened

    async def _settle(self) -> None:
        """All can be read that writers before have committed, which may be a little later than it was confirmed."""
        self._written = await self._events.tail()
        try:
            await self._events.end(self._written)
        except LogUnavailable as error:
            fields = {"action": "settle", "topic": self._events.topic, "partition": self.partition}
            log.warning(
                "brokers have lost sight of an append, it is committed", extra={**fields, "error": str(error)}
            )
            await self._writing().settle(self._events.topic)
            self._written = await self._events.tail()

    def __str__(self) -> str:
        return str(self._events)

    @property
    def is_exclusive(self) -> bool:
        """See EventLog."""
        return self._writer is not None

    @property
    def refused_snapshots(self) -> int:
        """See EventLog."""
        return self._snapshots.refused

    @property
    def entry_limit(self) -> int:
        """See EventLog."""
        return RECORD_LIMIT - _BESIDES

    @property
    def finds_jobs(self) -> bool:
        """See ReadableLog."""
        return False

    # ---- entries -------------------------------------------------------------------------------------------------

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        """See EventLog: one transaction.

        A seq is taken if it is not behind the last one appended here. One that was only found by reading is
        refused once: then the caller has had the chance to look, and readers decide which of two they accept.

        Raises:
            SeqConflict: see above.
            OwnerLost: another process writes now, or nobody knows whether this was appended.
            StoreUnusable: an entry is larger than a record can be, and nothing was appended; or see EventLog.
        """
        writer = self._writing()
        return await self._whole(self._append(writer, drafts)) if drafts else ()

    async def _append(self, writer: Writer, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        async with self._appending:
            self._refuse_taken(drafts)
            rows = [entry_row(draft) for draft in drafts]
            for draft, row in zip(drafts, rows, strict=True):
                if not row.fits:
                    raise StoreUnusable(
                        f"entry {draft.seq} of job {draft.job} has {len(draft.body)} bytes; "
                        f"with key and headers a record of {self._events.topic} can have {RECORD_LIMIT}"
                    )
            offsets = await writer.write(self._events.topic, rows)
            self._written = offsets[-1] + 1
            for draft in drafts:
                self._appended[draft.job] = max(draft.seq, self._appended.get(draft.job, 0))
                self._read.pop(draft.job, None)
            return [
                Record(offset + 1, draft.job, draft.seq, draft.body, draft.moved, draft.trace)
                for offset, draft in zip(offsets, drafts, strict=True)
            ]

    async def confirm_writer(self) -> None:
        """See EventLog: a transaction without records, which brokers refuse to a writer that is not the last."""
        await self._whole(self._writing().settle(self._events.topic))

    def _refuse_taken(self, drafts: Sequence[EntryDraft]) -> None:
        keys: set[tuple[JobUid, Seq]] = set()
        for draft in drafts:
            last = self._last(draft.job)
            if draft.seq <= last or (draft.job, draft.seq) in keys:
                self._read.pop(draft.job, None)
                raise SeqConflict(draft.job, draft.seq, last)
            keys.add((draft.job, draft.seq))

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See EventLog. With `job`, too, the whole partition is read.

        Raises:
            LogUnavailable: no broker answers.
            StoreUnusable: the topic is not there, or ends before `after`.
        """
        self._check_open()
        end = await self._events.end(self._written, after)
        async with aclosing(self._events.read(after, end)) as batches:
            async for batch in batches:
                records = self._records(batch)
                if job is not None:
                    records = [record for record in records if record.job == job and record.seq > after_seq]
                if records:
                    yield records

    async def first_records(self, text: str) -> Sequence[Record] | None:
        """See ReadableLog: there is no index by job."""
        return None

    async def follow(self, after: Position = 0) -> AsyncIterator[NewRecords]:
        """See EventLog. Raises StoreUnusable if the topic is not there, or ends before `after`."""
        self._check_open()
        async with aclosing(self._events.follow(after)) as batches:
            async for batch, position, end in batches:
                yield NewRecords(self._records(batch), position, max(0, end - position))

    async def end(self) -> Position:
        """See EventLog."""
        self._check_open()
        return await self._events.end(self._written)

    def _records(self, batch: Sequence[Message]) -> list[Record]:
        """Only what is next in its job is taken to be of its history: anybody may have written any number."""
        records = [record_of(message) for message in batch]
        if self._writer is not None:
            for record in records:
                if record.seq == self._last(record.job) + 1:
                    self._read[record.job] = record.seq
        return records

    def _last(self, job: JobUid) -> Seq:
        """The job's last entry, as far as this object has read or written it."""
        return max(self._appended.get(job, 0), self._read.get(job, 0))

    # ---- snapshots -----------------------------------------------------------------------------------------------

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """See EventLog. Those of closed jobs hold no state."""
        covered, snapshots, closed, _ = await self.saved()
        return covered, [
            *snapshots,
            *(Snapshot(job, seq, "", UNUSABLE, b"", closed=True) for job, seq in closed.items()),
        ]

    async def saved(self) -> Saved:
        """See EventLog. Without their topic there are none."""
        self._check_open()
        if not await self._has(self._jobs):
            return Saved(0, [], ClosedJobs())
        saved = await self._snapshots.load()
        if self._writer is not None:
            self._read |= {snapshot.job: snapshot.seq for snapshot in saved.snapshots}
        return saved

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        """See EventLog. Raises LogUnavailable without their topic."""
        writer = self._writing()
        await self._whole(self._save(writer, position, snapshots, source))

    async def _save(
        self, writer: Writer, position: Position, snapshots: Sequence[Snapshot], source: Position
    ) -> None:
        async with self._saving:
            if not self._snapshots.is_loaded and not await self._has(self._jobs):
                raise LogUnavailable(str(missing(self.address, self._jobs.topic, self.partition)))
            await self._snapshots.save(writer, position, snapshots, source)
            for snapshot in snapshots:
                if snapshot.closed:  # nobody appends to it any more
                    self._appended.pop(snapshot.job, None)
                    self._read.pop(snapshot.job, None)

    async def _has(self, topic: Partition) -> bool:
        return (await parts(self.address)).get(topic.topic, 0) > self.partition

    # ---- checkpoints, dead letters -------------------------------------------------------------------------------

    async def checkpoint(self, reader: str) -> Position:
        """See EventLog. Brokers forget a reader that has said nothing for a week."""
        self._check_open()
        return await self._checkpoints.load(reader)

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        """See EventLog."""
        self._check_open()
        await self._checkpoints.save(reader, position)

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        """See EventLog. Also a reader may."""
        self._check_open()
        await self._letters.add(letter)

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """See EventLog. Also a reader may."""
        self._check_open()
        await self._letters.note_retry(letter, at)

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """See EventLog."""
        self._check_open()
        return await self._letters.load()

    async def dead_letter_count(self) -> int:
        """See EventLog."""
        self._check_open()
        return await self._letters.count()

    # ---- the end -------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """See EventLog. What is being written gets some seconds."""
        if self._closed:
            return
        self._closed = True
        if self._works:
            _, late = await asyncio.wait(self._works, timeout=_PATIENCE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self._writer is not None:
            await self._writer.close()
        closing = (self._events, self._jobs, self._dead, self._letters, self._checkpoints)
        await asyncio.gather(*(connection.close() for connection in closing))

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnusable(f"{self} is closed")

    def _writing(self) -> Writer:
        self._check_open()
        if self._writer is None:
            raise StoreUnusable(f"{self} was opened for reading")
        return self._writer

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        """`work` is done to its end, also if its caller is cancelled meanwhile."""
        task = asyncio.create_task(work, name=f"write to {self}")
        self._works.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, task: "asyncio.Task[Any]") -> None:
        """Where nobody waits any more, nobody else would look at why it failed, and asyncio would complain."""
        self._works.discard(task)
        if not task.cancelled():
            task.exception()
