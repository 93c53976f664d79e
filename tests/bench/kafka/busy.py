"""Observations a second while there are always more: workers by either feed, beside the bare loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Final, NamedTuple

from statemachine.log.kafka.address import Address
from tests.bench.kafka.bare import BARE
from tests.bench.kafka.ledgers import PARTITIONS, Load, ledger
from tests.bench.kafka.lives import lives
from tests.bench.kafka.worker import Deciding, Line
from tests.bench.results import Result
from tests.harness import Kafka

FEEDS: Final = ("faust", "aiokafka")

_LOOK: Final = 0.2
_PATIENCE: Final = 600.0
_SEVERAL: Final = (2, 4)


class _Measured(NamedTuple):
    rate: float
    """Observations a second of all workers."""
    cpu: float
    """Microseconds of the processor an observation."""


async def busy(kafka: Kafka, observations: int) -> AsyncIterator[Result]:
    """One worker of each kind on the same observations, then several."""
    load = Load(lives(observations))
    bare = await measured(kafka, load, BARE, 1)
    note = f"{load.size:,} observations, {bare.cpu:.0f} µs of CPU each"
    yield Result("bare loop, busy", "observations/s", (bare.rate,), note=note)
    for feed in FEEDS:
        throughput = await measured(kafka, load, feed, 1)
        note = f"{throughput.cpu:.0f} µs of CPU each; {throughput.rate / bare.rate:.2f} of the bare loop"
        goal = 8000.0 if feed == "faust" else 0.6 * bare.rate
        yield Result(f"one worker, busy: {feed}", "observations/s", (throughput.rate,), goal, note=note)
        for workers in _SEVERAL:
            many = await measured(kafka, load, feed, workers)
            note = f"{many.cpu:.0f} µs of CPU each; {many.rate / throughput.rate:.2f} of one"
            yield Result(f"{workers} workers, busy: {feed}", "observations/s", (many.rate,), note=note)


async def measured(
    kafka: Kafka,
    load: Load,
    who: str,
    workers: int,
    beside: Callable[[Address], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> _Measured:
    """From when all observations are there until all are decided, by workers that had their shares before.

    `beside`: what else goes on meanwhile.
    """
    async with ledger(kafka) as address:
        with ExitStack() as stack:
            stack.enter_context(beside(address))
            processes = [stack.enter_context(Deciding(who, address)) for _ in range(workers)]
            share = PARTITIONS // workers
            await until(lambda: all(process.latest.owned == share for process in processes))
            await load.put(address)
            there = time.time()
            await until(lambda: sum(process.latest.decided for process in processes) >= load.size)
            return _between(there, [process.lines() for process in processes], load.size)


def _between(begin: float, workers: Sequence[list[Line]], size: int) -> _Measured:
    """`begin`: when the last was put; if nearly all was decided by then, from the first decision on."""
    starts = [_at(lines, begin) for lines in workers]
    if sum(start.decided for start in starts) > size // 2:
        begin = min(line.at for lines in workers for line in lines if line.decided)
        starts = [_at(lines, begin) for lines in workers]
    lasts = [next(line for line in lines if line.decided == lines[-1].decided) for lines in workers]
    done = size - sum(start.decided for start in starts)
    spent = sum(last.cpu - start.cpu for start, last in zip(starts, lasts, strict=True))
    return _Measured(done / (max(last.at for last in lasts) - begin), 1e6 * spent / done)


def _at(lines: Sequence[Line], when: float) -> Line:
    return [line for line in lines if line.at <= when][-1]


async def until(look: Callable[[], bool]) -> None:
    """`look` is true."""
    async with asyncio.timeout(_PATIENCE):
        while not look():  # noqa: ASYNC110 - other processes tell nobody
            await asyncio.sleep(_LOOK)
