"""The sink that writes public events to a topic of somebody's own, which shows by itself how far it goes.

Where `kafka` keeps a position beside the events, this one needs nothing but the topic: the last event in a partition
is the position. So the whole log can be written to an empty topic, and a crash in between repeats and omits nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self

from projectors.contract.binding import Mode, line_of, record
from projectors.contract.envelope import id_of
from projectors.sinks.kafka import check_partitions
from projectors.sinks.port import Batch
from projectors.sinks.schedule import broker_wait
from statemachine.errors import ConfigError, LogUnavailable, OwnerLost
from statemachine.log.kafka.publishing import Target, last_record, opened_writer
from statemachine.log.kafka.records import Row
from statemachine.log.kafka.writing import Writer


class TopicSink:
    """See Sink and Telling. `open` it. `sleep` waits that many seconds."""

    def __init__(self, target: Target, mode: Mode) -> None:
        self._target, self._mode = target, mode
        self._writers: dict[int, Writer] = {}
        self._lasts: dict[int, str | None] = {}
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @classmethod
    async def open(cls, target: Target, partitions: int, mode: Mode = "binary") -> Self:
        """The sink of a topic that has as many partitions as the log.

        Raises ConfigError, LogUnavailable, StoreUnusable.
        """
        await check_partitions(target, partitions)
        return cls(target, mode)

    @property
    def name(self) -> str:
        """See Sink."""
        return self._target.topic

    async def last(self, partition: int) -> str | None:
        """See Telling. Raises ConfigError: the last record is no event."""
        self._lasts[partition] = last = await self._taken(partition)
        return last

    async def deliver(self, batch: Batch) -> None:
        """See Sink. Raises ConfigError: another writes to the partition."""
        number = batch.partition
        if not batch.events:
            return
        rows = [Row(*record(event, self._mode)) for event in batch.events]
        newest, failures = str(batch.events[-1].attributes["id"]), 0
        while True:
            try:
                if number not in self._writers:
                    last = await self._taken(number)
                    if last == newest:
                        break  # the attempt whose end nobody knew took effect
                    if last != self._lasts.get(number):
                        raise ConfigError(f"another program writes to partition {number} of {self._target}")
                await self._writers[number].write(self._target.topic, rows, whole=True)
                break
            except (OwnerLost, LogUnavailable):
                await self._drop(number)
                failures += 1
                await self.sleep(broker_wait(failures))
        self._lasts[number] = newest

    async def close(self) -> None:
        """See Sink."""
        while self._writers:
            await self._drop(next(iter(self._writers)))

    async def _taken(self, number: int) -> str | None:
        """The id of the last event, which nobody but this sink writes any more."""
        await self._drop(number)
        self._writers[number] = await opened_writer(self._target, number)
        message = await last_record(self._target, number)
        if message is None:
            return None
        last = id_of(line_of(message.key, message.value, message.headers))
        if not last:
            raise ConfigError(f"the last record in partition {number} of {self._target} is no public event")
        return last

    async def _drop(self, number: int) -> None:
        if (writer := self._writers.pop(number, None)) is not None:
            await writer.close()
