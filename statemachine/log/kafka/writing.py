"""The one that may write a partition of the ledger: a producer with the partition's transactional id.

Starting it ends whatever another one with this id had begun, and from then on brokers refuse the other's records.
Source: faust-notes, "one transactional.id per partition"; Kafka, KIP-98.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final, Self

from aiokafka import TopicPartition
from aiokafka.errors import InvalidProducerEpoch, KafkaError, ProducerFenced

from statemachine.errors import LogError, OwnerLost, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import cut_off, producer, started, stopped
from statemachine.log.kafka.failures import FAILURES, is_leaked, ours, translated
from statemachine.log.kafka.privates import add_partition, forget_transaction, unanswered_ends
from statemachine.log.kafka.records import Row

_WITHIN: Final = 15.0
"""Seconds for a transaction: a broker that is killed is back, or another leads, well before."""


_LOG_APPEND_TIME: Final = 1
"""The timestamp of a record is the broker's. Source: Kafka, record batch attributes."""

Stamping = Callable[[], Callable[[datetime], None]]
"""Called before something is sent; what it gives is called with the time at which a broker appended it."""


def unstamped() -> Callable[[datetime], None]:
    """For those who do not compare clocks."""
    return lambda _: None


class Writer:
    """Writes whole transactions to partition `number`, until one fails: then it never does again."""

    def __init__(self, address: Address, number: int, made: Any, stamping: Stamping = unstamped) -> None:
        self._address, self._number, self._producer = address, number, made
        self._stamping = stamping
        self._turn = asyncio.Lock()
        self._lost = ""
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, address: Address, number: int, stamping: Stamping = unstamped) -> Self:
        """From now on nobody else writes; `stamping` hears of append times. Raises LogUnavailable, StoreUnusable."""
        with ours(address, f"become the writer of partition {number}"):
            made = await started(producer(address, f"{address.prefix}-{number}"))
            return cls(address, number, made, stamping)

    async def write(self, topic: str, rows: Sequence[Row], *, whole: bool = False) -> Sequence[int]:
        """All of `rows` can be read, in this order; gives their offsets.

        Raises:
            OwnerLost: somebody else writes, or nobody knows whether this was written, with `whole` all of it or
                nothing, else perhaps the first of several batches. So it is from now on.
            StoreUnusable: brokers say no.
        """
        async with self._transaction(topic, whole=whole):
            offsets = await self._send(topic, rows)
        return offsets

    async def write_noted(
        self, topic: str, rows: Sequence[Row], notes: str, noted: Callable[[int | None], Row]
    ) -> None:
        """As `write`, with a record in topic `notes`: of both all can be read, or nothing.

        `noted` gives it, for the offset behind the last of `rows`; None without rows.

        Raises:
            OwnerLost, StoreUnusable: see `write`.
        """
        async with self._transaction(topic, whole=True):
            self._announce(notes)
            offsets = await self._send(topic, rows) if rows else ()
            await self._send(notes, [noted(offsets[-1] + 1 if offsets else None)])

    async def write_spread(
        self, topic: str, rows: Mapping[int, Sequence[Row]], notes: str, note: Row
    ) -> None:
        """All of `rows` can be read, those of each partition in their order, and `note` in topic `notes`; or nothing.

        Raises:
            OwnerLost, StoreUnusable: see `write`.
        """
        async with self._transaction(topic, whole=True):
            self._announce(notes)
            for number, own in rows.items():
                await self._send(topic, own, number)
            await self._send(notes, [note])

    async def settle(self, topic: str) -> None:
        """Nobody else writes, and what writers before have left in the partition is committed.

        The latter for brokers that have lost sight of it: one that starts may believe that a transaction's partitions
        are deleted, and take it for ended without having ended it there (Kafka 4.3). Nothing behind it can be read
        until its producer ends another one. To commit it is right in any case: an append with unknown result may take
        effect, one that was confirmed must.

        Raises:
            OwnerLost: see `write`.
        """
        async with self._transaction(topic):
            self._announce(topic)

    def _announce(self, topic: str) -> None:
        """The transaction covers our partition of the topic; of several that are announced brokers hear at once."""
        add_partition(self._producer, TopicPartition(topic, self._number))

    @asynccontextmanager
    async def _transaction(self, topic: str, *, whole: bool = False) -> AsyncIterator[None]:
        """What is done in the block is committed at its end, with `whole` all of it at once. Raises as `write` does.

        A commit without an answer is asked for again; the first request may still arrive, and ends whatever this
        writer has open by then. Only a writer of a later epoch is safe from it. Source: Kafka, KIP-890.
        """
        async with self._turn:
            if whole and not self._lost and unanswered_ends(self._producer):
                self._end("the last commit was asked for twice, and may end half of what is written next")
            if self._lost:
                raise OwnerLost(self._lost)
            try:
                async with asyncio.timeout(_WITHIN):
                    await self._producer.begin_transaction()
                    forget_transaction(self._producer)
                    yield
                    await self._producer.commit_transaction()
            except FAILURES as error:
                raise self._lose(topic, error) from error
            except BaseException as error:
                self._end("the last append was broken off: it is not known whether it took effect")
                if is_leaked(error):
                    raise OwnerLost(self._lost) from error
                raise

    async def close(self) -> None:
        """It writes no more, and what it has written is there."""
        if self._ending is None:
            self._end("it was closed", stopped(self._producer))
        if self._ending is not None:
            await asyncio.shield(self._ending)

    async def _send(self, topic: str, rows: Sequence[Row], partition: int | None = None) -> list[int]:
        """The rows in as few batches as there can be; a future a record would cost half of all time."""
        number = self._number if partition is None else partition
        stamped = self._stamping()
        sent, batch = [], self._producer.create_batch()
        for row in rows:
            if _add(batch, row) is None:
                sent.append((await self._dispatch(topic, number, batch), batch.record_count()))
                batch = self._producer.create_batch()
                _add(batch, row)
        sent.append((await self._dispatch(topic, number, batch), batch.record_count()))
        offsets: list[int] = []
        for future, count in sent:
            said = await future
            first = said.offset
            if said.timestamp_type == _LOG_APPEND_TIME and said.timestamp > 0:
                stamped(datetime.fromtimestamp(said.timestamp / 1000, UTC))
            if first < 0:
                raise KafkaError("brokers have the records, and do not say where")
            offsets += range(first, first + count)
        return offsets

    async def _dispatch(self, topic: str, number: int, batch: Any) -> Any:
        future = await self._producer.send_batch(batch, topic, partition=number)
        future.add_done_callback(_looked_at)
        return future

    def _lose(self, topic: str, error: Exception) -> LogError:
        """The writer is of no use any more; gives why."""
        refused = translated(error, self._address, f"write to partition {self._number} of topic {topic}")
        if isinstance(error, ProducerFenced | InvalidProducerEpoch):
            self._end(
                f"another process writes partition {self._number} now, or this one was silent for too long"
            )
        else:
            self._end(f"{refused}; it is not known whether the last append took effect")
        return refused if isinstance(refused, StoreUnusable) else OwnerLost(self._lost)

    def _end(self, why: str, last: Coroutine[Any, Any, None] | None = None) -> None:
        """Nothing is written any more. What the producer still tries is cut off, unless `last` is done first."""
        self._lost = why
        if self._ending is None:
            self._ending = asyncio.create_task(last or cut_off(self._producer), name="producer's end")


def _add(batch: Any, row: Row) -> Any:
    """None: the batch is full. The first row always fits."""
    return batch.append(timestamp=None, key=row.key, value=row.value, headers=list(row.headers))


def _looked_at(future: "asyncio.Future[Any]") -> None:
    """Of several batches that fail only the first is reported; asyncio need not complain of the others."""
    if not future.cancelled():
        future.exception()
