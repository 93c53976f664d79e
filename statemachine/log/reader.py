"""Records of the log → states of jobs: which records count, and what becomes of the others.

Every reader of a log uses this module, so all of them accept the same entries: per job the one with
`seq == last + 1` that names the last accepted one by hash. Others are skipped, counted and shown. An entry
that is next but cannot be read or folded puts its job in quarantine, alone. Source: design rules 3, 5, 10.
"""

import gc
from collections import deque
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from statemachine.errors import EntryUnreadable
from statemachine.events import Event
from statemachine.evolve import fold
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.closed_jobs import ClosedJobs
from statemachine.log.codec import decode_events, decode_state, encode_state, entry_hash
from statemachine.log.entry import GENESIS, Entry, EntryEvents
from statemachine.log.port import UNUSABLE, EventLog, ReadableLog, Record, Snapshot
from statemachine.state import STATE_VERSION, JobState

_FEW: Final = 100
"""So many jobs without a useful snapshot are read one by one where that is quick; more in one pass."""

Decode = Callable[[bytes], EntryEvents | Entry]
"""Decodes the part of an entry that the caller needs, at least what folding needs. Raises EntryUnreadable."""

Fold = Callable[[JobState, tuple[Event, ...]], JobState]

SHOWN = 20
"""The number of skipped records that a reader keeps to be shown."""


class Tracked(Struct, frozen=True, gc=False):
    """A job according to its accepted entries; `head` is the hash of the last of them, number `seq`.

    `quarantined` is the reason why the job's history cannot be folded any further; the reader accepts no more of it.
    `suspicious` is the reason why the first refused entry did not follow, until one does.
    `source` is the place of the last observation that caused an entry; one at or before it is a duplicate.
    `forgotten`: the job is closed, and only the log has its state.
    """

    state: JobState
    seq: Seq = 0
    head: str = GENESIS
    quarantined: str = ""
    suspicious: str = ""
    source: Position = 0
    forgotten: bool = False


class Folded(Struct, frozen=True, gc=False):
    """An accepted record, and the job's state before and after it."""

    record: Record
    entry: Entry | EntryEvents
    before: JobState
    state: JobState


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that the reader did not accept, or that does not belong where it stands, as `verify` says."""

    position: Position
    job: JobUid
    seq: Seq
    reason: str


class Reader:
    """Folds the records of one log, in log order; `position` is the last one's, accepted or not.

    Of closed jobs it keeps the last `keeps` states (None: all). Of older ones it knows only the number of the last
    entry: no observation of them changes anything (ADR 0019).

    It decodes an entry once, by `decode` (None: the part that folding needs), and folds it once, by `fold` (None: all
    events together); `accept` returns what these give.
    """

    def __init__(
        self, *, keeps: int | None = None, decode: Decode | None = None, fold: Fold | None = None
    ) -> None:
        self._decode, self._fold = decode, fold
        self.position: Position = 0
        self.place: Position = 0
        """The last place of an observation that caused an entry of any job."""
        self.skipped = 0
        self.last_skipped: deque[Skipped] = deque(maxlen=SHOWN)
        self._jobs: dict[JobUid, Tracked] = {}
        self._unsaved: dict[JobUid, None] = {}  # a set that keeps its order
        self._open: dict[JobUid, None] = {}
        self._keeps = keeps
        self._closed: dict[JobUid, None] = {}  # closed jobs whose states are kept, unless all are
        self._forgotten = ClosedJobs()

    def __contains__(self, job: JobUid) -> bool:
        return job in self._jobs or job in self._forgotten

    @property
    def jobs(self) -> Sequence[JobUid]:
        """Every job whose state is kept, in order of appearance."""
        return tuple(self._jobs)

    @property
    def forgotten(self) -> ClosedJobs:
        """The last entries of the closed jobs whose states are not kept; read-only."""
        return self._forgotten

    @property
    def open_jobs(self) -> Sequence[JobUid]:
        """The jobs that are not closed; a closed job stays closed."""
        return tuple(self._open)

    @property
    def quarantined(self) -> dict[JobUid, str]:
        """The jobs in quarantine, with the reason."""
        return {job: tracked.quarantined for job, tracked in self._jobs.items() if tracked.quarantined}

    def tracked(self, job: JobUid) -> Tracked:
        """The job as folded; the empty state for an unknown one."""
        kept = self._jobs.get(job)
        if kept is None and (seq := self._forgotten.get(job)) is not None:
            return Tracked(JobState(job, deleted=True, closed=True), seq, forgotten=True)
        return kept or Tracked(JobState(job))

    def accept(self, record: Record) -> Folded | None:
        """Folds the record into its job. None: the record was skipped, or put its job in quarantine."""
        self.position = max(self.position, record.position)
        last = self.tracked(record.job)
        try:
            entry = self._next(record, last)
            if entry is None:
                return None
            state = (self._fold or fold)(last.state, entry.events)
        except EntryUnreadable as error:
            self._quarantine(record, last, error.reason)
            return None
        except Exception as error:  # noqa: BLE001 - no history of one job may stop the others
            self._quarantine(record, last, f"its events cannot be folded: {error!r}")
            return None
        source = last.source if record.moved else entry.source or last.source
        self._keep(record.job, Tracked(state, record.seq, entry_hash(record.body), source=source))
        self._unsaved[record.job] = None
        return Folded(record, entry, last.state, state)

    def _keep(self, job: JobUid, tracked: Tracked) -> None:
        self._jobs[job] = tracked
        self.place = max(self.place, tracked.source)
        if not tracked.state.closed:
            self._open[job] = None
            return
        self._open.pop(job, None)
        if self._keeps is not None:
            self._closed[job] = None
            while len(self._closed) > self._keeps:
                self._forget(next(iter(self._closed)))

    def _forget(self, job: JobUid) -> None:
        """Keeps only the last entry of a closed job: nothing can cast doubt on it."""
        del self._closed[job]
        self._forgotten.add(job, self._jobs.pop(job).seq)

    def _next(self, record: Record, last: Tracked) -> EntryEvents | Entry | None:
        """The record's entry if it follows `last`; else the record is skipped, and the result None."""
        if last.quarantined:
            self._skip(record, "the job is in quarantine")
            return None
        if record.seq != last.seq + 1:
            self._refuse(record, last, misnumbered(record.seq, last.seq))
            return None
        if last.state.closed:
            self._refuse(record, last, f"the job is closed: nothing follows its entry {last.seq}")
            return None
        entry = read(record, self._decode)
        if entry.prev != last.head:
            self._refuse(record, last, unchained(last.seq))
            return None
        return entry

    def adopt(self, record: Record, entry: Entry, state: JobState, head: str) -> Folded:
        """Takes over an entry that this process has just appended; `state` is what it folds to.

        Only for the log's owner, which decided on the state that this reader has: it saves reading the entry again.
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
        """Skips a record that does not follow. It makes an open job suspicious, unless it is a repeat of the past."""
        self._skip(record, reason)
        if record.seq > last.seq and not last.suspicious and not last.state.closed:
            self._keep(record.job, replace(last, suspicious=f"entry {record.seq}: {reason}"))
            self._unsaved[record.job] = None

    def _quarantine(self, record: Record, last: Tracked, reason: str) -> None:
        self._skip(record, reason)
        self._keep(record.job, replace(last, quarantined=f"entry {record.seq}: {reason}"))
        self._unsaved[record.job] = None

    def forget_places(self) -> None:
        """Forgets places of observations: they begin anew, and no new observation is a duplicate by its place."""
        self.place = 0
        for job, tracked in self._jobs.items():
            if tracked.source:
                self._jobs[job] = replace(tracked, source=0)
                self._unsaved[job] = None

    def unsaved(self) -> Sequence[Snapshot]:
        """Snapshots of the jobs that changed since `saved`, for the log to save together with `position`.

        A job in quarantine or under suspicion gets one without a state: the state before the refused entry
        would hide that. So does a closed job whose state is not kept any more.
        """
        return tuple(map(self._snapshot, self._unsaved))

    def _snapshot(self, job: JobUid) -> Snapshot:
        last = self.tracked(job)
        if last.forgotten:
            return Snapshot(job, last.seq, "", UNUSABLE, b"", closed=True)
        if _doubtful(last):
            return Snapshot(job, last.seq, last.head, UNUSABLE, b"", last.source)
        body, closed = encode_state(last.state), last.state.closed
        return Snapshot(job, last.seq, last.head, STATE_VERSION, body, last.source, closed)

    def saved(self, snapshots: Iterable[Snapshot]) -> None:
        """The log has saved these. Jobs with newer entries stay unsaved."""
        for snapshot in snapshots:
            last = self.tracked(snapshot.job)
            fits = snapshot.closed or (snapshot.version == UNUSABLE) == _doubtful(last)
            if snapshot.seq == last.seq and fits:
                self._unsaved.pop(snapshot.job, None)

    def leave_saving(self) -> None:
        """Another part saves what has changed so far."""
        self._unsaved.clear()

    def restore(self, snapshots: Iterable[Snapshot]) -> Sequence[JobUid]:
        """Sets the jobs to their snapshots. Returns those whose snapshot is of no use."""
        useless = []
        for snapshot in snapshots:
            state = _state_in(snapshot)
            if state is None:
                useless.append(snapshot.job)
                continue
            self._keep(snapshot.job, Tracked(state, snapshot.seq, snapshot.head, source=snapshot.source))
            if state.closed and not snapshot.closed:  # an older release has saved the snapshot
                self._unsaved[snapshot.job] = None
        return useless

    def remember(self, closed: Mapping[JobUid, Seq]) -> None:
        """Notes that these jobs are closed behind these entries."""
        self._forgotten.update(closed)

    def forget_closed(self) -> None:
        """Drops the closed jobs: the caller knows them elsewhere, and will `remember` them in time."""
        self._forgotten.clear()

    def copy(self, decode: Decode) -> "Reader":
        """A second reader at the same position, with the open jobs of this one."""
        other = Reader(keeps=0, decode=decode)
        other.position = self.position
        other._open = dict(self._open)
        other._jobs = {job: self._jobs[job] for job in self._open}
        return other

    async def recover(self, log: ReadableLog) -> None:
        """Brings the reader to the end of `log`, by snapshots and the records behind them."""
        with _nothing_collected():
            await self._recover(log)

    async def _recover(self, log: ReadableLog) -> None:
        if self._keeps is None:
            covered, snapshots = await log.snapshots()
        else:
            covered, snapshots, self._forgotten, self.place = await log.saved()
        useless = set(self.restore(snapshots))
        ahead = {job: tracked.seq for job, tracked in self._jobs.items()}
        closed = self._forgotten
        if log.finds_jobs and len(useless) <= _FEW:
            for job in sorted(useless):
                await self.fold_job(log, job, upto=covered)
            useless = set()
        async for batch in log.scan(0 if useless else covered):
            for record in batch:
                if record.position <= covered and record.job not in useless:
                    continue  # a snapshot has it
                # a snapshot may be ahead of what all of them cover: a record that it has is no repeat
                if record.seq > (ahead.get(record.job) or closed.get(record.job, 0)):
                    self.accept(record)
            self.position = max(self.position, batch[-1].position)  # also where snapshots had all of it
        self.position = max(self.position, covered)

    async def catch_up(self, log: EventLog) -> AsyncIterator[Folded]:
        """Folds and yields what `log` holds behind the reader's position, up to its end."""
        async for batch in log.scan(self.position):
            for record in batch:
                if (folded := self.accept(record)) is not None:
                    yield folded

    async def fold_job(self, log: ReadableLog, job: JobUid, *, upto: Position | None = None) -> None:
        """Folds all records of `job`, up to position `upto` if it is given."""
        async for batch in log.scan(job=job):
            for record in batch:
                if upto is None or record.position <= upto:
                    self.accept(record)


def _state_in(snapshot: Snapshot) -> JobState | None:
    if snapshot.version != STATE_VERSION:
        return None
    try:
        return decode_state(snapshot.body)
    except EntryUnreadable:
        return None  # a cache: the history has the same state


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Stops the garbage collector: states have no cycles, and a walk over millions of them doubles a fold's time.

    Later collections ignore the objects made here, too.
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


async def closed_in(log: ReadableLog, wanted: Container[JobUid]) -> AsyncIterator[Tracked]:
    """The `wanted` jobs that are closed, with their last states, in the order of their ends. One pass."""
    reader = Reader(keeps=0)
    async for batch in log.scan():
        for record in batch:
            if record.job in wanted and (folded := reader.accept(record)) is not None and folded.state.closed:
                yield Tracked(folded.state, record.seq, entry_hash(record.body))


def read(record: Record, decode: Decode | None = None) -> EntryEvents | Entry:
    """The entry, if it is of the record's job and number. Raises EntryUnreadable."""
    entry = (decode or decode_events)(record.body)
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
