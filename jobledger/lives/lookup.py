"""Finding a job among all that a log knows, the living and the dead, by its name or its uid."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jobledger.program.errors import NotPossible, UnknownJob
from statemachine.ids import JobUid, Seq
from statemachine.log.partitions import Merged, Readers
from statemachine.log.port import ReadableLog
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


async def known_jobs(log: ReadableLog) -> list[Known]:
    """Every job that the log knows, the oldest first."""
    if isinstance(log, Merged):
        return known_to(await log.recovered())
    reader = Reader()
    await reader.recover(log)
    return known_to(reader)


async def candidates(log: ReadableLog, job: str, uid: str) -> list[Known]:
    """Every job that may be meant, as its first entry has it; none where that cannot be said."""
    reader = Reader()
    for text in filter(None, (job.rpartition("/")[2], uid)):
        records = await log.first_records(text)
        if records is None:
            return []
        for record in records:
            if record.job not in reader:
                reader.accept(record)
    return known_to(reader)


def known_to(reader: Reader | Readers) -> list[Known]:
    """Every job that the reader has met, the oldest first."""
    jobs = [_known(reader, uid) for uid in reader.jobs]
    jobs.sort(key=lambda job: (job.state.created_at is not None, job.state.created_at, job.uid))
    return jobs


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
        begun = [known for known in jobs if known.uid.startswith(job)]
        if begun:
            return _by_uid(begun, job, job)
    raise _unknown(jobs, where, name, kind)


def others(jobs: Sequence[Known], job: str, *, namespace: str, kind: str = "") -> str:
    """Which older jobs had the name, where `chosen` went by it; empty if none had."""
    named = _named(jobs, *_place(job, namespace), kind)
    if len(named) < 2:
        return ""
    older = ", ".join(known.uid for known in reversed(named[:-1][-3:]))
    more = " and older ones" if len(named) > 4 else ""
    return (
        f"{len(named)} jobs had this name; this is the newest (uid {named[-1].uid}). "
        f"--uid picks another: {older}{more}"
    )


def _place(job: str, namespace: str) -> tuple[str, str]:
    where, slash, name = job.rpartition("/")
    return (where if slash else namespace), name


def _named(jobs: Sequence[Known], namespace: str, name: str, kind: str) -> list[Known]:
    of_name = [known for known in jobs if (known.namespace, known.name) == (namespace, name)]
    if not kind:
        return of_name
    from statemachine.kinds import meant_by  # all kinds: only where one is named

    objects = {meant.kind for meant in meant_by(kind)}
    return [known for known in of_name if known.state.object_kind in objects]


def _by_uid(jobs: Sequence[Known], uid: str, job: str) -> Known:
    meant = [known for known in jobs if known.uid == uid] or [
        known for known in jobs if known.uid.startswith(uid)
    ]
    if len(meant) > 1:
        listed = ", ".join(f"{known.uid} ({known})" for known in meant[:4])
        raise NotPossible(f"{len(meant)} jobs have a uid that begins with {uid}: {listed}")
    if not meant:
        there = ", ".join(known.uid for known in jobs[-4:])
        raise UnknownJob("", job, more=f" with a uid that begins with {uid}; there is {there}")
    return meant[0]


def _unknown(jobs: Sequence[Known], namespace: str, name: str, kind: str) -> UnknownJob:
    if not jobs:
        return UnknownJob(namespace, name, more="; the store holds no jobs yet")
    elsewhere = sorted({str(known) for known in jobs if known.name == name})
    if elsewhere:
        which = f" of kind {kind}" if kind else ""
        return UnknownJob(namespace, name, more=f"{which}; there is {', '.join(elsewhere)}")
    near = sorted({known.name for known in jobs if known.namespace == namespace and known.name})
    return UnknownJob(namespace, name, near or sorted({str(known) for known in jobs}))
