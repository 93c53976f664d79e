"""The tables of the history in a SQLite store: beside the log, or in a file of their own."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Final

from projectors.history.database import BEGIN, NOWHERE, REACHED, Change, Reached, Row
from statemachine.errors import StoreUnusable
from statemachine.log.store import SqliteStore

LAYOUT: Final = "6"
"""Raised when the tables below change: tables of another layout are thrown away and made from the log again."""

_DDL: Final = (
    """CREATE TABLE history_jobs (
        uid TEXT PRIMARY KEY, api_version TEXT NOT NULL, kind TEXT NOT NULL, namespace TEXT NOT NULL,
        name TEXT NOT NULL, phase TEXT NOT NULL, created_at TEXT, started_at TEXT, completed_at TEXT,
        deleted INTEGER NOT NULL, restarts INTEGER NOT NULL, replicas INTEGER NOT NULL,
        last_seq INTEGER NOT NULL, updated_at TEXT NOT NULL, began_at TEXT NOT NULL,
        partition INTEGER NOT NULL, first_position INTEGER NOT NULL, UNIQUE (began_at, partition, first_position))""",
    "CREATE INDEX history_jobs_by_name ON history_jobs (name, namespace, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_namespace ON history_jobs (namespace, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_kind ON history_jobs (kind, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_phase ON history_jobs (phase, began_at, partition, first_position)",
    "CREATE INDEX history_jobs_by_both ON history_jobs (namespace, phase, began_at, partition, first_position)",
    """CREATE TABLE history_entries (
        partition INTEGER NOT NULL, position INTEGER NOT NULL, job TEXT NOT NULL, seq INTEGER NOT NULL,
        seen_at TEXT NOT NULL, happened_at TEXT, actor TEXT NOT NULL, cause_type TEXT NOT NULL,
        phase_after TEXT NOT NULL, events TEXT NOT NULL, summary TEXT NOT NULL, actor_source TEXT NOT NULL,
        PRIMARY KEY (partition, position), UNIQUE (job, seq)) WITHOUT ROWID""",
    """CREATE TABLE history_listing (
        uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, api_version TEXT NOT NULL, kind TEXT NOT NULL,
        name TEXT NOT NULL, phase TEXT NOT NULL, is_error INTEGER NOT NULL, created_at TEXT NOT NULL,
        scheduler TEXT NOT NULL, queue TEXT NOT NULL, resources TEXT NOT NULL, shown TEXT NOT NULL,
        labels TEXT NOT NULL)""",
    """CREATE INDEX history_listing_all ON history_listing
        (created_at, uid, namespace, kind, name, phase, is_error, scheduler, queue, resources, labels)""",
    """CREATE TABLE history_labels (
        uid TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (uid, key)) WITHOUT ROWID""",
    "CREATE INDEX history_labels_by_label ON history_labels (key, value, uid)",
    """CREATE TABLE history_positions (
        partition INTEGER PRIMARY KEY, position INTEGER NOT NULL, latest TEXT NOT NULL)""",
)
_TABLES: Final = ("history_entries", "history_jobs", "history_labels", "history_listing", "history_positions")
_LAYOUT_KEY: Final = "history layout"


class SqliteDatabase:
    """A Database in an open store, which may be a read-only one beside a running controller."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store

    def __str__(self) -> str:
        return f"sqlite://{self.store.path}"

    async def prepare(self) -> None:
        """See Database: tables of another layout are made anew, and empty."""
        if self.store.read_only:
            await self.store.read(_check)
        else:
            await self.store.run(_make)

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]:
        """See Database."""
        return await self.store.read(partial(_fetch, sql, values))

    async def change(self, partition: int, change: Change) -> None:
        """See Database."""
        await self.store.run(partial(_change, partition, change))

    async def clear(self) -> None:
        """See Database."""
        await self.store.run(_clear)


def text(instant: datetime) -> str:
    """An instant as text in UTC, so that the order of texts is the order of time."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds")


def _fetch(sql: str, values: Row, db: sqlite3.Connection) -> list[Row]:
    return db.execute(_own(sql), _bound(values)).fetchall()


def _change(partition: int, change: Change, db: sqlite3.Connection) -> None:
    db.execute(_own(BEGIN), _bound((partition, *NOWHERE)))
    ((position, latest),) = _fetch(REACHED, (partition,), db)
    for sql, rows in change(Reached(position, datetime.fromisoformat(latest))):
        if rows:
            db.executemany(_own(sql), map(_bound, rows))


def _make(db: sqlite3.Connection) -> None:
    if not _is_present(db):
        _clear(db)


def _clear(db: sqlite3.Connection) -> None:
    for table in _TABLES:
        db.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in _DDL:
        db.execute(statement)
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_LAYOUT_KEY, LAYOUT))


def _check(db: sqlite3.Connection) -> None:
    if not _is_present(db):
        raise StoreUnusable("the store has no history that this release can read; start jobledger on it once")


def _is_present(db: sqlite3.Connection) -> bool:
    rows = db.execute("SELECT value FROM meta WHERE key = ?", (_LAYOUT_KEY,)).fetchall()
    return rows == [(LAYOUT,)]


@lru_cache(maxsize=64)
def _own(sql: str) -> str:
    """The statement with SQLite's placeholders for values."""
    return sql.replace("$", "?")


def _bound(values: Row) -> list[object]:
    """The values with instants and lists as text: SQLite has types for neither."""
    return [
        text(value)
        if isinstance(value, datetime)
        else json.dumps(value)
        if isinstance(value, list)
        else value
        for value in values
    ]
