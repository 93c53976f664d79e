"""Entries of the log → rows of the history view."""

import json
import sqlite3
from collections.abc import Sequence
from functools import partial

from projectors.history import tables
from projectors.history.phrases import summary
from projectors.history.queries import History
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode
from statemachine.log.entry import Entry
from statemachine.log.port import EventLog, Record
from statemachine.log.reader import Reader
from statemachine.log.store import SqliteStore
from statemachine.state import JobState

BATCH = 200
"""Entries in one transaction: the log's appends wait while it is made."""

Step = tuple[Record, Entry, JobState]
"""A record that a reader accepted, the entry in it, and its job's state behind it."""


class HistoryProjector:
    """A stream projector: the history tables in `store` follow `log`, which need not be in the same store.

    Rows and the position that they reach are written in one transaction, so every entry is in the view once,
    whatever happens in between.
    """

    name = "history"

    def __init__(self, log: EventLog, store: SqliteStore) -> None:
        self.history = History(store)
        self._log = log
        self._store = store
        self._reader: Reader | None = None

    async def advance(self) -> None:
        """The view is at the end of the log as it was when this was called."""
        reader = self._reader or await self._start()
        self._reader = None  # should this fail half-way, the reader would be ahead of the rows
        async for batch in self._log.scan(reader.position):
            for start in range(0, len(batch), BATCH):
                await self._take(reader, batch[start : start + BATCH])
        self._reader = reader

    def forget(self) -> None:
        """Somebody else may have brought the view further: the next `advance` asks the store how far it is."""
        self._reader = None

    async def rebuild(self) -> None:
        """The view is empty and then, from the first entry on, made again; meanwhile it says how far it is."""
        self._reader = None
        await self._store.run(tables.clear)
        await self.advance()

    async def project(self, steps: Sequence[Step], upto: Position) -> None:
        """`steps`, in log order, are in the view, which has seen everything up to `upto`.

        Steps that it holds already are passed over.
        """
        await self._store.run(partial(_project, steps, upto))

    async def _start(self) -> Reader:
        await self.history.prepare()
        reader = Reader()
        reader.position = await self.history.position()
        return reader

    async def _take(self, reader: Reader, records: Sequence[Record]) -> None:
        reached = reader.position
        steps: list[Step] = []
        for record in records:
            if record.job not in reader:  # only jobs that something happens to are folded
                await reader.fold_job(self._log, record.job, upto=reached)
            folded = reader.accept(record)
            if folded:
                steps.append((record, decode(record.body), folded.state))
        await self.project(steps, reader.position)


def _project(steps: Sequence[Step], upto: Position, db: sqlite3.Connection) -> None:
    reached = tables.position(db)
    new = [step for step in steps if step[0].position > reached]
    db.executemany(
        "INSERT INTO history_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_entry_row(step) for step in new],
    )
    first: dict[JobUid, Position] = {}
    last: dict[JobUid, Step] = {}
    for step in new:
        first.setdefault(step[0].job, step[0].position)
        last[step[0].job] = step  # one row a job and batch, however many entries
    db.executemany(_JOB, [_job_row(step, first[job]) for job, step in last.items()])
    tables.advance(db, max(upto, reached))


_JOB = """INSERT INTO history_jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (uid) DO UPDATE SET phase = excluded.phase, created_at = excluded.created_at,
    started_at = excluded.started_at, completed_at = excluded.completed_at, deleted = excluded.deleted,
    restarts = excluded.restarts, replicas = excluded.replicas, last_seq = excluded.last_seq,
    updated_at = excluded.updated_at"""


def _job_row(step: Step, first_position: Position) -> tuple[object, ...]:
    record, entry, state = step
    return (
        *(state.uid, state.api_version, state.kind, state.namespace, state.name, state.phase.value),
        *(tables.text(each) for each in (state.created_at, state.started_at, state.completed_at)),
        *(state.deleted, state.spent, state.plan.scale if state.plan else 0),
        *(record.seq, tables.text(entry.seen_at), first_position),
    )


def _entry_row(step: Step) -> tuple[object, ...]:
    record, entry, state = step
    return (
        *(record.position, record.job, record.seq),
        *(tables.text(entry.seen_at), tables.text(entry.happened_at), entry.actor),
        *(entry.cause.type, state.phase.value),
        *(json.dumps([each.type for each in entry.events]), summary(entry.events)),
    )
