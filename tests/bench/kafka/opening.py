"""What it takes to begin: a worker with many live jobs and a long log, a reader from offset 0, one very long job."""

import gc
import time
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.reader import Reader
from tests.bench.kafka.busy import FEEDS, until
from tests.bench.kafka.ledgers import PARTITIONS, Load, ledger, write_long_lives
from tests.bench.kafka.lives import LongLife, uid
from tests.bench.kafka.worker import Deciding
from tests.bench.results import Result
from tests.harness import Kafka

_FIRST: Final = 10.0
_ALL: Final = 60.0


class _Began(NamedTuple):
    first: float
    all: float


async def start(kafka: Kafka, jobs: int, entries: int) -> AsyncIterator[Result]:
    """Seconds from the start of a process to its first decision, and until all that waited is decided.

    Of every job one observation waits. With snapshots, as a process that was killed leaves them, and without.
    """
    life = LongLife.of(max(5, entries // jobs))
    waiting = Load([life.next.changed(job=uid(number)) for number in range(jobs)])
    for snapshots in (True, False):
        for feed in FEEDS if snapshots else FEEDS[:1]:
            async with ledger(kafka) as address:
                took = await write_long_lives(address, PARTITIONS, life, jobs, snapshots=snapshots)
                await waiting.put(address)
                began = await _begin(address, feed, jobs)
            size = f"{jobs:,} live jobs, {jobs * len(life.entries):,} entries, written in {took:.0f} s"
            how = feed if snapshots else f"{feed}, no snapshots"
            goals = (_FIRST, _ALL) if snapshots else (None, _ALL)
            yield Result(f"start to first decision: {how}", "s", (began.first,), goals[0], "most", size)
            yield Result(f"start to all decided: {how}", "s", (began.all,), goals[1], "most", size)


async def _begin(address: Address, feed: str, waiting: int) -> _Began:
    begun = time.time()
    with Deciding(feed, address) as process:
        await until(lambda: process.latest.decided >= waiting)
        lines = process.lines()
    first = next(line.at for line in lines if line.decided)
    last = next(line.at for line in lines if line.decided >= waiting)
    return _Began(first - begun, last - begun)


async def rebuild(kafka: Kafka, entries: int) -> AsyncIterator[Result]:
    """Entries a second of processor time that a reader folds from the first one on."""
    life = LongLife.of(100)
    async with ledger(kafka, 1) as address:
        await write_long_lives(address, 1, life, max(1, entries // len(life.entries)), snapshots=False)
        values, waited = [], 0.0
        for _ in range(3):
            count, seconds, used = await _fold(address)
            values.append(count / used)
            waited = seconds
    note = f"{count:,} entries, every hash checked; {count / waited:,.0f}/s by the clock"
    yield Result("rebuild from offset 0", "entries/s per core", tuple(values), 50_000, note=note)


async def _fold(address: Address) -> tuple[int, float, float]:
    """Entries, seconds, and seconds of processor time."""
    log, reader, count = await KafkaLog.open(address, 0, read_only=True), Reader(), 0
    gc.collect()
    gc.disable()  # as Reader.recover does
    begun, used = time.perf_counter(), time.process_time()
    try:
        async for batch in log.scan():
            count += len(batch)
            for record in batch:
                reader.accept(record)
        assert not reader.skipped
        return count, time.perf_counter() - begun, time.process_time() - used
    finally:
        gc.enable()
        await log.close()


async def long_job(kafka: Kafka, entries: int) -> AsyncIterator[Result]:
    """Seconds until the state of one very long job is there, and until its partition can be written."""
    life = LongLife.of(entries)
    for snapshots in (True, False):
        async with ledger(kafka, 1) as address:
            await write_long_lives(address, 1, life, 1, snapshots=snapshots)
            values = [await _open(address, len(life.entries)) for _ in range(3)]
        how = "with its snapshot" if snapshots else "without"
        note = f"{len(life.entries):,} entries, {how}"
        yield Result("one job opens", "s", tuple(values), 1.0 if snapshots else None, "most", note)


async def _open(address: Address, entries: int) -> float:
    assert partition_of(uid(0), 1) == 0
    begun = time.perf_counter()
    log, reader = await KafkaLog.open(address, 0), Reader()
    try:
        await reader.recover(log)
        assert reader.tracked(uid(0)).seq == entries
        return time.perf_counter() - begun
    finally:
        await log.close()
