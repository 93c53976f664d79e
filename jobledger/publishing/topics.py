"""Topics of public events as commands name them, and their records read back."""

from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple

from projectors.contract.binding import line_of
from statemachine.errors import StoreUnusable
from statemachine.log.kafka.publishing import Target, partitions_of
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Message

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


async def first_late(partition: Partition, is_late: Callable[[Message], bool], looked_at: int = 0) -> int:
    """The offset of the first record that is late, or the end of the partition where none is.

    Records that follow a late one are late, too, but for events of jobs that were held: these come later than their
    positions say, some together. So the partition is read from its first record on; or, with `looked_at`, halved, and
    so many offsets are looked at in each step, which is right as long as no more such events stand together.

    Raises as `Partition` does.
    """
    low, high = await partition.begin(), await partition.end()
    while looked_at and high - low > looked_at:
        middle = (low + high) // 2
        late, behind = await _looked_at(partition, middle, high, looked_at, is_late)
        if late is not None:
            high = late
        elif behind is not None:
            low = behind
        else:
            high = middle
    async for records in partition.read(low, high):
        for record in records:
            if is_late(record):
                return record.offset
    return high


async def _looked_at(
    partition: Partition, start: int, end: int, size: int, is_late: Callable[[Message], bool]
) -> tuple[int | None, int | None]:
    """Of the first records from `start` on the offset of the first late one, else that behind them; or neither."""
    while start < end:
        upto = min(end, start + size)
        there = False
        async for records in partition.read(start, upto):
            there = True
            if (late := next((record.offset for record in records if is_late(record)), None)) is not None:
                return late, None
        if there:
            return None, upto
        start = upto
    return None, None
