"""A publisher in a process of its own, which kills itself at a named point.

`python -m tests.integration.kafka.publisher_process URL SIZE POINT COUNT`: publishes recorded lives from its position
on, SIZE entries a batch, and is gone by SIGKILL when it comes to POINT for the COUNT-th time.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiokafka import AIOKafkaProducer

from projectors.sinks.kafka import KafkaSink
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.publishing import Target
from statemachine.log.kafka.reading import Partition
from tests.harness.fixtures import LEDGER_PARTITIONS
from tests.support.published_lives import batches, published

POINTS: Final = ("before begin", "after send", "before commit", "after commit", "before positions", "resume")


class _Killer:
    """Ends this process when `point` is reached for the `count`-th time."""

    def __init__(self, point: str, count: int) -> None:
        self._point, self._left = point, count

    def reached(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def around(
        self, method: Callable[..., Awaitable[Any]], before: str = "", after: str = ""
    ) -> Callable[..., Awaitable[Any]]:
        async def watched(*args: Any, **named: Any) -> Any:
            self.reached(before)
            result = await method(*args, **named)
            self.reached(after)
            return result

        return watched


def armed(point: str, count: int) -> None:
    """From now on this process is killed when `point` is reached for the `count`-th time."""
    killer = _Killer(point, count)
    producer: Any = AIOKafkaProducer
    producer.begin_transaction = killer.around(producer.begin_transaction, before="before begin")
    producer.send_batch = killer.around(producer.send_batch, after="after send")
    producer.commit_transaction = killer.around(
        producer.commit_transaction, before="before commit", after="after commit"
    )
    partition: Any = Partition
    partition.tail = killer.around(partition.tail, before="before positions", after="resume")


async def _publish(url: str, size: int) -> None:
    entries = published(0, LEDGER_PARTITIONS)
    sink = await KafkaSink.open("kafka", Target.of(Address.of(url)), LEDGER_PARTITIONS)
    try:
        position = await sink.position(0)
        for batch in batches(entries, size, position.position if position else 0):
            await sink.deliver(batch)
    finally:
        await sink.close()


if __name__ == "__main__":
    armed(sys.argv[3], int(sys.argv[4]))
    asyncio.run(_publish(sys.argv[1], int(sys.argv[2])))
