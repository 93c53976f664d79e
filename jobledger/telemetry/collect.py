"""A running controller → samples of the catalog's metrics, at the moment somebody asks.

Nearly all of it is read off what lives anyway, so that nothing is counted on the way. What a process does not have
(a role that runs elsewhere, a cluster without an API server) it says nothing about.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from platform import python_version
from typing import Final

from jobledger.telemetry import catalog as c
from jobledger.telemetry.catalog import MetricFamily
from jobledger.telemetry.histogram import Spread
from jobledger.telemetry.instruments import Instruments
from jobledger.telemetry.measured import Measured, MeasuredSinks, OverApi, Watch
from jobledger.telemetry.tally import Tally
from projectors.workqueue import WorkQueue
from statemachine.engine.follower import Follower
from statemachine.engine.source import Pulse, WorkerReport
from statemachine.kinds import KNOWN
from statemachine.phases import Phase
from statemachine.state import JobState, ReplicaPhase

Samples = Iterable[tuple[tuple[str, ...], float | Spread]]
"""Label values, in the order of the labels, and the value."""

ALL: Final = "all"
"""The `resource` of a cluster that watches everything in one."""

_PHASES: Final = [phase for phase in Phase if phase is not Phase.NEW]
_REPLICA_PHASES: Final = [phase for phase in ReplicaPhase if phase is not ReplicaPhase.DELETED]


class Collector:
    """The samples of one controller, or of a process that waits to be one.

    `tally` is that of its log, `dead_letters` the number in it as last seen.
    """

    def __init__(self, measured: Measured | None, tally: Tally) -> None:
        self._measured, self._tally = measured, tally
        self._version = _version()
        self.dead_letters: int | None = None

    def samples(self) -> Iterator[tuple[MetricFamily, Samples]]:
        """Every metric of which there is something to say."""
        of = self._measured
        leads = of.leads if of is not None else False
        yield c.BUILD, [((self._version, python_version()), 1)]
        if leads is not None:
            yield c.LEADER, _one(leads)
        if of is not None:
            yield from self._controller(of)

    def _controller(self, of: Measured) -> Iterator[tuple[MetricFamily, Samples]]:
        if of.tells:
            yield from self._jobs(of)
            yield from self._log(of)
        if of.engine.decides or of.engine.worker is not None:
            yield c.OBSERVATIONS, of.instruments.decided.items()
            yield c.LATENCY, _one(of.instruments.latency)
        yield c.POSITION, _one(of.reader.position)
        yield c.WRITABLE, _one(not of.log_error)
        yield c.REFUSED_SNAPSHOTS, _one(_refused_snapshots(of))
        if of.ledger.check is not None and of.ledger.check.is_known:
            yield c.CLOCK, _one(of.ledger.check.ahead.total_seconds())
        yield from _loops(of.pulses())
        yield from _queues(of.queues, of.instruments)
        yield from _watches(of)
        if of.queues:
            yield c.UNCONFIRMED, _one(of.unconfirmed)
        if of.projectors is not None:
            yield c.ORPHANS, _one(of.projectors.sweeper.orphans)
            yield c.RELEASED, _one(of.projectors.sweeper.released)
        yield c.LAG, _by_name(of.lags)
        if of.sinks is not None:
            yield from of_sinks(of.sinks)
        if of.ledger.outbox is not None:
            yield from _partitions(of)

    def _jobs(self, of: Measured) -> Iterator[tuple[MetricFamily, Samples]]:
        jobs = Counter({(kind, phase.value): 0 for kind, phase in product(KNOWN, _PHASES)})
        replicas = Counter({(kind, phase.value): 0 for kind, phase in product(KNOWN, _REPLICA_PHASES)})
        for state in self._states(of):
            if not state.deleted:
                jobs[state.kind, state.phase.value] += 1
            replicas.update(
                (state.kind, replica.phase.value) for replica in state.replicas.values() if replica.has_pod
            )
        yield c.ALL_JOBS, jobs.items()
        yield c.REPLICAS, replicas.items()
        if self._tally.whole:
            for about, counts in self._tally.counts.items():
                yield about, counts.items()
            for about, spreads in self._tally.spreads.items():
                yield about, spreads.items()

    def _states(self, of: Measured) -> list[JobState]:
        """The states of the jobs that are not over."""
        states = map(of.states.state, of.reader.open_jobs)
        return [state for state in states if state is not None]

    def _log(self, of: Measured) -> Iterator[tuple[MetricFamily, Samples]]:
        tally = self._tally
        if tally.whole:
            yield c.ENTRIES, _one(tally.entries)
            yield c.SKIPPED, _one(tally.skipped)
        yield c.UNCOUNTED, _one(max(0, of.reader.position - tally.position))
        yield c.QUARANTINED, _one(len(of.reader.quarantined))
        if self.dead_letters is not None:
            yield c.DEAD_LETTERS, _one(self.dead_letters)


def of_sinks(of: MeasuredSinks) -> Iterator[tuple[MetricFamily, Samples]]:
    """What there is to say of sinks of public events."""
    yield c.SINK_LAG, _by_name(of.lag_entries())
    yield c.SINK_AGE, _by_name(of.lag_seconds())
    yield c.SINK_EVENTS, of.settled().items()
    yield c.SCRUBBED, _one(of.scrubbed())
    yield (
        c.SINK_ATTEMPTS,
        [((sink.name, outcome), count) for sink in of.fed for outcome, count in sink.attempts.items()],
    )
    yield c.SINK_FAILED, _by_name({sink.name: sink.failed for sink in of.fed})
    yield c.SINK_DISABLED, _by_name({sink.name: int(bool(sink.disabled)) for sink in of.fed})


def _refused_snapshots(of: Measured) -> int:
    """Those that states were not made of, here and in the partitions that this process decides."""
    worker = of.engine.worker
    decided = worker.report().counts.get("refused_snapshots", 0) if worker is not None else 0
    return sum(event_log.refused_snapshots for event_log in of.ledger.partitions.logs) + decided


def _partitions(of: Measured) -> Iterator[tuple[MetricFamily, Samples]]:
    """Also a process that decides nothing says that it owns none: so the sum is there when nobody does."""
    report = of.engine.worker.report() if of.engine.worker is not None else WorkerReport()
    if count := report.partitions or len(of.ledger.partitions.logs):
        yield c.PARTITIONS, _one(count)
    yield c.OWNED, _one(len(report.waiting))
    if isinstance(of.engine.source, Follower):
        yield c.UNREAD, _by_name({str(number): unread for number, unread in of.engine.source.unread.items()})
    if of.engine.worker is None:
        return
    yield c.WAITING, _by_name({str(number): waiting for number, waiting in report.waiting.items()})
    yield c.TAKEOVERS, _one(report.counts.get("takeovers", 0))
    if report.taken_over_at is not None:
        yield c.TAKEN_OVER_AT, _one(report.taken_over_at.timestamp())
    yield c.BEGUN_ANEW, _by_name(report.endings)
    yield c.REPEATS, _one(report.counts.get("repeats", 0))
    yield c.LETTERS, _one(report.counts.get("letters", 0))


def _loops(pulses: Mapping[str, Pulse]) -> Iterator[tuple[MetricFamily, Samples]]:
    yield c.BEATS, _by_name({name: pulse.beats for name, pulse in pulses.items()})
    yield c.BUSY, _by_name({name: pulse.busy for name, pulse in pulses.items()})


def _queues(
    queues: Mapping[str, WorkQueue], instruments: Instruments
) -> Iterator[tuple[MetricFamily, Samples]]:
    visits = instruments.visits
    yield c.DEPTH, _by_name({name: queue.depth for name, queue in queues.items()})
    yield c.RETRIES, _by_name({name: queue.failures for name, queue in queues.items()})
    yield c.VISIT_SECONDS, _by_name({name: visit.seconds for name, visit in visits.items()})
    yield c.LONGEST, _by_name({name: visit.longest for name, visit in visits.items()})


def _watches(of: Measured) -> Iterator[tuple[MetricFamily, Samples]]:
    """Of the API server's collections where there is one, else of the one watch of the bridge."""
    if not isinstance(of.cluster, OverApi):
        if of.bridge is not None:
            progress = of.bridge.progress
            yield c.SYNCED, _by_name({ALL: progress.synced})
            yield c.WATCH_RESTARTS, _by_name({ALL: max(0, progress.starts - 1)})
        return
    yield c.REQUESTS, of.cluster.api.sent.items()
    watches: dict[str, list[Watch]] = {}
    for watch in of.cluster.watches:
        if not watch.absent:
            watches.setdefault(watch.kind, []).append(watch)  # one a namespace
    yield from _watched(watches)


def _watched(watches: Mapping[str, Sequence[Watch]]) -> Iterator[tuple[MetricFamily, Samples]]:
    now = asyncio.get_running_loop().time()
    synced = {kind: all(watch.synced for watch in of_kind) for kind, of_kind in watches.items()}
    yield c.SYNCED, _by_name(synced)
    heard = {kind: min(watch.heard for watch in of_kind) for kind, of_kind in watches.items()}
    yield c.SILENCE, _by_name({kind: now - at for kind, at in heard.items() if at})
    restarts = {
        kind: sum(max(0, watch.watches - 1) for watch in of_kind) for kind, of_kind in watches.items()
    }
    yield c.WATCH_RESTARTS, _by_name(restarts)
    yield (
        c.LISTS,
        _by_name({kind: sum(watch.lists for watch in of_kind) for kind, of_kind in watches.items()}),
    )


def _one(value: float | Spread) -> Samples:
    return [((), value)]


def _by_name(values: Mapping[str, float | Spread] | Mapping[str, float] | Mapping[str, Spread]) -> Samples:
    return [((name,), value) for name, value in values.items()]


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("jobledger")
    except PackageNotFoundError:
        return "unknown"
