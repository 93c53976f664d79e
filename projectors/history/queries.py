"""What the console, the CLI and the API ask of the history view."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from projectors.history import tables
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.store import SqliteStore
from statemachine.phases import Phase

PAGE = 50
"""Rows that a list gives at once, unless told."""

_JOB = (
    "SELECT uid, api_version, kind, namespace, name, phase, created_at, started_at, completed_at, deleted, "
    "restarts, replicas, last_seq, updated_at, first_position FROM history_jobs"
)
_ENTRY = (
    "SELECT position, job, seq, seen_at, happened_at, actor, cause_type, phase_after, events, summary "
    "FROM history_entries"
)


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job that is or was.

    `replicas` is how many its spec asked for last, `restarts` how many it has spent; `first_position` is where
    its history begins in the log: the place of a job in lists.
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
    first_position: Position


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry of a job's life; `events` are the types of its events, `summary` says them in a line."""

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


class History:
    """The history in an open store, which may be a read-only one beside a running server."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def prepare(self) -> None:
        """The tables are there.

        Raises:
            StoreUnusable: they are not, or not in this layout, and the store is read-only.
        """
        if self._store.read_only:
            await self._store.read(tables.check)
        else:
            await self._store.run(tables.make)

    async def position(self) -> Position:
        """How far in the log the view is."""
        return await self._store.read(tables.position)

    async def find_job(self, name_or_uid: str, namespace: str | None = None) -> JobRow | None:
        """The job of this uid, else the newest of this name (in the namespace, or in any)."""
        return await self._store.read(partial(_find_job, name_or_uid, namespace))

    async def list_jobs(
        self,
        *,
        namespace: str | None = None,
        kind: str | None = None,
        phase: Phase | None = None,
        deleted: bool | None = None,
        before: Position | None = None,
        limit: int = PAGE,
    ) -> Sequence[JobRow]:
        """Jobs, newest first; None does not filter. The next page is `before` the last row's `first_position`."""
        wanted = {
            "namespace = ?": namespace,
            "kind = ?": kind,
            "phase = ?": phase,
            "deleted = ?": deleted,
            "first_position < ?": before,
        }
        return await self._store.read(partial(_list_jobs, wanted, limit))

    async def entries(
        self, job: JobUid, *, after_seq: Seq = 0, limit: int | None = None
    ) -> Sequence[EntryRow]:
        """The job's entries behind `after_seq`, oldest first."""
        return await self._store.read(partial(_entries, job, after_seq, limit))


def _find_job(name_or_uid: str, namespace: str | None, db: sqlite3.Connection) -> JobRow | None:
    row = db.execute(f"{_JOB} WHERE uid = ?", (name_or_uid,)).fetchone()
    if row is None:
        row = db.execute(
            f"{_JOB} WHERE name = ? AND coalesce(namespace = ?, 1) ORDER BY first_position DESC LIMIT 1",
            (name_or_uid, namespace),
        ).fetchone()
    return row and _job_row(row)


def _list_jobs(wanted: dict[str, Any], limit: int, db: sqlite3.Connection) -> list[JobRow]:
    filters = {condition: value for condition, value in wanted.items() if value is not None}
    where = f"WHERE {' AND '.join(filters)}" if filters else ""
    rows = db.execute(f"{_JOB} {where} ORDER BY first_position DESC LIMIT ?", (*filters.values(), limit))
    return [_job_row(row) for row in rows]


def _entries(job: JobUid, after_seq: Seq, limit: int | None, db: sqlite3.Connection) -> list[EntryRow]:
    unlimited = -1  # SQLite's word for it
    rows = db.execute(
        f"{_ENTRY} WHERE job = ? AND seq > ? ORDER BY seq LIMIT ?",
        (job, after_seq, unlimited if limit is None else limit),
    )
    return [_entry_row(row) for row in rows]


def _job_row(row: tuple[Any, ...]) -> JobRow:
    uid, api_version, kind, namespace, name, phase, created, started, completed, deleted, *rest = row
    restarts, replicas, last_seq, updated, first_position = rest
    return JobRow(
        JobUid(uid),
        api_version,
        kind,
        namespace,
        name,
        Phase(phase),
        tables.instant(created),
        tables.instant(started),
        tables.instant(completed),
        bool(deleted),
        restarts,
        replicas,
        last_seq,
        datetime.fromisoformat(updated),
        first_position,
    )


def _entry_row(row: tuple[Any, ...]) -> EntryRow:
    position, job, seq, seen_at, happened_at, actor, cause_type, phase, events, summary = row
    return EntryRow(
        position,
        JobUid(job),
        seq,
        datetime.fromisoformat(seen_at),
        tables.instant(happened_at),
        actor,
        cause_type,
        Phase(phase),
        tuple(json.loads(events)),
        summary,
    )
