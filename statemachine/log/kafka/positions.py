"""Records of positions in the ledger's topic: the newest of a key counts, and one without value deletes it."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import PATIENCE, cut_off, parts, producer, started, stopped
from statemachine.log.kafka.failures import missing, ours
from statemachine.log.kafka.identity import LEDGER
from statemachine.log.kafka.layout import POSITIONS
from statemachine.log.kafka.reading import Partition

Records = dict[str, bytes]
"""By their names, of one partition."""


class KafkaPositionRecords:
    """PositionRecords of the ledger at `address`, or of sinks that write to Kafka there.

    What others have put is read up to what is committed; what a publisher was killed at hides what is behind it until
    its transaction has ended, which takes some seconds.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._topic: Final = address.topic(POSITIONS.name)
        self._partitions: dict[int, _Newest] = {}
        self._count = 0
        self._producer: Any = None
        self._putting = asyncio.Lock()

    async def get(self, partition: int, name: str) -> bytes | None:
        """See PositionRecords. Raises StoreUnusable without the topic."""
        return (await self._newest(partition).records()).get(name)

    async def put(self, partition: int, name: str, value: bytes | None) -> None:
        """See PositionRecords."""
        async with self._putting:
            with ours(self._address, f"write to partition {partition} of topic {self._topic}"):
                try:
                    if self._producer is None:
                        self._producer = await started(producer(self._address, codec=POSITIONS.codec))
                    async with asyncio.timeout(PATIENCE):
                        sent = await self._producer.send_and_wait(
                            self._topic, value, name.encode(), partition
                        )
                except BaseException:
                    if self._producer is not None:
                        failed, self._producer = self._producer, None
                        await cut_off(failed)
                    raise
            self._newest(partition).written = sent.offset + 1

    async def named(self, prefix: str) -> Mapping[tuple[int, str], bytes]:
        """See PositionRecords."""
        if not self._count:  # asking takes a connection of its own, and the number never changes
            self._count = (await parts(self._address)).get(self._topic, 0)
        if not self._count:
            raise missing(self._address, self._topic)
        records = {number: await self._newest(number).records() for number in range(self._count)}
        return {
            (number, name): records[number][name]
            for number in range(self._count)
            for name in sorted(records[number])
            if name.startswith(prefix)
        }

    async def close(self) -> None:
        """What was put is there, and nothing is open any more."""
        async with self._putting:
            if self._producer is not None:
                ending, self._producer = self._producer, None
                await stopped(ending)
        for newest in self._partitions.values():
            await newest.close()

    def _newest(self, number: int) -> "_Newest":
        if number not in self._partitions:
            self._partitions[number] = _Newest(Partition(self._address, self._topic, number))
        return self._partitions[number]


class _Newest:
    """The newest records of a partition. `written`: offset behind the last record that was put here."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._reading = asyncio.Lock()
        self._records: Records = {}
        self._read = 0
        self.written = 0

    async def records(self) -> Records:
        async with self._reading:
            end = await self._partition.end(self.written)
            if end < self._read:  # the topic was emptied, or is another
                self._records, self._read = {}, 0
            self._read = await fold_records(self._partition, self._records, self._read, end)
            return self._records

    async def close(self) -> None:
        await self._partition.close()


async def fold_records(partition: Partition, records: Records, start: int, end: int) -> int:
    """Adds the records between two offsets to those by name, except the ledger's own; gives `end`."""
    async for batch in partition.read(start, end):
        for message in batch:
            name = (message.key or b"").decode(errors="replace")
            if message.value is None:
                records.pop(name, None)
            elif message.key != LEDGER:
                records[name] = message.value
    return end
