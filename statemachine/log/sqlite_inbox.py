"""The inbox in a table beside the log's, in the same SQLite file."""

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Self

from statemachine.ids import JobUid
from statemachine.log.inbox import Post, Taken, posted
from statemachine.log.store import SqliteStore
from statemachine.observations import Observation

# AUTOINCREMENT: no number is used twice, or a late `ack` could delete an observation that was never taken. Numbers
# grow in the order of commits, as SQLite has one writer at a time, so no row appears below a number that was read.
_TABLE = """CREATE TABLE IF NOT EXISTS inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, body BLOB NOT NULL)"""


class SqliteInbox:
    """An Inbox in `store`, which other processes may have open, too."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    @classmethod
    async def open(cls, store: SqliteStore) -> Self:
        """The inbox of the store, made if there is none. Raises LogUnavailable, StoreUnusable."""
        await store.run(_create)
        return cls(store)

    async def put(self, observations: Sequence[Observation]) -> None:
        """See Inbox."""
        if observations:
            await self._store.run(partial(_put, [posted(observation) for observation in observations]))

    async def take(self, limit: int) -> Taken:
        """See Inbox."""
        return await self._store.read(partial(_take, limit))

    async def ack(self, token: int) -> None:
        """See Inbox."""
        await self._store.run(partial(_ack, token))

    async def waiting(self) -> int:
        """See Inbox."""
        return await self._store.read(_waiting)


def _create(db: sqlite3.Connection) -> None:
    db.execute(_TABLE)


def _put(posts: Sequence[Post], db: sqlite3.Connection) -> None:
    db.executemany("INSERT INTO inbox (job, body) VALUES (?, ?)", [(post.job, post.body) for post in posts])


def _take(limit: int, db: sqlite3.Connection) -> Taken:
    rows = db.execute(
        "SELECT id, job, CAST(body AS BLOB) FROM inbox ORDER BY id LIMIT ?", (limit,)
    ).fetchall()
    return Taken(rows[-1][0] if rows else 0, [Post(JobUid(job), body) for _, job, body in rows])


def _ack(token: int, db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM inbox WHERE id <= ?", (token,))


def _waiting(db: sqlite3.Connection) -> int:
    there = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'inbox'").fetchone()[0]
    return int(db.execute("SELECT count(*) FROM inbox").fetchone()[0]) if there else 0
