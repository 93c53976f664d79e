"""The pure core on one processor: folding stored bytes, and deciding."""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from jobledger.telemetry.tally import Tally
from statemachine.decide import decide
from statemachine.evolve import fold
from statemachine.log.port import EntryDraft
from statemachine.log.reader import Reader
from tests.bench.histories import Moment, history
from tests.bench.results import Result, rates
from tests.support.memory_log import MemoryLog

_JOBS = 2000

Work = Callable[[], int]
"""Does something that is measured; how many things it did."""


def fold_stored() -> Iterator[Result]:
    """Bytes of entries → states, every hash checked: what a start without snapshots does."""
    drafts = [moment.draft for number in range(_JOBS) for moment in history(number)]
    size = sum(len(draft.body) for draft in drafts) / len(drafts)
    yield Result(
        "fold stored entries", "entries/s", rates(folding(drafts)), 100_000, note=f"{size:.0f} bytes an entry"
    )


def folding(drafts: Sequence[EntryDraft]) -> Work:
    """Every entry is folded, once a call."""
    log = MemoryLog()
    asyncio.run(log.append(drafts))

    def run() -> int:
        reader = Reader()
        asyncio.run(reader.recover(log))
        assert not reader.skipped
        return reader.position

    return run


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
    """Observations that change something, and the same ones a second time on the state that they led to."""
    moments = [moment for number in range(_JOBS // 4) for moment in history(number)]
    yield Result("decide", "observations/s", rates(deciding(moments)), 20_000, note="all say something")
    again = rates(deciding(repeats(moments)))
    yield Result("decide repeats", "observations/s", again, 20_000, note="all were observed before")


def deciding(moments: Sequence[Moment]) -> Work:
    """Every observation is decided on the state before it, once a call."""

    def run() -> int:
        for moment in moments:
            decide(moment.before, moment.observation)
        return len(moments)

    return run


def repeats(moments: Sequence[Moment]) -> Sequence[Moment]:
    """The same observations, a moment later: on the state that the first of them led to."""
    return [
        moment._replace(before=fold(moment.before, decide(moment.before, moment.observation)))
        for moment in moments
    ]
