"""The producer of the model, with what the product calls of AIOKafkaProducer.

As aiokafka's it goes on trying in tasks of its own, though nobody waits any more, until it is stopped or cut off; and
after an error of its transaction it is of no use.
"""

import asyncio
import itertools
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from aiokafka import OffsetAndMetadata, TopicPartition
from aiokafka.errors import InvalidProducerEpoch, InvalidTxnState, KafkaError, ProducerFenced

from statemachine.log.kafka.records import Row
from tests.support.kafka_model.partitions import Writing
from tests.support.kafka_model.wire import Wire

T = TypeVar("T")

_APPEND_TIME: Final = 1
_FULL: Final = 500
"""Records of a batch: few, so that an append of many is several."""

_batches = itertools.count(1)
_clients = itertools.count(1)


class RecordMetadata(NamedTuple):
    """Where a record, or the first of a batch, is."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int = _APPEND_TIME


class Batch:
    """Records that are sent as one."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def append(
        self, *, timestamp: int | None, key: bytes | None, value: bytes | None, headers: Any
    ) -> int | None:
        """None: it is full."""
        if len(self.rows) >= _FULL:
            return None
        self.rows.append(Row(key or b"", value, tuple(headers)))
        return len(self.rows)

    def record_count(self) -> int:
        """How many there are."""
        return len(self.rows)


class _Transactions:
    """What the product calls of the producer's transaction manager."""

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, bool] = {}
        """Those of the transaction, and whether brokers know."""
        self.is_open = False
        self.unanswered_ends = 0
        """Requests to end one that no answer came to; the product has aiokafka's count them, too."""

    def end_unanswered(self) -> None:
        """No answer came to a request to end one."""
        self.unanswered_ends += 1

    def maybe_add_partition_to_txn(self, tp: TopicPartition) -> None:
        """The partition will be one of the transaction's."""
        assert self.is_open
        self.partitions.setdefault(tp, False)


class _Unsent:
    """Batches that nobody has taken yet: none, as the model sends what it is given."""

    def __init__(self) -> None:
        self._batches: dict[TopicPartition, Sequence[Any]] = {}
        self._pending_batches: Sequence[Any] = ()


class _Sender:
    """The task that lives as long as the producer does, and those of what it is doing."""

    def __init__(self) -> None:
        self.working: set[asyncio.Task[Any]] = set()
        self.sender_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.sender_task = asyncio.create_task(self._routine(), name="sender")

    async def _routine(self) -> None:
        tasks = self.working  # noqa: F841 - the product finds it in this frame, as it does in aiokafka's
        await asyncio.Event().wait()

    def work(self, doing: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(doing)
        self.working.add(task)
        task.add_done_callback(self.working.discard)
        return task


class ModelProducer:
    """See AIOKafkaProducer."""

    def __init__(
        self,
        *,
        bootstrap_servers: Sequence[str] | str,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        **_: Any,
    ) -> None:
        self.client = Wire(bootstrap_servers, produces=True)
        self._id, self._timeout = transactional_id, transaction_timeout_ms / 1000
        self._name = f"{self.client.link.name}-{next(_clients)}"
        self._sender = _Sender()
        self._message_accumulator = _Unsent()
        self._txn_manager = _Transactions()
        self._closed = False
        self._writer: Writing | None = None
        self._fatal: Exception | None = None
        self._turn: asyncio.Lock = asyncio.Lock()
        self._sent: list[asyncio.Task[RecordMetadata]] = []

    async def start(self) -> None:
        """It has its producer id; with a transactional one, nobody else writes by that any more."""
        self._sender.start()
        await self.client.request(lambda: None)
        await asyncio.shield(self._sender.work(self._init()))

    async def stop(self) -> None:
        """What was sent is there, or has failed."""
        if self._closed:
            return
        self._closed = True
        while self._sender.working:
            await asyncio.wait(set(self._sender.working))
        if self._sender.sender_task is not None:
            self._sender.sender_task.cancel()
            await asyncio.wait([self._sender.sender_task])

    async def _init(self) -> None:
        transactions, id_ = self.client.brokers.transactions, self._id
        if id_ is None:
            self._writer = await self.client.answered(lambda: transactions.idempotent(self._name))
        else:
            self._writer = await self.client.answered(
                lambda: transactions.init(id_, self._timeout, self._name)
            )

    @property
    def _writing(self) -> Writing:
        assert self._writer is not None, "it was not started"
        return self._writer

    # ---- records -------------------------------------------------------------------------------------------------

    def create_batch(self) -> Batch:
        """An empty one."""
        return Batch()

    async def send_batch(
        self, batch: Batch, topic: str, *, partition: int
    ) -> "asyncio.Future[RecordMetadata]":
        """The future tells where the first of its records is."""
        return self._dispatch(TopicPartition(topic, partition), batch.rows)

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> "asyncio.Future[RecordMetadata]":
        """The future tells where the record is."""
        return self._dispatch(TopicPartition(topic, partition), [Row(key or b"", value, tuple(headers))])

    async def send_and_wait(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int = 0,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> RecordMetadata:
        """Where the record is."""
        return await (await self.send(topic, value, key, partition, headers))

    def _dispatch(self, tp: TopicPartition, rows: Sequence[Row]) -> "asyncio.Task[RecordMetadata]":
        self._check()
        if self._id is not None:
            self._txn_manager.maybe_add_partition_to_txn(tp)
        task = self._sender.work(self._deliver(tp, list(rows), next(_batches)))
        self._sent = [*(sent for sent in self._sent if not sent.done()), task]
        return task

    async def _deliver(self, tp: TopicPartition, rows: Sequence[Row], batch: int) -> RecordMetadata:
        async with self._turn:  # in the order in which they were sent
            self._check()
            await self._add_partitions()
            brokers, writer, id_ = self.client.brokers, self._writing, self._id
            with _Fatal(self):
                offset, stamped = await self.client.answered(
                    lambda: brokers.produce(tp, rows, batch, writer, id_)
                )
            return RecordMetadata(tp.topic, tp.partition, offset, stamped)

    async def _add_partitions(self) -> None:
        brokers, writer, id_ = self.client.brokers, self._writing, self._id
        for tp, is_known in list(self._txn_manager.partitions.items()):
            if id_ is None or is_known:
                continue
            with _Fatal(self):
                await self.client.answered(
                    lambda tp=tp: brokers.transactions.add(id_, writer, brokers.partition(tp))  # type: ignore[misc]
                )
            self._txn_manager.partitions[tp] = True

    # ---- transactions --------------------------------------------------------------------------------------------

    async def begin_transaction(self) -> None:
        """What is sent from now on is one."""
        self._check()
        assert not self._txn_manager.is_open
        self._txn_manager.is_open = True

    async def commit_transaction(self) -> None:
        """All of it can be read, in a moment."""
        self._check()
        await asyncio.shield(self._sender.work(self._end(commit=True)))

    async def abort_transaction(self) -> None:
        """None of it can ever be read."""
        self._check()
        await asyncio.shield(self._sender.work(self._end(commit=False)))

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group_id: str
    ) -> None:
        """The group is so far if the transaction is committed."""
        self._check()
        plain = offsets_of(offsets)
        transactions, writer, id_ = self.client.brokers.transactions, self._writing, self._id
        assert id_ is not None
        with _Fatal(self):
            await self.client.answered(lambda: transactions.add_offsets(id_, writer, group_id, plain))
        self._has_offsets = True

    _has_offsets = False

    async def _end(self, *, commit: bool) -> None:
        if self._sent:
            await asyncio.gather(*self._sent, return_exceptions=True)
        self._check()
        async with self._turn:
            await self._add_partitions()
            transactions, writer, id_ = self.client.brokers.transactions, self._writing, self._id
            assert id_ is not None
            if self._txn_manager.partitions or self._has_offsets:
                with _Fatal(self):
                    await self.client.answered(
                        lambda: transactions.end(id_, writer, commit=commit), self._txn_manager.end_unanswered
                    )
            self._txn_manager.partitions, self._has_offsets = {}, False
            self._txn_manager.is_open = False

    def _check(self) -> None:
        if self._fatal is not None:
            raise self._fatal
        assert not self._closed, "it was closed"

    def fail(self, error: Exception) -> Exception:
        """It is of no use any more; gives what its calls raise."""
        self._fatal = self._fatal or error
        return error


class _Fatal:
    """What is refused in the block ends the producer; refused epochs say that it was fenced."""

    def __init__(self, producer: ModelProducer) -> None:
        self._producer = producer

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InvalidProducerEpoch):
            raise self._producer.fail(ProducerFenced()) from error
        if isinstance(error, InvalidTxnState):
            raise self._producer.fail(error)
        if isinstance(error, KafkaError):
            self._producer.fail(error)


def offsets_of(offsets: Mapping[TopicPartition, OffsetAndMetadata | int]) -> dict[TopicPartition, int]:
    """The offsets alone."""
    return {tp: place if isinstance(place, int) else place.offset for tp, place in offsets.items()}
