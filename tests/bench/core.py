"""The pure core on one processor: folding stored bytes, and deciding."""

import asyncio
from collections.abc import Iterator

from jobledger.telemetry.tally import Tally
from statemachine.decide import decide
from statemachine.log.memory import MemoryLog
from statemachine.log.reader import Reader
from tests.bench.histories import history
from tests.bench.results import Result, rates

_JOBS = 2000


def fold_stored() -> Iterator[Result]:
    """Bytes of entries → states, every hash checked: what a start without snapshots does."""
    drafts = [moment.draft for number in range(_JOBS) for moment in history(number)]
    log = MemoryLog()
    asyncio.run(log.append(drafts))

    def run() -> int:
        reader = Reader()
        asyncio.run(reader.recover(log))
        assert not reader.skipped
        return reader.position

    size = sum(len(each.body) for each in drafts) / len(drafts)
    yield Result("fold stored entries", "entries/s", rates(run), 100_000, note=f"{size:.0f} bytes an entry")


def count_stored() -> Iterator[Result]:
    """Bytes of entries → the counters of `/metrics`: what the first scrape after a start waits for."""
    drafts = [moment.draft for number in range(_JOBS) for moment in history(number)]
    log = MemoryLog()
    asyncio.run(log.append(drafts))

    def run() -> int:
        tally = Tally()
        asyncio.run(tally.advance(log))
        return tally.entries

    yield Result("count stored entries", "entries/s", rates(run), 50_000, note="for the metrics")


def decide_observations() -> Iterator[Result]:
    """Observations that change something, and each of them a second time on the state it led to."""
    moments = [moment for number in range(_JOBS // 4) for moment in history(number)]
    states = [moment.before for moment in moments[1:]]

    def run() -> int:
        for moment in moments:
            decide(moment.before, moment.seen)
        return len(moments)

    def run_again() -> int:
        for state, moment in zip(states, moments, strict=False):
            decide(state, moment.seen)
        return len(states)

    yield Result("decide", "observations/s", rates(run), 20_000, note="each says something")
    yield Result("decide repeats", "observations/s", rates(run_again), 20_000, note="each was seen before")
