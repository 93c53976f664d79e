"""The queries of the console, the CLI and the API to the history view."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from projectors.history.database import REACHED, Database, Row
from projectors.history.known_labels import KnownLabels
from projectors.history.listing import JobListing
from statemachine.ids import JobUid, Position, Seq
from statemachine.observations import ActorSource
from statemachine.phases import Phase

PAGE: Final = 50
"""Rows that a list returns at once by default."""

_ALL: Final = 2**62

_JOB: Final = (
    "SELECT uid, api_version, kind, namespace, name, phase, created_at, started_at, completed_at, deleted, "
    "restarts, replicas, last_seq, updated_at, began_at, partition, first_position FROM history_jobs"
)
_ENTRY: Final = (
    "SELECT partition, position, job, seq, seen_at, happened_at, actor, cause_type, phase_after, events, summary, "
    "actor_source FROM history_entries"
)
_COUNT: Final = "SELECT phase, count(*) FROM history_jobs"
_NEWEST: Final = "ORDER BY began_at DESC, partition DESC, first_position DESC"


class ListPlace(NamedTuple):
    """A job's place in lists. Within a partition of the log, jobs are in its order, whatever clocks say."""

    began_at: datetime
    partition: int
    position: Position


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job that is or was.

    `replicas` is the number in its last spec, `restarts` the number that it has spent; `place` is where its history
    begins.
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
    place: ListPlace


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
            where, values = _where({"name": name_or_uid, "namespace": namespace})
            rows = await self._database.fetch(f"{_JOB}{where} {_NEWEST} LIMIT 1", *values)
        return _job_row(rows[0]) if rows else None

    async def named(self, namespace: str, name: str, *, limit: int) -> Sequence[JobRow]:
        """The last jobs that had a name, newest first."""
        where, values = _where({"namespace": namespace, "name": name})
        rows = await self._database.fetch(f"{_JOB}{where} {_NEWEST} LIMIT $3", *values, limit)
        return [_job_row(row) for row in rows]

    async def list_jobs(
        self,
        *,
        namespace: str | None = None,
        kind: str | None = None,
        phase: Phase | None = None,
        deleted: bool | None = None,
        before: ListPlace | None = None,
        limit: int = PAGE,
    ) -> Sequence[JobRow]:
        """Jobs, newest first; None does not filter. The next page is `before` the last row's `place`."""
        where, values = _where(
            {"namespace": namespace, "kind": kind, "phase": phase and phase.value, "deleted": deleted}, before
        )
        query = f"{_JOB}{where} {_NEWEST} LIMIT ${len(values) + 1}"
        return [_job_row(row) for row in await self._database.fetch(query, *values, limit)]

    async def count_jobs(
        self, *, namespace: str | None = None, kind: str | None = None, deleted: bool | None = None
    ) -> Mapping[Phase, int]:
        """How many jobs are in each phase; None does not filter."""
        where, values = _where({"namespace": namespace, "kind": kind, "deleted": deleted})
        query = f"{_COUNT}{where} GROUP BY phase ORDER BY phase"
        return {Phase(phase): count for phase, count in await self._database.fetch(query, *values)}

    async def count_entries(self) -> int:
        """The number of entries: the sum of every job's last one."""
        rows = await self._database.fetch("SELECT coalesce(sum(last_seq), 0) FROM history_jobs")
        return int(rows[0][0])

    async def entries(
        self, job: JobUid, *, after_seq: Seq = 0, limit: int | None = None
    ) -> Sequence[EntryRow]:
        """The job's entries behind `after_seq`, oldest first."""
        query = f"{_ENTRY} WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3"
        rows = await self._database.fetch(query, job, after_seq, _ALL if limit is None else limit)
        return [_entry_row(row) for row in rows]


def _where(filters: Mapping[str, object], before: ListPlace | None = None) -> tuple[str, list[object]]:
    """The condition that columns have the values of the filters that are set, and these values."""
    values = {column: value for column, value in filters.items() if value is not None}
    conditions = [f"{column} = ${number}" for number, column in enumerate(values, 1)]
    if before is not None:
        places = ", ".join(f"${len(values) + number}" for number in (1, 2, 3))
        conditions.append(f"(began_at, partition, first_position) < ({places})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return where, [*values.values(), *(before or ())]


def _job_row(row: Row) -> JobRow:
    uid, api_version, kind, namespace, name, phase, created, started, completed, deleted, *rest_of_row = row
    restarts, replicas, last_seq, updated, began, partition, first_position = rest_of_row
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
        ListPlace(_instant(began), partition, first_position),
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
