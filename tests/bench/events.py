"""Public events of stored entries: how many in a second of processor time."""

import time
from collections.abc import Callable, Iterator, Sequence

from projectors.contract.envelope import structured
from projectors.contract.publication import Publication
from projectors.contract.stream import Publisher
from statemachine.log.port import Record
from tests.bench.histories import history
from tests.bench.results import Result

_JOBS = 300
_RUNS = 5


def public_events() -> Iterator[Result]:
    """Bytes of entries → public events, and → lines of a file: every hash checked, every state folded."""
    yield Result("project public events", "entries/s CPU", _rates(projecting), 15_000)
    yield Result("public events as lines", "events/s CPU", _rates(writing), 12_000, note="no disk")


def projecting(records: Sequence[Record]) -> Callable[[], int]:
    """Every entry is projected, once a call."""

    def run() -> int:
        publisher = Publisher(Publication("bench"))
        for _ in publisher.all(iter(records)):
            pass
        assert not publisher.held
        return len(records)

    return run


def writing(records: Sequence[Record]) -> Callable[[], int]:
    """Every event is written as a line, once a call."""

    def run() -> int:
        return sum(1 for event in Publisher(Publication("bench")).all(iter(records)) if structured(event))

    return run


def _rates(prepared: Callable[[Sequence[Record]], Callable[[], int]]) -> tuple[float, ...]:
    """Things in a second of processor time, of each run after one to warm up.

    Every run has jobs of its own: one that was met before is projected faster than a log is read.
    """
    prepared(_records(0))()
    measured = []
    for number in range(1, _RUNS + 1):
        run = prepared(_records(number))
        begun = time.process_time()
        count = run()
        measured.append(count / (time.process_time() - begun))
    return tuple(measured)


def _records(run: int) -> Sequence[Record]:
    """The entries of jobs that no other run has."""
    jobs = range(run * _JOBS, (run + 1) * _JOBS)
    drafts = [moment.draft for number in jobs for moment in history(number)]
    return [Record(place, draft.job, draft.seq, draft.body) for place, draft in enumerate(drafts, 1)]
