"""Recorded lives as a partition of a log, and the batches that a runner of sinks makes of it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from itertools import islice

from msgspec.structs import replace

from projectors.contract.catalogue import VERSION
from projectors.contract.envelope import structured
from projectors.contract.stream import PublishedEntry, Publisher
from projectors.sinks.port import Batch
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import cut_off, producer, started
from statemachine.log.kafka.layout import POSITIONS
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.kafka.reading import Partition
from statemachine.log.positions import SinkPosition
from tests.contract.lives import PUBLICATION, lives


@cache
def published(partition: int = 0, partitions: int = 1, most: int = 20) -> Sequence[PublishedEntry]:
    """The entries of recorded lives that are in the partition, by turns, each at the position of its number."""
    by_job = {life.records[0].job: life.records for life in lives()}
    own = (records for job, records in by_job.items() if partition_of(job, partitions) == partition)
    jobs = list(islice(own, most))
    longest = max(map(len, jobs), default=0)
    rows = [records[turn] for turn in range(longest) for records in jobs if turn < len(records)]
    publisher = Publisher(PUBLICATION)
    entries = [publisher.take(replace(row, position=place)) for place, row in enumerate(rows, 1)]
    return [entry for entry in entries if entry is not None]


def at(position: int) -> SinkPosition:
    """Where a sink stands that has everything up to there."""
    return SinkPosition(position, {}, VERSION, PUBLICATION.fingerprint)


def batches(entries: Sequence[PublishedEntry], size: int, after: int = 0, partition: int = 0) -> list[Batch]:
    """The entries behind a position, so many at a time."""
    rest = [entry for entry in entries if entry.position > after]
    groups = [rest[begin : begin + size] for begin in range(0, len(rest), size)]
    return [
        Batch(partition, [event for entry in group for event in entry.events], at(group[-1].position))
        for group in groups
    ]


def lines_of(entries: Sequence[PublishedEntry]) -> list[bytes]:
    """The structured events, in log order."""
    return [structured(event) for entry in entries for event in entry.events]


@asynccontextmanager
async def left_open(address: Address, within: int) -> AsyncIterator[None]:
    """A publisher of another sink has begun a position in partition 0, and is gone after the block.

    Brokers abort that `within` so many milliseconds.
    """
    other = await started(producer(address, "other-0", within=within))
    try:
        await other.begin_transaction()
        await other.send_and_wait(address.topic(POSITIONS.name), b"{}", b"other", 0)
        yield
    finally:
        await cut_off(other)


async def topic_lines(address: Address, topic: str, partition: int = 0) -> list[bytes]:
    """The committed records of the partition as structured events."""
    from projectors.contract.binding import line_of

    reader = Partition(address, topic, partition)
    try:
        end = await reader.settled_end()
        return [
            line_of(record.key, record.value, record.headers)
            async for records in reader.read(0, end)
            for record in records
        ]
    finally:
        await reader.close()
