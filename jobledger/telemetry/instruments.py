"""What measures a controller from inside, at the few places that everything passes.

Entries and silent observations come from the engine's listeners, visits pass a wrapper. `telemetry.spans` adds
tracing at the same places; here nothing is wrapped that need not be.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Final

from jobledger.telemetry.catalog import LATENCY, VISIT_SECONDS
from jobledger.telemetry.histogram import Spread
from k8s_bridge.port import Cluster
from statemachine.ids import JobUid
from statemachine.log.entry import Entry
from statemachine.log.reader import Folded
from statemachine.observations import Observation

Visit = Callable[[JobUid], Awaitable[float | None]]
Sink = Callable[[Observation], Awaitable[None]]

ENTRY: Final = "entry"
NOTHING: Final = "nothing"


def _now() -> datetime:
    return datetime.now(UTC)


class Visits:
    """The visits of one work queue."""

    def __init__(self) -> None:
        self.seconds = Spread(VISIT_SECONDS.bounds)
        self._running: dict[JobUid, float] = {}

    async def timed(self, visit: Visit, job: JobUid) -> float | None:
        """What `visit` gives for `job`; how long that takes is kept."""
        began = self._running[job] = perf_counter()
        try:
            return await visit(job)
        finally:
            del self._running[job]
            self.seconds.add(perf_counter() - began)

    @property
    def longest(self) -> float:
        """Age in seconds of the oldest visit under way; 0 if there is none."""
        return perf_counter() - min(self._running.values()) if self._running else 0.0


class Instruments:
    """Counts what only this process knows; `now` tells the time that observations carry."""

    def __init__(self, now: Callable[[], datetime] = _now) -> None:
        self._now = now
        self.decided: Counter[tuple[str, str]] = Counter()
        """Observations by type and outcome."""
        self.latency = Spread(LATENCY.bounds)
        self.visits: dict[str, Visits] = {}

    def entry(self, folded: Folded) -> None:
        """An entry is durable. One that somebody else wrote tells nothing about us."""
        entry = folded.entry
        if isinstance(entry, Entry):
            self.decided[entry.cause.type, ENTRY] += 1
            self.latency.add((self._now() - entry.seen_at).total_seconds())

    def silent(self, observation: Observation) -> None:
        """An observation changed nothing."""
        self.decided[observation.type, NOTHING] += 1

    def visit(self, name: str, visit: Visit) -> Visit:
        """`visit`, measured, for the work queue of this name."""
        visits = self.visits[name] = Visits()
        return partial(visits.timed, visit)

    def cluster(self, cluster: Cluster) -> Cluster:
        """`cluster` as projectors get it."""
        return cluster

    def sink(self, sink: Sink) -> Sink:
        """`sink` as sources of observations get it."""
        return sink

    def trace(self, observation: Observation) -> str:
        """The W3C trace context (`traceparent`) of `seen`, to go with it to another process; empty without one."""
        del observation
        return ""

    async def close(self) -> None:
        """What was measured and not handed over yet is, within seconds; idempotent."""
