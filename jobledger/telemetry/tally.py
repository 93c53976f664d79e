"""What has happened to jobs, counted from the log: the same after any restart, on any machine.

A tally reads the log from its first entry on, at its own pace and each entry once, so nothing is missed or counted
twice where reading up ends and following begins. It believes the entries that `log.reader` believes (per job the
next one that names the one before it by hash), and decodes only those that say something to be counted.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from itertools import product
from sys import intern
from typing import Final

from jobledger.telemetry.catalog import (
    ADMITTED,
    BACKOFFS,
    DELETED,
    DENIED,
    DURATION_SECONDS,
    FAILURES,
    FINISHED,
    REFUSED,
    RESTARTS,
    START_SECONDS,
    TRANSITIONS,
    MetricFamily,
)
from jobledger.telemetry.histogram import Spread
from statemachine.errors import EntryUnreadable
from statemachine.events import Cause, CauseClass, Event, PhaseEntered
from statemachine.ids import JobUid, Position, Seq
from statemachine.kinds import KNOWN
from statemachine.log.closed_jobs import ClosedJobs
from statemachine.log.codec import entry_hash
from statemachine.log.entry import GENESIS, WHOLE
from statemachine.log.port import EventLog, Record
from statemachine.log.reader import read
from statemachine.phases import Phase
from statemachine.upcasters import UPCASTERS

Labels = tuple[str, ...]

_COUNTED: Final = (
    "JobAdmitted",
    "JobDeleted",
    "PhaseEntered",
    "ReplicaFailed",
    "ReplicaLost",
    "RestartScheduled",
    "RestartDenied",
    "ReplicaDelayed",
    "ChildRefused",
    "JobClosed",
)

_AT_ONCE: Final = 200
"""Entries between which other work gets its turn: some 3 ms."""

_COUNTERS: Final = (ADMITTED, FINISHED, DELETED, TRANSITIONS, RESTARTS, BACKOFFS, DENIED, FAILURES, REFUSED)
_SPREADS: Final = (START_SECONDS, DURATION_SECONDS)


def _telling() -> re.Pattern[bytes]:
    """Finds entries that may hold an event that counts, or one that is called so by now.

    Inside a JSON text the quotes would be escaped; an object of a user's that looks like this costs a decoding.
    """
    names = sorted({*_COUNTED, *(type_ for type_, _ in UPCASTERS)})
    return re.compile(rb'"type":"(?:%b)"' % "|".join(names).encode())


_TELLING: Final = _telling()


class _Job:
    """A job as far as counting needs it."""

    __slots__ = ("admitted_at", "head", "kind", "lost", "phase", "running_at", "seq")

    def __init__(self) -> None:
        self.seq: Seq = 0
        self.head = GENESIS
        self.lost = False
        """Its history cannot be read any further."""
        self.kind = ""
        self.phase = Phase.NEW
        self.admitted_at: datetime | None = None
        self.running_at: datetime | None = None


class Tally:
    """Counts over the entries of a ledger. `whole`: the end was reached once."""

    def __init__(self) -> None:
        self._reached: Counter[int] = Counter()
        """By partition, the position of the last record that was taken."""
        self.whole = False
        self.entries = 0
        self.skipped = 0
        self.counts: Mapping[MetricFamily, Counter[Labels]] = {family: Counter() for family in _COUNTERS}
        self.spreads: Mapping[MetricFamily, dict[Labels, Spread]] = {family: {} for family in _SPREADS}
        self._jobs: dict[JobUid, _Job] = {}
        self._closed = ClosedJobs()
        """Nothing more is counted of them."""
        self._start_at_zero()

    def _start_at_zero(self) -> None:
        """What is known to be counted some day begins with 0: a rate over a first appearance would miss it."""
        for kind, cause in product(KNOWN, CauseClass):
            self.counts[RESTARTS][kind, cause.value] = 0
            self.counts[FAILURES][kind, cause.value] = 0
            self.counts[FINISHED][kind, Phase.FAILED.value, cause.value] = 0
        for kind in KNOWN:
            self.counts[BACKOFFS][kind,] = 0
            self.counts[ADMITTED][kind,] = self.counts[DELETED][kind,] = 0
            self.counts[FINISHED][kind, Phase.SUCCEEDED.value, ""] = 0

    @property
    def position(self) -> Position:
        """How far all partitions are counted: where there are several, the sum."""
        return sum(self._reached.values())

    async def advance(self, *logs: EventLog) -> None:
        """Every entry that the logs of the partitions hold now is counted; the event loop is never held for long.

        Raises:
            LogError: one cannot be read now; what was counted stays, and nothing was counted twice.
        """
        for partition, log in enumerate(logs):
            async for batch in log.scan(self._reached[partition]):
                for start in range(0, len(batch), _AT_ONCE):
                    for record in batch[start : start + _AT_ONCE]:
                        self.take(record, partition)
                    await asyncio.sleep(0)
        self.whole = True

    def take(self, record: Record, partition: int = 0) -> None:
        """The record, which is behind the last of its partition, is counted, or skipped as every reader skips it."""
        self._reached[partition] = record.position
        job = self._jobs.get(record.job)
        if job is None:
            if record.job in self._closed:
                self.skipped += 1
                return
            job = self._jobs[record.job] = _Job()
        events = self._events(record, job)
        if events is None:
            self.skipped += 1
            return
        job.seq, job.head = record.seq, entry_hash(record.body)
        self.entries += 1
        for event in events:
            self._count(job, event)
            if event.type == "JobClosed":
                del self._jobs[record.job]
                self._closed.add(record.job, record.seq)

    def _events(self, record: Record, job: _Job) -> tuple[Event, ...] | None:
        """The entry's events, at least those that count; None for a record that does not follow."""
        if job.lost or record.seq != job.seq + 1:
            return None
        head = f'{{"v":{WHOLE},"job":"{record.job}","seq":{record.seq},"prev":"{job.head}"'
        if record.body.startswith(head.encode()) and not _TELLING.search(record.body):
            return ()
        try:
            entry = read(record)
        except EntryUnreadable:
            job.lost = True
            return None
        return entry.events if entry.prev == job.head else None

    def _count(self, job: _Job, event: Event) -> None:
        counts = self.counts
        match event.type:
            case "JobAdmitted":
                job.kind, job.admitted_at = intern(event.kind), event.at
                counts[ADMITTED][job.kind,] += 1
            case "PhaseEntered":
                self._entered(job, event)
            case "ReplicaFailed" | "ReplicaLost":
                counts[FAILURES][job.kind, event.cause.kind.value] += 1
            case "RestartScheduled":
                counts[RESTARTS][job.kind, event.cause.kind.value] += 1
            case "ReplicaDelayed":
                counts[BACKOFFS][job.kind,] += 1
            case "RestartDenied":
                why = "budget" if event.exhausted else "policy"
                counts[DENIED][job.kind, event.cause.kind.value, why] += 1
            case "ChildRefused":
                counts[REFUSED][job.kind, event.kind, str(event.retryable).lower()] += 1
            case "JobDeleted":
                counts[DELETED][job.kind,] += 1
            case _:
                return

    def _entered(self, job: _Job, event: PhaseEntered) -> None:
        before, job.phase = job.phase, event.phase
        self.counts[TRANSITIONS][job.kind, before.value, event.phase.value] += 1
        if event.phase is Phase.RUNNING and job.running_at is None:
            job.running_at = event.at
            self._spread(START_SECONDS, (job.kind,), job.admitted_at, event.at)
        if event.phase.is_final:
            self.counts[FINISHED][job.kind, event.phase.value, _class(event.cause)] += 1
            self._spread(DURATION_SECONDS, (job.kind, event.phase.value), job.running_at, event.at)

    def _spread(self, about: MetricFamily, labels: Labels, since: datetime | None, at: datetime) -> None:
        if since is not None:
            spread = self.spreads[about].setdefault(labels, Spread(about.bounds))
            spread.add((at - since).total_seconds())


def _class(cause: Cause | None) -> str:
    return cause.kind.value if cause else ""
