"""Keeps the local cluster's objects and events in two tables of the store file."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from k8s_bridge.port import JobEvent, Ref
from k8s_bridge.stored import Stored
from statemachine.errors import ClusterUnavailable, JobledgerError

T = TypeVar("T")

_log = logging.getLogger(__name__)

_RETRY = 1.0
"""Seconds after which rows that could not be written are tried again."""

_TABLES = """
CREATE TABLE IF NOT EXISTS local_objects (uid TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS local_events (id TEXT PRIMARY KEY, body TEXT NOT NULL);
"""


class Store(Protocol):
    """The store: does work on its connection, in one durable transaction, in its thread."""

    async def run(self, work: Callable[[sqlite3.Connection], T], /) -> T:
        """The result of `work`; if it raises, nothing was changed."""


Rows = Mapping[tuple[str, str], str | None]
"""Table and key → body, None for a row to delete."""


class Storage:
    """Rows that wait to be written, in their newest form only, and the task that writes them.

    `flush` has all waiting rows written at once, in one transaction. Without it rows (statuses, which the pods'
    folders have, too) may wait `lazy` seconds.
    """

    def __init__(self, store: Store, lazy: float = 0.1) -> None:
        self._store, self._lazy = store, lazy
        self._waiting: dict[tuple[str, str], str | None] = {}
        self._added, self._written = 0, 0
        self._askers: list[tuple[int, asyncio.Future[None]]] = []
        self._due = asyncio.Event()
        self._fails = False
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    async def load(self) -> tuple[list[Stored], list[JobEvent]]:
        """Reads everything that was kept."""
        objects, events = await self._store.run(_read)
        return [_stored(body) for body in objects], [_event(body) for body in events]

    def start(self) -> None:
        """Starts the task that writes rows."""
        self._task = asyncio.create_task(self._work(), name="local-cluster-storage")

    def put_object(self, stored: Stored) -> None:
        """Keeps the object as it is now, or drops it."""
        body = None if stored.gone else json.dumps({"seq": stored.status_seq, "object": stored.object})
        self._put(("local_objects", stored.uid), body)

    def put_event(self, event: JobEvent, kept: bool) -> None:
        """Keeps the event, or drops it."""
        row = {**asdict(event), "about": event.about._asdict()}
        body = json.dumps(row, default=str) if kept else None
        self._put(("local_events", f"{event.about.namespace}/{event.name}"), body)

    async def flush(self) -> None:
        """Waits until all rows put so far are durable. Raises ClusterUnavailable if they cannot be written now."""
        if self._written < self._added:
            asker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._askers.append((self._added, asker))
            self._due.set()
            await asker

    async def close(self) -> None:
        """Writes what waits, if possible, and ends the task."""
        if self._task is None:
            return
        try:
            await self.flush()
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
            if self._timer is not None:
                self._timer.cancel()

    def _put(self, key: tuple[str, str], body: str | None) -> None:
        self._waiting[key] = body
        self._added += 1
        self._later(self._lazy)

    def _later(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._due.set)

    async def _work(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            rows, self._waiting = self._waiting, {}
            upto = self._added
            try:
                await self._store.run(partial(_write, rows))
            except (JobledgerError, sqlite3.Error, OSError) as error:
                self._waiting = {**rows, **self._waiting}
                self._failed(error)
                self._answer(upto, ClusterUnavailable(f"the local cluster cannot write its store: {error}"))
                self._later(_RETRY)
            else:
                self._fails = False
                self._written = upto
                self._answer(upto, None)

    def _failed(self, error: Exception) -> None:
        if not self._fails:  # logged once, however long it lasts
            fields = {"action": "retry", "error": str(error)}
            _log.warning("the objects of the local cluster cannot be written now", extra=fields)
        self._fails = True

    def _answer(self, upto: int, error: ClusterUnavailable | None) -> None:
        answered = [entry for entry in self._askers if entry[0] <= upto]
        self._askers = [entry for entry in self._askers if entry[0] > upto]
        for _, asker in answered:
            if asker.done():
                continue
            if error is None:
                asker.set_result(None)
            else:
                asker.set_exception(error)


def _read(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    objects = connection.execute("SELECT body FROM local_objects").fetchall()
    events = connection.execute("SELECT body FROM local_events ORDER BY rowid").fetchall()
    return [body for (body,) in objects], [body for (body,) in events]


_PUT = {
    "local_objects": "INSERT INTO local_objects (uid, body) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET body = ?2",
    "local_events": "INSERT INTO local_events (id, body) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET body = ?2",
}
_DROP = {
    "local_objects": "DELETE FROM local_objects WHERE uid = ?",
    "local_events": "DELETE FROM local_events WHERE id = ?",
}


def _write(rows: Rows, connection: sqlite3.Connection) -> None:
    for (table, key), body in rows.items():
        if body is None:
            connection.execute(_DROP[table], (key,))
        else:
            connection.execute(_PUT[table], (key, body))


def _stored(body: str) -> Stored:
    row: dict[str, Any] = json.loads(body)
    return Stored(row["object"], status_seq=row["seq"])


def _event(body: str) -> JobEvent:
    row: dict[str, Any] = json.loads(body)
    about, at = Ref(**row.pop("about")), datetime.fromisoformat(row.pop("at"))
    return JobEvent(about=about, at=at, **row)
