"""Observations a second while there are always more: workers by either feed, beside the bare loop."""

import asyncio
import statistics
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

_GOALS: Final = {"faust": 60.0, "aiokafka": 80.0}
"""How much a busy worker decides in a second of processor time, in percent of what the bare loop does."""

_TURNS: Final = 3

_LOOK: Final = 0.2
_PATIENCE: Final = 600.0
_SEVERAL: Final = (2, 4)


class _Measured(NamedTuple):
    rate: float
    """Observations a second of all workers."""
    cpu: float
    """Microseconds of the processor an observation."""


async def busy(kafka: Kafka, observations: int) -> AsyncIterator[Result]:
    """One worker of each kind on the same observations, by turns; then several."""
    load = Load(lives(observations))
    turns: dict[str, list[_Measured]] = {who: [] for who in (BARE, *FEEDS)}
    for _ in range(_TURNS):
        for who, figures in turns.items():
            figures.append(await measured(kafka, load, who, 1))
    bare = turns.pop(BARE)
    note = f"{load.size:,} observations, {_cpu(bare):.0f} µs of CPU each"
    yield Result("bare loop, busy", "observations/s", tuple(one.rate for one in bare), note=note)
    for feed, figures in turns.items():
        rates = tuple(one.rate for one in figures)
        note = f"{_cpu(figures):.0f} µs of CPU each"
        yield Result(f"one worker, busy: {feed}", "observations/s", rates, note=note)
        shares = tuple(100 * base.cpu / one.cpu for base, one in zip(bare, figures, strict=True))
        note = "processor time of the bare loop in that of the worker, by turns"
        yield Result(f"share of the bare loop: {feed}", "%", shares, _GOALS[feed], note=note)
        for workers in _SEVERAL:
            many = await measured(kafka, load, feed, workers)
            note = f"{many.cpu:.0f} µs of CPU each; {many.rate / statistics.median(rates):.2f} of one"
            yield Result(f"{workers} workers, busy: {feed}", "observations/s", (many.rate,), note=note)


def _cpu(figures: Sequence[_Measured]) -> float:
    return statistics.median(one.cpu for one in figures)


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
