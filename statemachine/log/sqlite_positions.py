"""Records of positions in a table beside the log's, in the same SQLite file."""

import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import Self

from statemachine.log.store import SqliteStore

_TABLE = """CREATE TABLE IF NOT EXISTS positions (
    partition INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (partition, name))"""


class SqlitePositionRecords:
    """PositionRecords in `store`, which other processes may have open, too.

    A store open for reading may have no table: then it has no records.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    @classmethod
    async def open(cls, store: SqliteStore) -> Self:
        """The records of the store, with a table for them. Raises LogUnavailable, StoreUnusable."""
        if not store.read_only:
            await store.run(_create)
        return cls(store)

    async def get(self, partition: int, name: str) -> bytes | None:
        """See PositionRecords."""
        return await self._store.read(partial(_get, partition, name))

    async def put(self, partition: int, name: str, value: bytes | None) -> None:
        """See PositionRecords."""
        await self._store.run(partial(_put, partition, name, value))

    async def named(self, prefix: str) -> Mapping[tuple[int, str], bytes]:
        """See PositionRecords."""
        return await self._store.read(partial(_named, prefix))


def _create(db: sqlite3.Connection) -> None:
    db.execute(_TABLE)


def _is_there(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'positions'").fetchone() is not None


def _get(partition: int, name: str, db: sqlite3.Connection) -> bytes | None:
    if not _is_there(db):
        return None
    query = "SELECT CAST(value AS BLOB) FROM positions WHERE partition = ? AND name = ?"
    row = db.execute(query, (partition, name)).fetchone()
    return bytes(row[0]) if row else None


def _put(partition: int, name: str, value: bytes | None, db: sqlite3.Connection) -> None:
    if value is None:
        db.execute("DELETE FROM positions WHERE partition = ? AND name = ?", (partition, name))
    else:
        db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (partition, name, value))


def _named(prefix: str, db: sqlite3.Connection) -> dict[tuple[int, str], bytes]:
    if not _is_there(db):
        return {}
    query = (
        "SELECT partition, name, CAST(value AS BLOB) FROM positions WHERE substr(name, 1, ?) = ? "
        "ORDER BY partition, name"
    )
    return {(number, name): bytes(value) for number, name, value in db.execute(query, (len(prefix), prefix))}
