"""Topics of public events as commands name them, and their records read back."""

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from projectors.contract.binding import line_of, position_of
from statemachine.errors import StoreUnusable
from statemachine.ids import Position
from statemachine.log.kafka.publishing import Target, partitions_of
from statemachine.log.kafka.reading import Partition

_OFFSETS: Final = 1 << 48
"""More than a partition has."""


class TopicLine(NamedTuple):
    """A record of a topic: where it is, and its event in JSON; empty if it is none."""

    partition: int
    offset: int
    line: bytes

    @property
    def number(self) -> int:
        """Its place in the topic as one number."""
        return self.partition * _OFFSETS + self.offset


def in_topic(number: int) -> str:
    """The place that has this number, in words."""
    return f"partition {number // _OFFSETS}, offset {number % _OFFSETS}"


async def existing_partitions(target: Target) -> int:
    """How many partitions the topic has. Raises LogUnavailable, StoreUnusable."""
    count = await partitions_of(target)
    if not count:
        raise StoreUnusable(f"{target} does not exist, or we have no right to see it")
    return count


async def lines_in(target: Target) -> AsyncIterator[TopicLine]:
    """What is committed in the topic, a partition behind the other. Raises LogUnavailable, StoreUnusable."""
    for number in range(await existing_partitions(target)):
        partition = Partition(target.address, target.topic, number)
        try:
            async for records in partition.read(0, await partition.settled_end()):
                for record in records:
                    line = line_of(record.key, record.value, record.headers)
                    yield TopicLine(number, record.offset, line)
        finally:
            await partition.close()


async def offset_behind(target: Target, number: int, position: Position) -> int:
    """The offset of the first event in the partition whose entry is behind `position`, or of the next to come."""
    partition = Partition(target.address, target.topic, number)
    try:
        end = await partition.end()
        async for records in partition.read(0, end):
            for record in records:
                if position_of(record.headers) > position:
                    return record.offset
    finally:
        await partition.close()
    return end
