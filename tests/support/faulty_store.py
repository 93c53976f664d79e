"""The database of the history in bad weather: a SQLite database in memory, which several lives share.

The statements, the transactions and the tables are the product's; only the thread that a store in a file does its
work in is missing, as simulated time does not wait for threads.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from projectors.history import HistoryProjector, SqliteDatabase
from statemachine.errors import LogUnavailable, ViewUnavailable
from statemachine.ids import Position
from statemachine.log.port import EventLog, Record
from statemachine.log.store import SqliteStore, Work
from tests.support.faults import Life

T = TypeVar("T")

Rows = Mapping[str, Sequence[Any]]
"""The rows of tables, by name."""

TABLES: Final = ("history_jobs", "history_entries", "history_listing", "history_labels", "history_positions")

_SLOW: Final = 8.0


class MemoryStore:
    """A `SqliteStore` without a file, as far as a `SqliteDatabase` asks one."""

    read_only = False
    path = Path("memory")

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")

    async def run(self, work: Work[T]) -> T:
        """See SqliteStore."""
        return self._done(work)

    async def read(self, work: Work[T]) -> T:
        """See SqliteStore."""
        return self._done(work)

    def _done(self, work: Work[T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            value = work(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return value

    def copy(self) -> bytes:
        """All that is in it."""
        return self._connection.serialize()

    def put_back(self, copy: bytes) -> None:
        """It is as it was when the copy was made."""
        self._connection.deserialize(copy)

    def rows(self) -> Rows:
        """The rows of every table of the history; none where there are no tables yet."""
        there = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}
        return {table: self._all(table) if table in there else [] for table in TABLES}

    def _all(self, table: str) -> Sequence[Any]:
        return sorted(self._connection.execute(f"SELECT * FROM {table}"), key=repr)  # noqa: S608 - one of TABLES

    def database(self) -> SqliteDatabase:
        """The product's adapter over it."""
        return SqliteDatabase(cast(SqliteStore, self))


class FaultyStore:
    """The store as one life sees it. Out of reach it is so for all of them."""

    read_only = False

    def __init__(self, store: MemoryStore, life: Life) -> None:
        self.path = store.path
        self._store, self._life, self._weather = store, life, life.weather

    async def _meet(self, point: str) -> None:
        await self._life.travel(point)
        if asyncio.get_running_loop().time() < self._weather.until.get("database_slow", 0.0):
            await asyncio.sleep(self._weather.chance.uniform(0, _SLOW))
            await self._life.thawed()
        if self._weather.strikes("database_fails"):
            self._life.pass_by("after the database did not answer")
            if self._weather.chance.random() < 0.5:
                raise LogUnavailable("the store is locked by another process")
            raise ViewUnavailable("the database does not answer")

    async def run(self, work: Work[T]) -> T:
        """See SqliteStore."""
        await self._meet("before a transaction")
        value = await self._store.run(work)
        await self._life.travel("after a transaction")
        if self._weather.strikes("database_lost_reply"):
            self._life.pass_by("after a lost reply of the database")
            raise ViewUnavailable("the connection broke; the outcome is unknown")
        return value

    async def read(self, work: Work[T]) -> T:
        """See SqliteStore."""
        await self._meet("before a query")
        value = await self._store.read(work)
        await self._life.travel("after a query")
        return value

    def database(self) -> SqliteDatabase:
        """The product's adapter over it."""
        return SqliteDatabase(cast(SqliteStore, self))


class Written:
    """A partition of a log as far as it is written: what a projector that begins with its first entry asks of it."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    async def end(self) -> Position:
        """See EventLog."""
        return self._records[-1].position if self._records else 0

    async def scan(self, _: Position) -> AsyncIterator[Sequence[Record]]:
        """See EventLog; always from the beginning."""
        if self._records:
            yield self._records


def made_anew(partitions: Sequence[Sequence[Record]]) -> Rows:
    """The rows of a history that is made of a log from its first entry on, without any fault."""
    store = MemoryStore()
    store.put_back(_empty())
    for number, records in enumerate(partitions):
        log = cast(EventLog, Written(records))
        _at_once(HistoryProjector(log, store.database(), number).advance())
    return store.rows()


@cache
def _empty() -> bytes:
    """A store whose tables are made, and have no rows: to make them takes longer than to fill them."""
    store = MemoryStore()
    _at_once(store.database().prepare())
    return store.copy()


def _at_once(work: Coroutine[Any, Any, None]) -> None:
    """Nothing in it waits: the log and the database are in memory."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("it waits for something")
