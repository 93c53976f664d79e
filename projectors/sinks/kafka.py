"""The sink that writes public events to a topic in Kafka: exactly once, for all who read what is committed.

A batch and the sink's position are one transaction (`statemachine.log.kafka.publishing`), so the position is never
ahead of the events or behind them. The topic has the partitions of the log, and the key is the job's uid.

    target = Target.of(address)                       # or another topic, at another address
    sink = await KafkaSink.open("kafka", target, partitions)
    await sink.position(0)                            # takes the partition over, once, before its first batch
    await sink.deliver(batch)

`jobledger.wiring.sinks` makes it of a sink of type `kafka`, and by default where the log is in Kafka. The runner asks
for the position of each partition that it takes, and keeps none itself. OwnerLost from `deliver` means that another
process has the partition.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Self
from uuid import uuid4

from projectors.contract.binding import Mode, record
from projectors.sinks.port import Batch
from projectors.sinks.schedule import broker_wait
from statemachine.errors import ConfigError, LogError, LogUnavailable, OwnerLost, StoreUnusable
from statemachine.log.kafka.publishing import PartitionPublisher, Target, partitions_of
from statemachine.log.kafka.records import Row
from statemachine.log.positions import SinkPosition, decoded, encoded

_logger = logging.getLogger(__name__)


class KafkaSink:
    """See Sink and Positioned. `open` it. `sleep` waits that many seconds."""

    def __init__(self, name: str, target: Target, mode: Mode) -> None:
        self.name = name
        self._target, self._mode = target, mode
        self._publisher, self._count = uuid4().hex, 0
        self._publishers: dict[int, PartitionPublisher] = {}
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @classmethod
    async def open(cls, name: str, target: Target, partitions: int, mode: Mode = "binary") -> Self:
        """The sink of a topic that has as many partitions as the log.

        Raises:
            ConfigError: it has not.
            LogUnavailable: no broker answers.
            StoreUnusable: we may not see it.
        """
        await check_partitions(target, partitions)
        return cls(name, target, mode)

    async def position(self, partition: int) -> SinkPosition | None:
        """See Positioned. Waits while brokers are away.

        Raises:
            ConfigError: the topic is shorter than what was published to it.
            StoreUnusable: the position cannot be read, or we may not write.
        """
        await self._drop(partition)
        publisher = await self._opened(partition, again=False)
        return decoded(self.name, publisher.position) if publisher.position is not None else None

    async def deliver(self, batch: Batch) -> None:
        """See Sink. `position` of the partition has been asked for before.

        Raises:
            ConfigError: the topic is shorter than what was published to it.
            OwnerLost: another publisher has taken the partition over.
            StoreUnusable: brokers say no.
        """
        self._count += 1
        mark = f"{self._publisher}-{self._count}"
        while True:
            publisher = self._publishers.get(batch.partition)
            if publisher is None:
                publisher = await self._opened(batch.partition, again=True)
                if publisher.mark == mark:
                    return  # the attempt whose end nobody knew took effect
            try:
                await self._write(publisher, batch, mark)
            except OwnerLost as error:
                self._note("Public events wait to be written again", batch.partition, error)
                await self._drop(batch.partition)
            except BaseException:
                await self._drop(batch.partition)
                raise
            else:
                return

    async def _write(self, publisher: PartitionPublisher, batch: Batch, mark: str) -> None:
        rows = [Row(*record(event, self._mode)) for event in batch.events]
        await publisher.write(rows, encoded(batch.upto), mark)

    async def close(self) -> None:
        """See Sink."""
        while self._publishers:
            await self._publishers.popitem()[1].close()

    async def _opened(self, partition: int, *, again: bool) -> PartitionPublisher:
        """The partition, taken over; with `again` only if it still is this publisher's."""
        failures = 0
        while True:
            try:
                publisher = await PartitionPublisher.open(
                    self._target, partition, self.name, self._publisher, again=again
                )
            except StoreUnusable:
                raise
            except (LogUnavailable, OwnerLost) as error:
                if isinstance(error, OwnerLost) and again:
                    raise
                if not failures:
                    self._note("Public events wait for Kafka", partition, error)
                failures += 1
                await self.sleep(broker_wait(failures))
            else:
                self._publishers[partition] = publisher
                return publisher

    async def _drop(self, partition: int) -> None:
        if (publisher := self._publishers.pop(partition, None)) is not None:
            await publisher.close()

    def _note(self, sentence: str, partition: int, error: LogError) -> None:
        fields = {"action": "sink", "sink": self.name, "partition": partition, "error": str(error)}
        _logger.warning(sentence, extra=fields)


async def check_partitions(target: Target, partitions: int) -> None:
    """The topic has as many partitions as the log. Raises ConfigError, LogUnavailable, StoreUnusable."""
    count = await partitions_of(target)
    if not count:
        raise ConfigError(
            f"{target} does not exist, or we have no right to see it; make it with as many partitions as the log "
            f"has ({partitions})"
        )
    if count != partitions:
        raise ConfigError(
            f"{target} has {count} partitions, and the log {partitions}: a job is in the partition of the same "
            "number in both; make another topic"
        )
