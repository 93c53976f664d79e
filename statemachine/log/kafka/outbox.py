"""Observations on their way to the owner of the partition of their job."""

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from statemachine.errors import StoreUnusable
from statemachine.log.inbox import Trace, posted, untraced
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import PATIENCE, cut_off, parts, producer, started, stopped
from statemachine.log.kafka.failures import missing, ours
from statemachine.log.kafka.layout import DEAD_LETTERS, EVENTS, OBSERVATIONS
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.kafka.records import Row, letter_row, traced
from statemachine.log.port import DeadLetter
from statemachine.observations import Observation


class KafkaOutbox:
    """An Outbox: those of one job are in one partition, in the order in which they were put.

    What a `put` that failed has left behind is there or is not, so some come twice: at least once. An observation
    that is larger than a record can be becomes a dead letter, cut off. `trace` tells the trace context of one.
    """

    def __init__(self, address: Address, partitions: int, trace: Trace) -> None:
        self._address, self._partitions, self._trace = address, partitions, trace
        self._producer: Any = None
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, address: Address, trace: Trace = untraced) -> Self:
        """The way to the ledger's topic of observations.

        Raises:
            LogUnavailable: no broker answers.
            StoreUnusable: there is no such topic, or it has not as many partitions as the log.
        """
        counts = await parts(address)
        topic, events = address.topic(OBSERVATIONS.name), address.topic(EVENTS.name)
        count = counts.get(topic, 0)
        if not count:
            raise missing(address, topic)
        if count != counts.get(events, count):
            raise StoreUnusable(
                f"topic {topic} has {count} partitions, and {events} has {counts[events]}: "
                "a job must be in the partition of the same number in both"
            )
        return cls(address, count, trace)

    async def put(self, observations: Sequence[Observation]) -> None:
        """See Outbox."""
        if not observations:
            return
        rows = [self._addressed(observation) for observation in observations]
        async with self._turn:
            with ours(self._address, f"write to topic {self._address.topic(OBSERVATIONS.name)}"):
                try:
                    if self._producer is None:
                        self._producer = await started(producer(self._address))
                    async with asyncio.timeout(PATIENCE):
                        await self._send(rows)
                except BaseException:
                    if self._producer is not None:  # it would go on trying while others put the same again
                        made, self._producer = self._producer, None
                        await cut_off(made)
                    raise

    async def close(self) -> None:
        """What was put is there, and nothing is open any more."""
        async with self._turn:
            if self._producer is not None:
                made, self._producer = self._producer, None
                await stopped(made)

    async def _send(self, rows: Sequence[tuple[str, int, Row]]) -> None:
        sent = [
            await self._producer.send(topic, row.value, row.key, partition, headers=list(row.headers))
            for topic, partition, row in rows
        ]
        await asyncio.gather(*sent)

    def _addressed(self, observation: Observation) -> tuple[str, int, Row]:
        """The observation's topic, partition and record."""
        post = posted(observation)
        number = partition_of(post.job, self._partitions)
        row = Row(post.job.encode(), post.body, traced(self._trace(observation)))
        if row.fits:
            return self._address.topic(OBSERVATIONS.name), number, row
        error = f"an observation of {len(post.body)} bytes cannot be sent"
        letter = DeadLetter(observation.at, post.job, post.body, error)
        return self._address.topic(DEAD_LETTERS.name), number, letter_row(letter)
