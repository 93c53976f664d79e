"""From noticing something to its durable entry, while not much is going on."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Final

from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.observations import Observation
from tests.bench.kafka.bare import BARE
from tests.bench.kafka.busy import FEEDS, until
from tests.bench.kafka.ledgers import PARTITIONS, ledger
from tests.bench.kafka.lives import lives
from tests.bench.kafka.worker import Deciding
from tests.bench.results import Result
from tests.harness import Kafka

RATE: Final = 200
"""Observations a second, while not much is going on."""

_WARM_UP: Final = 2.0
_TICK: Final = 0.001

_GOALS: Final = (12.0, 50.0)
"""Of a worker: median, p99."""


async def delay(kafka: Kafka, seconds: float, rate: int) -> AsyncIterator[Result]:
    """Milliseconds at `rate` observations a second, of the bare loop and each feed; sending them is part of it."""
    for who in (BARE, *FEEDS):
        late = await _measure(kafka, who, seconds, rate)
        note = f"{len(late):,} observations at {rate}/s"
        delays = sorted(1000 * delay_seconds for delay_seconds in late)
        p99 = delays[int(0.99 * len(delays))]
        median_goal, p99_goal = _GOALS if who in FEEDS and rate == RATE else (None, None)
        median = statistics.median(delays)
        yield Result(f"observation to entry, median: {who}", "ms", (median,), median_goal, "most", note)
        yield Result(f"observation to entry, p99: {who}", "ms", (p99,), p99_goal, "most", note)


async def _measure(kafka: Kafka, who: str, seconds: float, rate: int) -> list[float]:
    observations = lives(int(rate * (seconds + _WARM_UP)))
    async with ledger(kafka) as address:
        with Deciding(who, address) as process:
            await until(lambda: process.latest.owned == PARTITIONS)
            outbox = await KafkaOutbox.open(address)
            try:
                await steadily(outbox, observations, rate)
            finally:
                await outbox.close()
            await until(lambda: sum(len(line.late) for line in process.lines()) >= len(observations))
            return [seconds for line in process.lines() for seconds in line.late][int(rate * _WARM_UP) :]


async def steadily(outbox: KafkaOutbox, observations: Sequence[Observation], rate: float) -> None:
    """The observations are put at this rate, each observed at the moment when it is due, however late it is put."""
    begun, done = time.time(), 0
    while done < len(observations):
        due = min(len(observations), int((time.time() - begun) * rate) + 1)
        await outbox.put(
            [
                observations[number].changed(at=datetime.fromtimestamp(begun + number / rate, UTC))
                for number in range(done, due)
            ]
        )
        done = due
        await asyncio.sleep(max(_TICK, begun + done / rate - time.time()))
