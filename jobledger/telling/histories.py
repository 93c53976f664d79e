"""Finding a job in a log, among the living and the dead, and reading everything that the log holds of it.

Whatever is wrong with one job's history is said of that job; all others stay readable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jobledger.errors import NotPossible, UnknownJob
from statemachine.errors import EntryUnreadable
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import decode, entry_hash
from statemachine.log.entry import Entry
from statemachine.log.partitions import Readers
from statemachine.log.port import ReadableLog, Record
from statemachine.log.reader import Reader
from statemachine.state import JobState

SHORTEST_UID: Final = 4
"""Characters that the beginning of a uid must have to be looked for; shorter ones could be names mistyped."""


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
    """Everything that the log holds of a job, in log order. `note`: whom else the name could have meant."""

    job: Known
    told: tuple[Told, ...]
    note: str = ""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries that count."""
        return tuple(each.entry for each in self.told if each.entry is not None)

    @property
    def doubt(self) -> str:
        """Why the history cannot be read to its end; empty if it can."""
        if not self.told:  # known by its saved state alone, as where entries were deleted, or not restored
            return f"the log holds none of its entries, only its state as saved after entry {self.job.seq}"
        return next((f"entry {each.record.seq}: {each.fault}" for each in self.told if each.fault), "")


# ---- finding jobs ------------------------------------------------------------------------------------------


async def known_jobs(log: ReadableLog) -> list[Known]:
    """Every job that the log knows, the oldest first."""
    reader = Reader()
    await reader.recover(log)
    return known_to(reader)


def known_to(reader: Reader | Readers) -> list[Known]:
    """Every job that the reader has met, the oldest first."""
    found = [_known(reader, uid) for uid in reader.jobs]
    found.sort(key=lambda each: (each.state.created_at is not None, each.state.created_at, each.uid))
    return found


def _known(reader: Reader | Readers, uid: JobUid) -> Known:
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
    where, name = _place(job, namespace)
    named = _named(jobs, where, name, kind)
    if uid:
        return _by_uid(named or jobs, uid, job)
    if named:
        return named[-1]
    if "/" not in job and len(job) >= SHORTEST_UID:
        found = [each for each in jobs if each.uid.startswith(job)]
        if found:
            return _by_uid(found, job, job)
    raise _unknown(jobs, where, name, kind)


def others(jobs: Sequence[Known], job: str, *, namespace: str, kind: str = "") -> str:
    """Which older jobs had the name, where `chosen` went by it; empty if none had."""
    named = _named(jobs, *_place(job, namespace), kind)
    if len(named) < 2:
        return ""
    older = ", ".join(each.uid for each in reversed(named[:-1][-3:]))
    more = " and older ones" if len(named) > 4 else ""
    return (
        f"{len(named)} jobs had this name; this is the newest (uid {named[-1].uid}). "
        f"--uid picks another: {older}{more}"
    )


def _place(job: str, namespace: str) -> tuple[str, str]:
    where, slash, name = job.rpartition("/")
    return (where if slash else namespace), name


def _named(jobs: Sequence[Known], namespace: str, name: str, kind: str) -> list[Known]:
    of_name = [each for each in jobs if (each.namespace, each.name) == (namespace, name)]
    if not kind:
        return of_name
    from statemachine.kinds import meant_by  # all kinds: only where one is named

    objects = {each.kind for each in meant_by(kind)}
    return [each for each in of_name if each.state.object_kind in objects]


def _by_uid(jobs: Sequence[Known], uid: str, job: str) -> Known:
    found = [each for each in jobs if each.uid == uid] or [each for each in jobs if each.uid.startswith(uid)]
    if len(found) > 1:
        listed = ", ".join(f"{each.uid} ({each})" for each in found[:4])
        raise NotPossible(f"{len(found)} jobs have a uid that begins with {uid}: {listed}")
    if not found:
        there = ", ".join(each.uid for each in jobs[-4:])
        raise UnknownJob("", job, more=f" with a uid that begins with {uid}; there is {there}")
    return found[0]


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


async def find(log: ReadableLog, job: str, *, namespace: str, uid: str, kind: str = "") -> History:
    """The history of the job that is meant. Raises what `chosen` raises."""
    jobs = await known_jobs(log)
    found = chosen(jobs, job, namespace=namespace, uid=uid, kind=kind)
    note = "" if uid else others(jobs, job, namespace=namespace, kind=kind)
    return await history(log, found, note)


async def history(log: ReadableLog, job: Known, note: str = "") -> History:
    """Everything that the log holds of `job`, read from its first entry on: no snapshot is trusted."""
    reader, told = Reader(), []
    async for batch in log.scan(job=job.uid):
        told += [_told(reader, record) for record in batch]
    return History(job, tuple(told), note)


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
