"""Public events of a ledger in Kafka: what a publisher costs the engine, how soon events are there, a backfill."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from aiokafka import TopicPartition

from jobledger.program.garbage import collect_rarely
from projectors.contract.binding import POSITION
from projectors.contract.publication import Publication
from projectors.sinks.feeding import Feeder
from projectors.sinks.kafka import KafkaSink
from statemachine.ids import Position
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import consumer, started, stopped
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.publishing import Target
from statemachine.log.port import EntryDraft
from tests.bench.histories import history
from tests.bench.kafka.busy import measured
from tests.bench.kafka.ledgers import Load, ledger
from tests.bench.kafka.lives import lives
from tests.bench.results import Result
from tests.harness import Kafka
from tests.support.memory_log import MemoryLog

_TURNS: Final = 3
_RATE: Final = 200
_PATIENCE: Final = 300.0


async def cost(kafka: Kafka, observations: int) -> AsyncIterator[Result]:
    """An engine's throughput with a publisher in another process, in percent of that without one, by turns."""
    load, shares = Load(lives(observations)), []
    for _ in range(_TURNS):
        alone = await measured(kafka, load, "aiokafka", 1)
        beside = await measured(kafka, load, "aiokafka", 1, beside=publisher)
        shares.append(100 * beside.rate / alone.rate)
    note = f"{load.size:,} observations; broker, engine and publisher share this machine"
    yield Result("engine beside a publisher", "% of without", tuple(shares), 95, note=note)


async def readable(kafka: Kafka, seconds: float) -> AsyncIterator[Result]:
    """Milliseconds from a durable entry to its first event for a reader of what is committed."""
    drafts = _drafts(int(_RATE * seconds))
    async with ledger(kafka, 1) as address:
        log = await KafkaLog.open(address, 0)
        with publisher(address):
            reader = await started(consumer(address, None, wait=0.05))
            try:
                waits = await _waits(reader, address, log, drafts)
            finally:
                await stopped(reader)
                await log.close()
    p99 = sorted(waits)[int(0.99 * len(waits))]
    note = f"{len(waits):,} entries at {_RATE}/s"
    yield Result("durable entry to event in the topic, p99", "ms", (p99,), 500, "most", note)


async def backfill(kafka: Kafka, entries: int) -> AsyncIterator[Result]:
    """Events a second that one publisher writes of a log that is there, to one partition."""
    log = MemoryLog()
    await log.append(_drafts(entries))
    collect_rarely()  # as `events publish` does
    rates = []
    for _ in range(_TURNS):
        async with ledger(kafka, 1) as address:
            sink = await KafkaSink.open("kafka", Target.of(address), 1)
            feeder = Feeder(log, 0, sink, Publication("bench"))
            begun, spent = time.perf_counter(), time.process_time()
            await feeder.advance()
            seconds, cpu = time.perf_counter() - begun, time.process_time() - spent
            await sink.close()
            rates.append(feeder.settled.total() / seconds)
    note = f"{feeder.settled.total() / cpu:,.0f} in a second of processor time"
    yield Result("backfill to a topic", "events/s", tuple(rates), 8_000, note=note)


@contextmanager
def publisher(address: Address) -> Iterator[None]:
    """A process publishes the ledger to its own topic until the block is left."""
    words = ["events", "publish", "--to", "kafka:", "--log", str(address)]
    with subprocess.Popen(
        [sys.executable, "-m", "jobledger", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.kill()


def _drafts(entries: int) -> list[EntryDraft]:
    jobs = range(entries // len(list(history(0))) + 1)
    return [moment.draft for number in jobs for moment in history(number)][:entries]


async def _waits(reader: Any, address: Address, log: KafkaLog, drafts: Sequence[EntryDraft]) -> list[float]:
    durable: dict[Position, float] = {}
    arrived: dict[Position, float] = {}
    reading = asyncio.create_task(_read(reader, address, arrived))
    first = await log.append(drafts[:1])  # the publisher runs
    await _until(arrived, first[0].position)
    begun = time.perf_counter()
    for number, draft in enumerate(drafts[1:]):
        await asyncio.sleep(max(0.0, begun + number / _RATE - time.perf_counter()))
        (record,) = await log.append([draft])
        durable[record.position] = time.perf_counter()
    await _until(arrived, max(durable))
    reading.cancel()
    return [1000 * (arrived[place] - at) for place, at in durable.items() if place in arrived]


async def _read(reader: Any, address: Address, arrived: dict[Position, float]) -> None:
    partition = TopicPartition(address.topic("cloudevents"), 0)
    reader.assign([partition])
    reader.seek(partition, 0)
    while True:
        for records in (await reader.getmany(timeout_ms=1000)).values():
            for record in records:
                arrived.setdefault(int(dict(record.headers)[POSITION]), time.perf_counter())


async def _until(arrived: dict[Position, float], position: Position) -> None:
    """The event of the last entry has come; an entry may have none, so a later one will do."""
    async with asyncio.timeout(_PATIENCE):
        while max(arrived, default=0) < position:  # noqa: ASYNC110 - the reader sets no event
            await asyncio.sleep(0.02)
