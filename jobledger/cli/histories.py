"""What the verbs that read the store share: opening it read-only, finding a job in it, its history.

They need no server, and disturb none: SQLite serves readers beside the one writer. Whatever is wrong with one job's
history is said of that job; all others stay readable.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from jobledger.cli import common
from jobledger.cli.ending import FAILED, OK
from jobledger.errors import NotPossible, UnknownJob
from statemachine.errors import EntryUnreadable
from statemachine.evolve import fold
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import decode, entry_hash
from statemachine.log.entry import Entry
from statemachine.log.port import EventLog, Record
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.state import JobState

T = TypeVar("T")

SHORTEST_UID: Final = 4
"""Characters that the beginning of a uid must have to be looked for; shorter ones could be names mistyped."""

Job = Annotated[
    str, typer.Argument(metavar="JOB", help="Name, namespace/name, or uid (its beginning is enough).")
]
Uid = Annotated[
    str,
    typer.Option(
        "--uid", metavar="UID", help="Which of several jobs that had the name; its beginning is enough."
    ),
]


@dataclass(frozen=True, slots=True)
class Known:
    """A job that the log knows. Of one whose first entry cannot be read, only the uid is known."""

    uid: JobUid
    namespace: str
    name: str
    kind: str
    state: JobState
    seq: Seq
    doubt: str
    """Why its history cannot be read further than entry `seq`; empty if it can."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.name else self.uid


@dataclass(frozen=True, slots=True)
class Told:
    """A record of a job's history: its entry and the state after it, or why it does not count (`fault`)."""

    record: Record
    entry: Entry | None
    state: JobState
    fault: str = ""

    @property
    def hash(self) -> str:
        """What the next entry has to name."""
        return entry_hash(self.record.body)


@dataclass(frozen=True, slots=True)
class History:
    """Everything that the log holds of a job, in log order."""

    job: Known
    told: tuple[Told, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries that count."""
        return tuple(each.entry for each in self.told if each.entry is not None)

    @property
    def doubt(self) -> str:
        """Why the history cannot be read to its end; empty if it can."""
        return next((f"entry {each.record.seq}: {each.fault}" for each in self.told if each.fault), "")


def reading(store: Path, work: Callable[[EventLog], Awaitable[T]]) -> T:
    """What `work` gives on the log in `store`, which is opened for reading only.

    Raises:
        StoreUnusable: there is no store, or it is not one.
    """

    async def whole() -> T:
        async with _opened(store) as log:
            return await work(log)

    return asyncio.run(whole())


@asynccontextmanager
async def _opened(store: Path) -> AsyncIterator[EventLog]:
    log = await SqliteLog.open(store, read_only=True)
    try:
        yield log
    finally:
        await log.close()


# ---- finding jobs ------------------------------------------------------------------------------------------


async def known_jobs(log: EventLog) -> list[Known]:
    """Every job that the log knows, the oldest first."""
    reader = Reader()
    await reader.recover(log)
    found = [_known(reader, uid) for uid in reader.jobs]
    found.sort(key=lambda each: (each.state.created_at is not None, each.state.created_at, each.uid))
    return found


def _known(reader: Reader, uid: JobUid) -> Known:
    tracked = reader.tracked(uid)
    state = tracked.state
    doubt = tracked.quarantined or tracked.suspicious
    return Known(uid, state.namespace, state.name, state.kind, state, tracked.seq, doubt)


def chosen(jobs: Sequence[Known], job: str, *, namespace: str, uid: str = "", kind: str = "") -> Known:
    """The one of `jobs` that is meant: the newest of the name, else the one whose uid begins so.

    Raises:
        UnknownJob: there is none.
        NotPossible: the beginning of a uid is that of several.
    """
    where, slash, name = job.rpartition("/")
    where = where if slash else namespace
    named = [
        each for each in jobs if (each.namespace, each.name) == (where, name) and kind in ("", each.kind)
    ]
    if uid:
        return _by_uid(named or jobs, uid, job)
    if named:
        _tell_others(named)
        return named[-1]
    if not slash and len(job) >= SHORTEST_UID:
        found = [each for each in jobs if each.uid.startswith(job)]
        if found:
            return _by_uid(found, job, job)
    raise _unknown(jobs, where, name, kind)


def _by_uid(jobs: Sequence[Known], uid: str, job: str) -> Known:
    found = [each for each in jobs if each.uid == uid] or [each for each in jobs if each.uid.startswith(uid)]
    if len(found) > 1:
        listed = ", ".join(f"{each.uid} ({each})" for each in found[:4])
        raise NotPossible(f"{len(found)} jobs have a uid that begins with {uid}: {listed}")
    if not found:
        there = ", ".join(each.uid for each in jobs[-4:])
        raise UnknownJob("", job, more=f" with a uid that begins with {uid}; there is {there}")
    return found[0]


def _tell_others(named: Sequence[Known]) -> None:
    if len(named) > 1:
        older = ", ".join(each.uid for each in reversed(named[:-1][-3:]))
        more = " and older ones" if len(named) > 4 else ""
        common.warn(
            f"jobledger: {len(named)} jobs had this name; this is the newest (uid {named[-1].uid}). "
            f"--uid picks another: {older}{more}"
        )


def _unknown(jobs: Sequence[Known], namespace: str, name: str, kind: str) -> UnknownJob:
    if not jobs:
        return UnknownJob(namespace, name, more="; the store holds no jobs yet")
    elsewhere = sorted({str(each) for each in jobs if each.name == name})
    if elsewhere:
        which = f" of kind {kind}" if kind else ""
        return UnknownJob(namespace, name, more=f"{which}; there is {', '.join(elsewhere)}")
    near = sorted({each.name for each in jobs if each.namespace == namespace and each.name})
    return UnknownJob(namespace, name, near or sorted({str(each) for each in jobs}))


# ---- histories ---------------------------------------------------------------------------------------------


async def history(log: EventLog, job: Known) -> History:
    """Everything that the log holds of `job`, read from its first entry on: no snapshot is trusted."""
    reader, told = Reader(), []
    async for batch in log.scan(job=job.uid):
        told += [_told(reader, record) for record in batch]
    return History(job, tuple(told))


def _told(reader: Reader, record: Record) -> Told:
    folded = reader.accept(record)
    if folded is None:
        return Told(record, None, reader.tracked(record.job).state, _why_not(reader, record))
    try:
        return Told(record, decode(record.body), folded.state)
    except EntryUnreadable as error:
        return Told(record, None, folded.state, error.reason)


def _why_not(reader: Reader, record: Record) -> str:
    """Why the record was not accepted; the one that put the job in quarantine has its own reason."""
    quarantined = reader.quarantined.get(record.job, "")
    own = f"entry {record.seq}: "
    if quarantined.startswith(own):
        return quarantined.removeprefix(own)
    return reader.last_skipped[-1].reason


async def find(log: EventLog, job: str, *, namespace: str, uid: str, kind: str = "") -> History:
    """The history of the job that is meant. Raises what `chosen` raises."""
    return await history(log, chosen(await known_jobs(log), job, namespace=namespace, uid=uid, kind=kind))


def doubtful(told: History) -> int:
    """Says what is wrong with the history, if anything is; gives the exit code that goes with it."""
    if not told.doubt:
        return OK
    common.warn(f"jobledger: the history of {told.job} cannot be read to its end: {told.doubt}")
    common.warn("jobledger: what is shown ends before that; `jobledger replay --verify` checks the store")
    return FAILED


def states(told: History) -> Iterator[tuple[Entry, JobState]]:
    """The entries that count, each with the state after it."""
    state = JobState(told.job.uid)
    for entry in told.entries:
        state = fold(state, entry.events)
        yield entry, state
