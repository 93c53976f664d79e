"""A Kafka of the benchmarks' own, topics of its own for each measurement, and what is put into them."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient

from statemachine.ids import JobUid
from statemachine.log.codec import encode_observation
from statemachine.log.kafka import topics
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import producer, started, stopped
from statemachine.log.kafka.layout import OBSERVATIONS
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.port import EntryDraft, Snapshot
from statemachine.observations import Observation
from tests.bench.kafka.lives import LongLife, uid
from tests.harness import Kafka

PARTITIONS: Final = 8

_numbers: Final = count(1)
_AT_ONCE: Final = 1000
_WAITING: Final = 50
"""Batches of observations on their way at a time."""


@asynccontextmanager
async def ledger(kafka: Kafka, partitions: int = PARTITIONS) -> AsyncIterator[Address]:
    """Topics that nobody has used, as long as the block lasts."""
    address = Address(tuple(kafka.servers.split(",")), prefix=f"bench-{next(_numbers)}")
    await topics.apply(address, partitions=partitions, replication=1)
    try:
        yield address
    finally:
        admin = AIOKafkaAdminClient(**address.options())
        await admin.start()
        try:
            mine = [name for name in await admin.list_topics() if name.startswith(f"{address.prefix}.")]
            await admin.delete_topics(mine)
        finally:
            await admin.close()


class Load:
    """Observations as records, made beforehand."""

    def __init__(self, observations: Sequence[Observation]) -> None:
        self.size = len(observations)
        self._rows: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        for observation in observations:
            row = observation.job.encode(), encode_observation(observation)
            self._rows[partition_of(observation.job, PARTITIONS)].append(row)

    async def put(self, address: Address) -> None:
        """All of them are in the topic, those of a partition in their order."""
        made = await started(producer(address))
        sent: list[Any] = []
        try:
            longest = max(map(len, self._rows.values()))
            for first in range(0, longest, _AT_ONCE):
                for partition, rows in self._rows.items():
                    await self._send(made, address, partition, rows[first : first + _AT_ONCE], sent)
            await asyncio.gather(*sent)
        finally:
            await stopped(made)

    async def _send(
        self,
        made: Any,
        address: Address,
        partition: int,
        rows: Sequence[tuple[bytes, bytes]],
        sent: list[Any],
    ) -> None:
        topic, batch = address.topic(OBSERVATIONS.name), made.create_batch()
        for key, value in rows:
            if batch.append(timestamp=None, key=key, value=value) is None:
                sent.append(await made.send_batch(batch, topic, partition=partition))
                batch = made.create_batch()
                batch.append(timestamp=None, key=key, value=value)
        if batch.record_count():
            sent.append(await made.send_batch(batch, topic, partition=partition))
        if len(sent) > _WAITING:
            await asyncio.gather(*sent)
            sent.clear()


async def write_long_lives(
    address: Address, partitions: int, life: LongLife, jobs: int, *, snapshots: bool
) -> float:
    """The log holds so many jobs of this life, written by its adapter; the seconds that took."""
    begun = time.perf_counter()
    homes: defaultdict[int, list[JobUid]] = defaultdict(list)
    for number in range(jobs):
        homes[partition_of(uid(number), partitions)].append(uid(number))
    for partition, mine in homes.items():
        log = await KafkaLog.open(address, partition)
        try:
            await _write(log, life, mine, snapshots=snapshots)
        finally:
            await log.close()
    return time.perf_counter() - begun


async def _write(log: KafkaLog, life: LongLife, jobs: Sequence[JobUid], *, snapshots: bool) -> None:
    waiting: list[EntryDraft] = []
    states: list[Snapshot] = []
    for job in jobs:
        for draft in life.drafts(job):
            waiting.append(draft)
            if len(waiting) == _AT_ONCE:
                await log.append(waiting)
                waiting = []
        states.append(life.snapshot(draft))
    if waiting:
        await log.append(waiting)
    if snapshots:
        await log.save_snapshots(await log.end(), states)
