"""The tables of the history view, and how far in the log they are."""

import sqlite3
from datetime import UTC, datetime

from statemachine.errors import StoreUnusable
from statemachine.ids import Position

LAYOUT = "1"
"""Raised when the tables below change: tables of another layout are thrown away and made from the log again."""

_DDL = (
    # first_position: newest first is log order, which no clock can upset
    """CREATE TABLE history_jobs (
        uid TEXT PRIMARY KEY, api_version TEXT NOT NULL, kind TEXT NOT NULL, namespace TEXT NOT NULL,
        name TEXT NOT NULL, phase TEXT NOT NULL, created_at TEXT, started_at TEXT, completed_at TEXT,
        deleted INTEGER NOT NULL, restarts INTEGER NOT NULL, replicas INTEGER NOT NULL,
        last_seq INTEGER NOT NULL, updated_at TEXT NOT NULL, first_position INTEGER NOT NULL UNIQUE)""",
    "CREATE INDEX history_jobs_by_name ON history_jobs (name, namespace, first_position)",
    "CREATE INDEX history_jobs_by_namespace ON history_jobs (namespace, first_position)",
    "CREATE INDEX history_jobs_by_kind ON history_jobs (kind, first_position)",
    "CREATE INDEX history_jobs_by_phase ON history_jobs (phase, first_position)",
    """CREATE TABLE history_entries (
        position INTEGER PRIMARY KEY, job TEXT NOT NULL, seq INTEGER NOT NULL, seen_at TEXT NOT NULL,
        happened_at TEXT, actor TEXT NOT NULL, cause_type TEXT NOT NULL, phase_after TEXT NOT NULL,
        events TEXT NOT NULL, summary TEXT NOT NULL, UNIQUE (job, seq))""",
)
_TABLES = ("history_entries", "history_jobs")
_LAYOUT_KEY, _POSITION_KEY = "history layout", "history position"


def make(db: sqlite3.Connection) -> None:
    """The tables are there in the present layout; new ones are empty."""
    if _meta(db, _LAYOUT_KEY) != LAYOUT:
        clear(db)


def clear(db: sqlite3.Connection) -> None:
    """The tables are empty, at position 0."""
    for table in _TABLES:
        db.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in _DDL:
        db.execute(statement)
    _set_meta(db, _LAYOUT_KEY, LAYOUT)
    advance(db, 0)


def check(db: sqlite3.Connection) -> None:
    """The tables are there in the present layout.

    Raises:
        StoreUnusable: they are not, and who may not write cannot make them.
    """
    if _meta(db, _LAYOUT_KEY) != LAYOUT:
        raise StoreUnusable("the store has no history that this release can read; start jobledger on it once")


def position(db: sqlite3.Connection) -> Position:
    """Position of the last record that the tables hold."""
    return int(_meta(db, _POSITION_KEY) or 0)


def advance(db: sqlite3.Connection, to: Position) -> None:
    """The tables hold everything up to `to`; belongs into the transaction that writes it."""
    _set_meta(db, _POSITION_KEY, str(to))


def text(instant: datetime | None) -> str | None:
    """An instant such that the order of texts is the order of time, whatever its zone."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds") if instant else None


def instant(text: str | None) -> datetime | None:
    """The inverse of `text`."""
    return datetime.fromisoformat(text) if text else None


def _meta(db: sqlite3.Connection, key: str) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row and str(row[0])


def _set_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
