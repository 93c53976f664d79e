"""The queries of the console, the CLI and the API to the history view."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from projectors.history.database import REACHED, Database, Row
from projectors.history.known_labels import KnownLabels
from projectors.history.listing import JobListing
from statemachine.ids import JobUid, Position, Seq
from statemachine.observations import ActorSource
from statemachine.phases import Phase

_JOB: Final = (
    "SELECT uid, api_version, kind, namespace, name, phase, created_at, started_at, completed_at, deleted, "
    "restarts, replicas, last_seq, updated_at FROM history_jobs"
)
_ENTRY: Final = (
    "SELECT partition, position, job, seq, seen_at, happened_at, actor, cause_type, phase_after, events, summary, "
    "actor_source FROM history_entries"
)
_NEWEST: Final = "ORDER BY began_at DESC, partition DESC, first_position DESC"


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job that is or was.

    `replicas` is the number in its last spec, `restarts` the number that it has spent.
    """

    uid: JobUid
    api_version: str
    kind: str
    namespace: str
    name: str
    phase: Phase
    created_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    deleted: bool
    restarts: int
    replicas: int
    last_seq: Seq
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry of a job's life; `events` are the types of its events, `summary` has them in one line."""

    partition: int
    position: Position
    job: JobUid
    seq: Seq
    seen_at: datetime
    happened_at: datetime | None
    actor: str
    cause_type: str
    phase_after: Phase
    events: tuple[str, ...]
    summary: str
    actor_source: ActorSource = ActorSource.RECORDED


class History:
    """The history in a database, which may be opened for reading beside the process that writes it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.listing, self.known_labels = JobListing(database), KnownLabels(database)

    async def prepare(self) -> None:
        """The tables are there. Raises as `Database.prepare`."""
        await self._database.prepare()

    async def position(self, partition: int = 0) -> Position:
        """The position of a partition of the log that the view has reached."""
        rows = await self._database.fetch(REACHED, partition)
        return int(rows[0][0]) if rows else 0

    async def positions(self) -> int:
        """The sum of the positions of all partitions: a number that grows with everything new in the view."""
        rows = await self._database.fetch("SELECT coalesce(sum(position), 0) FROM history_positions")
        return int(rows[0][0])

    async def find_job(self, name_or_uid: str, namespace: str | None = None) -> JobRow | None:
        """The job of this uid, else the newest of this name (in the namespace, or in any)."""
        rows = await self._database.fetch(f"{_JOB} WHERE uid = $1", name_or_uid)
        if not rows:
            named = "name = $1" if namespace is None else "name = $1 AND namespace = $2"
            values = (name_or_uid,) if namespace is None else (name_or_uid, namespace)
            rows = await self._database.fetch(f"{_JOB} WHERE {named} {_NEWEST} LIMIT 1", *values)
        return _job_row(rows[0]) if rows else None

    async def named(self, namespace: str, name: str, *, limit: int) -> Sequence[JobRow]:
        """The last jobs that had a name, newest first."""
        query = f"{_JOB} WHERE name = $1 AND namespace = $2 {_NEWEST} LIMIT $3"
        rows = await self._database.fetch(query, name, namespace, limit)
        return [_job_row(row) for row in rows]

    async def count_jobs(self) -> int:
        """The number of jobs that are or were."""
        rows = await self._database.fetch("SELECT count(*) FROM history_jobs")
        return int(rows[0][0])

    async def count_entries(self) -> int:
        """The number of entries: the sum of every job's last one."""
        rows = await self._database.fetch("SELECT coalesce(sum(last_seq), 0) FROM history_jobs")
        return int(rows[0][0])

    async def entries(self, job: JobUid) -> Sequence[EntryRow]:
        """The job's entries, oldest first."""
        rows = await self._database.fetch(f"{_ENTRY} WHERE job = $1 ORDER BY seq", job)
        return [_entry_row(row) for row in rows]


def _job_row(row: Row) -> JobRow:
    uid, api_version, kind, namespace, name, phase, created, started, completed, deleted, *rest_of_row = row
    restarts, replicas, last_seq, updated = rest_of_row
    return JobRow(
        JobUid(uid),
        api_version,
        kind,
        namespace,
        name,
        Phase(phase),
        _instant(created) if created else None,
        _instant(started) if started else None,
        _instant(completed) if completed else None,
        bool(deleted),
        restarts,
        replicas,
        last_seq,
        _instant(updated),
    )


def _entry_row(row: Row) -> EntryRow:
    partition, position, job, seq, seen_at, happened_at, actor, cause_type, phase, events, summary, source = (
        row
    )
    return EntryRow(
        partition,
        position,
        JobUid(job),
        seq,
        _instant(seen_at),
        _instant(happened_at) if happened_at else None,
        actor,
        cause_type,
        Phase(phase),
        tuple(json.loads(events) if isinstance(events, str) else events),
        summary,
        ActorSource(source),
    )


def _instant(value: Any) -> datetime:
    """An instant from the database; SQLite has them as text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value
