"""How long no decisions come while partitions go from one process to another: killed, stopped, restarted in turn."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Final

from aiokafka import TopicPartition

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import consumer, started, stopped
from statemachine.log.kafka.layout import EVENTS
from statemachine.log.kafka.outbox import KafkaOutbox
from tests.bench.kafka.busy import FEEDS, until
from tests.bench.kafka.delay import steadily
from tests.bench.kafka.ledgers import PARTITIONS, ledger
from tests.bench.kafka.lives import lives
from tests.bench.kafka.worker import Deciding
from tests.bench.results import Result
from tests.harness import Kafka

_RATE: Final = 160
"""Observations a second, over all partitions: each has some twenty."""

_LONGEST: Final = 300
"""Seconds for which there are observations."""

_AFTER: Final = 3.0
_HAND_OVER: Final = 5.0
_TAKE_OVER: Final = 2.0

Step = Callable[[Deciding, Deciding], Awaitable[None]]


async def silence(kafka: Kafka, session: float) -> AsyncIterator[Result]:
    """The longest time in which no entry came in a partition, two processes deciding before."""
    for feed in FEEDS:

        async def of(
            name: str, step: Step, goal: float | None, feed: str = feed, instances: tuple[str, str] = ("", "")
        ) -> Result:
            seconds = await _measure(kafka, feed, session, step, instances)
            note = f"longest silence of a partition, session {session:g} s"
            return Result(f"{name}: {feed}", "s", (seconds,), goal, "most", note)

        yield await of("take-over after kill -9", _kill, session + _TAKE_OVER)
        yield await of("hand-over by a stop", _stop, _HAND_OVER)
        yield await of("rolling restart", _restart, _HAND_OVER, instances=("one", "two"))


async def _kill(one: Deciding, two: Deciding) -> None:
    one.kill()
    await until(lambda: two.latest.owned == PARTITIONS)


async def _stop(one: Deciding, two: Deciding) -> None:
    await asyncio.to_thread(one.stop)
    await until(lambda: two.latest.owned == PARTITIONS)


async def _restart(*both: Deciding) -> None:
    for worker in both:
        await asyncio.to_thread(worker.stop)
        worker.start()
        began = time.time()
        await until(lambda worker=worker, began=began: worker.latest.at > began and worker.latest.owned > 0)  # type: ignore[misc]


async def _measure(kafka: Kafka, feed: str, session: float, step: Step, instances: tuple[str, str]) -> float:
    async with ledger(kafka) as address, _arrivals(address) as arrived:
        one, two = (Deciding(feed, address, session=session, instance=instance) for instance in instances)
        with one, two:
            await until(lambda: one.latest.owned == two.latest.owned == PARTITIONS // 2)
            outbox = await KafkaOutbox.open(address)
            sending = asyncio.create_task(steadily(outbox, lives(_RATE * _LONGEST), _RATE))
            try:
                await until(lambda: len(arrived) == PARTITIONS)
                begun = time.time()
                await step(one, two)
                await asyncio.sleep(_AFTER)
                await until(lambda: min(times[-1] for times in arrived.values()) > time.time() - 1)
            finally:
                sending.cancel()
                await asyncio.wait([sending])
                await outbox.close()
        return max(_longest(times, begun) for times in arrived.values())


def _longest(times: list[float], since: float) -> float:
    """The longest time between two entries, the later one of which came after a moment."""
    return max(after - before for before, after in pairwise(times) if after > since)


@asynccontextmanager
async def _arrivals(address: Address) -> AsyncIterator[dict[int, list[float]]]:
    """By partition, when entries came, for as long as the block lasts."""
    arrivals: defaultdict[int, list[float]] = defaultdict(list)
    parts = [TopicPartition(address.topic(EVENTS.name), number) for number in range(PARTITIONS)]
    reader = consumer(address, wait=0.1)

    async def read() -> None:
        while True:
            for part, messages in (await reader.getmany(*parts, timeout_ms=100)).items():
                if messages:
                    arrivals[part.partition].append(time.time())

    await started(reader)
    reader.assign(parts)
    for part in parts:
        reader.seek(part, 0)
    reading = asyncio.create_task(read())
    try:
        yield arrivals
    finally:
        reading.cancel()
        await asyncio.wait([reading])
        await stopped(reader)
