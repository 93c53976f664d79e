"""A partition of a topic as brokers keep it, and a producer that sends to it without a network.

Only what a `Writer` depends on: transactions that can be read when they are committed, and epochs. Who starts last
under the transactional id is the writer; of everybody else nothing is taken any more. Source: Kafka, KIP-98.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidProducerEpoch, ProducerFenced
from aiokafka.record import MemoryRecords


class Answer(NamedTuple):
    """What brokers say of a batch."""

    offset: int
    timestamp: int
    timestamp_type: int


class Kept(NamedTuple):
    """A record in the partition."""

    offset: int
    key: bytes
    value: bytes | None


async def _nothing() -> None:
    """Nothing happens."""


@dataclass
class Broker:
    """The partition. `calls` are the requests that reached it, in their order."""

    records: list[Kept] = field(default_factory=list)
    epoch: int = 0
    end: int = 0
    calls: list[str] = field(default_factory=list)
    says_offsets: bool = True
    timestamp_type: int = 1
    committing: Callable[[], Awaitable[None]] = _nothing
    """What happens to a commit on its way."""


class FakeProducer(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka has no types
    """The real producer, whose requests go to a `Broker`. Batches are real, too."""

    def __init__(self, broker: Broker, *, batch: int = 16_384) -> None:
        super().__init__(
            bootstrap_servers="nowhere.invalid:9092",
            transactional_id="ledger-0",
            acks="all",
            enable_idempotence=True,
            max_batch_size=batch,
        )
        self.broker, self.epoch = broker, 0
        self.open: list[Kept] | None = None

    async def start(self) -> None:
        self.broker.epoch += 1
        self.epoch = self.broker.epoch

    async def begin_transaction(self) -> None:
        assert self.open is None, "a producer has one transaction at a time"
        self.broker.calls.append("begin")
        self.open = []
        await asyncio.sleep(0)

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> "asyncio.Future[Answer]":
        assert self.open is not None
        self.broker.calls.append("send")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self.epoch != self.broker.epoch:
            answer.set_exception(InvalidProducerEpoch())
            return answer
        first = self.broker.end
        batch.close()
        data = MemoryRecords(bytes(batch._build()))
        while (records := data.next_batch()) is not None:
            for record in records:
                self.open.append(Kept(self.broker.end, record.key, record.value))
                self.broker.end += 1
        offset = first if self.broker.says_offsets else -1
        answer.set_result(Answer(offset, 1_700_000_000_000, self.broker.timestamp_type))
        return answer

    async def commit_transaction(self) -> None:
        assert self.open is not None
        self.broker.calls.append("commit")
        await self.broker.committing()
        if self.epoch != self.broker.epoch:
            raise ProducerFenced
        self.broker.records += self.open
        self.broker.end += 1  # the marker
        self.open = None
