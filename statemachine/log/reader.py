"""Records of the log → states of jobs: which are believed, and what becomes of the others.

Every reader of a log goes through here, so all of them accept the same entries: per job the one with
`seq == last + 1` that names the last accepted one by hash. Any other is skipped, counted and shown. An entry
that is next but cannot be read or folded puts its job in quarantine, alone. Source: design rules 3, 5, 10.
"""

import gc
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from statemachine.errors import EntryUnreadable
from statemachine.evolve import fold
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.codec import decode, decode_events, decode_state, encode_state, entry_hash
from statemachine.log.entry import GENESIS, Entry, EntryEvents
from statemachine.log.port import EventLog, ReadableLog, Record, Snapshot
from statemachine.state import STATE_VERSION, JobState

UNUSABLE = 0
"""Version of a snapshot that holds no state: its job has to be folded from the first entry."""

_FEW: Final = 100
"""So many jobs without a useful snapshot are looked up one by one where that is quick; more in one pass."""

SHOWN = 20
"""How many skipped records a reader keeps to be looked at."""


class Tracked(NamedTuple):
    """A job as its accepted entries tell it; `head` is the hash of the last of them, number `seq`.

    `quarantined` says why the job's history cannot be folded beyond that; nothing more is accepted.
    `suspicious` says what was wrong with the first entry that did not follow, until one does.
    `source` is the place of the last observation that caused an entry; one at or before it is a repeat.
    """

    state: JobState
    seq: Seq = 0
    head: str = GENESIS
    quarantined: str = ""
    suspicious: str = ""
    source: Position = 0


class Folded(NamedTuple):
    """An accepted record, and the job's state before and after it."""

    record: Record
    entry: Entry | EntryEvents
    before: JobState
    state: JobState


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that was not accepted, or (found by `verify`) does not belong where it stands."""

    position: Position
    job: JobUid
    seq: Seq
    reason: str


class Reader:
    """Folds the records of one log, in log order; `position` is the last one's, accepted or not."""

    def __init__(self) -> None:
        self.position: Position = 0
        self.skipped = 0
        self.last_skipped: deque[Skipped] = deque(maxlen=SHOWN)
        self._jobs: dict[JobUid, Tracked] = {}
        self._unsaved: dict[JobUid, None] = {}  # a set that keeps its order
        self._open: dict[JobUid, None] = {}

    def __contains__(self, job: JobUid) -> bool:
        return job in self._jobs

    @property
    def jobs(self) -> Sequence[JobUid]:
        """Every job that a record was seen of, in order of appearance."""
        return tuple(self._jobs)

    @property
    def open_jobs(self) -> Sequence[JobUid]:
        """The jobs that are not over: a closed one stays closed."""
        return tuple(self._open)

    @property
    def quarantined(self) -> dict[JobUid, str]:
        """The jobs in quarantine, with the reason."""
        return {job: each.quarantined for job, each in self._jobs.items() if each.quarantined}

    def tracked(self, job: JobUid) -> Tracked:
        """What is known of `job`; the empty state for one that was never seen."""
        return self._jobs.get(job) or Tracked(JobState(job))

    def accept(self, record: Record) -> Folded | None:
        """The record is folded into its job, or None: it was skipped, or put its job in quarantine."""
        self.position = max(self.position, record.position)
        last = self._jobs.get(record.job) or Tracked(JobState(record.job))
        try:
            entry = self._next(record, last)
            if entry is None:
                return None
            state = fold(last.state, entry.events)
        except EntryUnreadable as error:
            self._quarantine(record, last, error.reason)
            return None
        except Exception as error:  # noqa: BLE001 - whatever a history does to evolve, the other jobs go on
            self._quarantine(record, last, f"its events cannot be folded: {error!r}")
            return None
        source = last.source if record.moved else entry.source or last.source
        self._keep(record.job, Tracked(state, record.seq, entry_hash(record.body), source=source))
        self._unsaved[record.job] = None
        return Folded(record, entry, last.state, state)

    def _keep(self, job: JobUid, tracked: Tracked) -> None:
        self._jobs[job] = tracked
        if tracked.state.closed:
            self._open.pop(job, None)
        else:
            self._open[job] = None

    def _next(self, record: Record, last: Tracked) -> EntryEvents | None:
        """The record's entry if it follows `last`; None, and it is skipped, if it does not."""
        if last.quarantined:
            self._skip(record, "the job is in quarantine")
            return None
        if record.seq != last.seq + 1:
            self._refuse(record, last, misnumbered(record.seq, last.seq))
            return None
        entry = read(record)
        if entry.prev != last.head:
            self._refuse(record, last, unchained(last.seq))
            return None
        return entry

    def adopt(self, record: Record, entry: Entry, state: JobState, head: str) -> Folded:
        """An entry that this process has just appended is folded in; `state` is what it folds to.

        Only for the log's owner, which decided on the state that stands here: nothing need be read again.
        """
        last = self.tracked(record.job)
        self.position = max(self.position, record.position)
        source = entry.source or last.source
        self._keep(record.job, Tracked(state, record.seq, head, source=source))
        self._unsaved[record.job] = None
        return Folded(record, entry, last.state, state)

    def _skip(self, record: Record, reason: str) -> None:
        self.skipped += 1
        self.last_skipped.append(Skipped(record.position, record.job, record.seq, reason))

    def _refuse(self, record: Record, last: Tracked, reason: str) -> None:
        """The record does not follow. That the past comes again casts no doubt on the job, all else does."""
        self._skip(record, reason)
        if record.seq > last.seq and not last.suspicious:
            self._keep(record.job, last._replace(suspicious=f"entry {record.seq}: {reason}"))
            self._unsaved[record.job] = None

    def _quarantine(self, record: Record, last: Tracked, reason: str) -> None:
        self._skip(record, reason)
        self._keep(record.job, last._replace(quarantined=f"entry {record.seq}: {reason}"))
        self._unsaved[record.job] = None

    def forget_places(self) -> None:
        """Places of observations begin anew: none that comes is a repeat because of its place."""
        for job, each in self._jobs.items():
            if each.source:
                self._jobs[job] = each._replace(source=0)
                self._unsaved[job] = None

    def unsaved(self) -> Sequence[Snapshot]:
        """Snapshots of the jobs that changed since `saved`: with `position`, what the log has to be given.

        A job in quarantine or under suspicion gets one without a state: the state before the refused entry
        would cover it up.
        """
        return tuple(_snapshot(job, self._jobs[job]) for job in self._unsaved)

    def saved(self, snapshots: Iterable[Snapshot]) -> None:
        """The log has these. Jobs that have moved on meanwhile stay unsaved."""
        for each in snapshots:
            last = self._jobs[each.job]
            if each.seq == last.seq and (each.version == UNUSABLE) == _doubtful(last):
                self._unsaved.pop(each.job, None)

    def leave_saving(self) -> None:
        """Somebody else saves what has changed so far."""
        self._unsaved.clear()

    def restore(self, snapshots: Iterable[Snapshot]) -> Sequence[JobUid]:
        """The jobs stand where their snapshots say; gives those whose snapshot is of no use."""
        useless = []
        for each in snapshots:
            state = _state_in(each)
            if state is None:
                useless.append(each.job)
            else:
                self._keep(each.job, Tracked(state, each.seq, each.head, source=each.source))
        return useless

    async def recover(self, log: ReadableLog) -> None:
        """The reader stands at the end of `log`: snapshots, and the records behind them."""
        with _nothing_collected():
            await self._recover(log)

    async def _recover(self, log: ReadableLog) -> None:
        covered, snapshots = await log.snapshots()
        useless = set(self.restore(snapshots))
        ahead = {job: each.seq for job, each in self._jobs.items()}
        if log.finds_jobs and len(useless) <= _FEW:
            for job in sorted(useless):
                await self.fold_job(log, job, upto=covered)
            useless = set()
        async for batch in log.scan(0 if useless else covered):
            for record in batch:
                if record.position <= covered and record.job not in useless:
                    continue  # it is in a snapshot
                # a snapshot may be ahead of what all of them cover: what is in it already is no repeat
                if record.seq > ahead.get(record.job, 0):
                    self.accept(record)
        self.position = max(self.position, covered)

    async def catch_up(self, log: EventLog) -> AsyncIterator[Folded]:
        """What `log` holds behind the reader's position, folded in and accepted; at its end the reader is too."""
        async for batch in log.scan(self.position):
            for record in batch:
                if (folded := self.accept(record)) is not None:
                    yield folded

    async def fold_job(self, log: ReadableLog, job: JobUid, *, upto: Position) -> None:
        """The reader has seen all of `job`'s records up to position `upto`."""
        async for batch in log.scan(job=job):
            for record in batch:
                if record.position <= upto:
                    self.accept(record)


def _state_in(snapshot: Snapshot) -> JobState | None:
    if snapshot.version != STATE_VERSION:
        return None
    try:
        return decode_state(snapshot.body)
    except EntryUnreadable:
        return None  # a cache: the history says the same


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """The garbage collector rests: states have no cycles, and going over millions of them doubles a fold's time.

    What is there afterwards is left out of later collections, too.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def _doubtful(last: Tracked) -> bool:
    return bool(last.quarantined or last.suspicious)


def _snapshot(job: JobUid, last: Tracked) -> Snapshot:
    if _doubtful(last):
        return Snapshot(job, last.seq, last.head, UNUSABLE, b"", last.source)
    return Snapshot(job, last.seq, last.head, STATE_VERSION, encode_state(last.state), last.source)


def fold_history(
    records: Iterable[Record], *, upto_seq: Seq | None = None, upto_time: datetime | None = None
) -> Tracked:
    """One job as it was: after its entry `upto_seq`, or as far as it was known at `upto_time`; else as it is.

    `records` are the job's, in log order; none give the empty state of no job. Time is that of noticing, and
    the first entry noticed later ends the past, even if a clock was set back behind it: a state is always a
    whole beginning of the history.
    """
    reader, job = Reader(), JobUid("")
    for record in records:
        job = record.job
        if (upto_seq is not None and record.seq > upto_seq) or (upto_time and _is_later(record, upto_time)):
            break
        reader.accept(record)
    return reader.tracked(job)


def _is_later(record: Record, time: datetime) -> bool:
    try:
        return decode(record.body).seen_at > time
    except EntryUnreadable:
        return False  # it is the reader's to say so


def read(record: Record) -> EntryEvents:
    """The entry, if it is the one that the log says it is."""
    entry = decode_events(record.body)
    if entry.seq != record.seq or entry.job != record.job:
        reason = f"it says that it is entry {entry.seq} of job {entry.job}"
        raise EntryUnreadable(reason, record.body)
    return entry


def misnumbered(seq: Seq, last: Seq) -> str:
    """What is wrong with an entry `seq` that is not `last + 1`."""
    if seq <= last:
        return f"the job has its entry {seq} already"
    return f"the job is at entry {last}: what lies between is missing or was refused"


def unchained(last: Seq) -> str:
    """What is wrong with an entry whose `prev` is not the hash of entry `last`."""
    if last == 0:
        return "it names an entry before it, and there is none"
    return (
        f"it does not name entry {last} as the log has it: one of the two was changed, or is another writer's"
    )
