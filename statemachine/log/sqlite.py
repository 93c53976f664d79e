"""The event log in a SQLite file: for one machine, or one volume of a cluster."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self

from statemachine.errors import SeqConflict, StoreUnusable
from statemachine.ids import JobUid, Position, Seq
from statemachine.log import sqlite_snapshots
from statemachine.log.polling import polled
from statemachine.log.port import DeadLetter, EntryDraft, NewRecords, Record, Saved, Snapshot, as_string
from statemachine.log.seal import Seal, warn_of_refused
from statemachine.log.store import SqliteStore

BATCH = 1000
"""Records that `scan` returns at once, and for which it occupies the store's thread."""

_TABLES = (
    # (job, seq) is unique: of two writers only one succeeds (design rule 3)
    """CREATE TABLE IF NOT EXISTS entries (
        position INTEGER PRIMARY KEY, job TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
        UNIQUE (job, seq))""",
    *sqlite_snapshots.TABLES,
    "CREATE TABLE IF NOT EXISTS checkpoints (reader TEXT PRIMARY KEY, position INTEGER NOT NULL)",
    """CREATE TABLE IF NOT EXISTS dead_letters (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, job TEXT NOT NULL, observation BLOB NOT NULL,
        error TEXT NOT NULL)""",
    # beside the letters, which are never changed; a store that an older release wrote has no such table
    "CREATE TABLE IF NOT EXISTS retries (letter INTEGER NOT NULL, at TEXT NOT NULL)",
)

_RECORD = "position, job, seq, CAST(body AS BLOB)"
"""A body edited with SQL is text: as bytes its hash shows that it was changed."""


class SqliteLog:
    """An EventLog in a store; closing the log closes the store."""

    def __init__(self, store: SqliteStore, key: bytes | None = None) -> None:
        self.store = store
        self._seal = Seal(key, "sqlite") if key else None
        self._held: sqlite_snapshots.HeldSnapshots | None = None  # once it was read
        self._refused = 0

    @classmethod
    async def open(
        cls, path: Path, *, read_only: bool = False, beside: bool = False, key: bytes | None = None
    ) -> Self:
        """The log in the store at `path`, made if there is none (unless `read_only`).

        With `beside` everything but entries can be written: only the owner of the store appends. With a `key` the log
        seals its snapshots, and uses only those sealed with it; not with `read_only`.

        Raises:
            StoreInUse: another process owns the store.
            StoreUnusable: the store cannot be opened; the message says why.
            LogUnavailable: the store cannot be opened now.
        """
        store = await SqliteStore.open(path, read_only=read_only, beside=beside)
        try:
            if not read_only:
                await store.run(_create)
        except BaseException:
            await store.close()
            raise
        return cls(store, key)

    @property
    def is_exclusive(self) -> bool:
        """See EventLog."""
        return self.store.is_owned

    @property
    def refused_snapshots(self) -> int:
        """See EventLog."""
        return self._refused

    @property
    def entry_limit(self) -> int:
        """See EventLog."""
        return 0

    @property
    def finds_jobs(self) -> bool:
        """See ReadableLog."""
        return True

    async def confirm_writer(self) -> None:
        """See EventLog: the store's lock excludes other writers."""

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        """See EventLog."""
        if not self.store.is_owned and not self.store.read_only:
            raise StoreUnusable(f"store {self.store.path} is not this process's to append to")
        return await self.store.run(partial(_append, drafts)) if drafts else ()

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See EventLog."""
        end = await self.end()
        while after < end:
            page = (
                partial(_page, after, end) if job is None else partial(_page_of, job, after_seq, after, end)
            )
            batch = await self.store.read(page)
            if not batch:
                return
            after = batch[-1].position
            yield batch

    async def first_records(self, text: str) -> Sequence[Record] | None:
        """See ReadableLog."""
        return await self.store.read(partial(_first_records, text))

    async def follow(self, after: Position = 0) -> AsyncIterator[NewRecords]:
        """See EventLog."""
        async for followed in polled(self, after):
            yield followed

    async def end(self) -> Position:
        """See EventLog."""
        return await self.store.read(partial(_number, "SELECT max(position) FROM entries", ()))

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """See EventLog."""
        saved = await self._load(bodies=True)
        return saved.covered, saved.snapshots

    async def saved(self) -> Saved:
        """See EventLog."""
        return await self._load(bodies=False)

    async def _load(self, *, bodies: bool) -> Saved:
        saved, held = await self.store.read(partial(sqlite_snapshots.load, self._seal, bodies))
        self._refused += warn_of_refused(len(held.refused) or int(held.is_another), str(self.store.path))
        if self._held is None:
            self._held = held
        return saved

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        """See EventLog. Observations have no places here: `source` is not kept."""
        await self._change(partial(sqlite_snapshots.save, position, snapshots, self._seal, self._held))

    async def _change(self, work: Callable[[sqlite3.Connection], sqlite_snapshots.HeldSnapshots]) -> None:
        self._held = None  # if the change fails half-way, the next one reads the table again
        self._held = await self.store.run(work)

    async def checkpoint(self, reader: str) -> Position:
        """See EventLog."""
        return await self.store.read(partial(_checkpoint, reader))

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        """See EventLog."""
        await self.store.run(partial(_save_checkpoint, reader, position))

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        """See EventLog."""
        await self.store.run(partial(_add_dead_letter, letter))

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """See EventLog."""
        await self.store.run(partial(_note_retry, letter.id, at))

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """See EventLog."""
        return await self.store.read(_dead_letters)

    async def dead_letter_count(self) -> int:
        """See EventLog."""
        return await self.store.read(partial(_number, "SELECT count(*) FROM dead_letters", ()))

    async def close(self) -> None:
        """See EventLog."""
        await self.store.close()


def _create(db: sqlite3.Connection) -> None:
    for table in _TABLES:
        db.execute(table)


def _number(query: str, values: tuple[object, ...], db: sqlite3.Connection) -> int:
    """The number that `query` selects; 0 for none."""
    row = db.execute(query, values).fetchone()
    return (row[0] or 0) if row else 0


def _append(drafts: Sequence[EntryDraft], db: sqlite3.Connection) -> list[Record]:
    before = _number("SELECT max(position) FROM entries", (), db)
    records = []
    for position, draft in enumerate(drafts, before + 1):
        row = position, draft.job, draft.seq, draft.body
        try:
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError as error:
            last = "SELECT max(seq) FROM entries WHERE job = ? AND position <= ?"
            raise SeqConflict(draft.job, draft.seq, _number(last, (draft.job, before), db)) from error
        records.append(Record(*row))
    return records


def _page(after: Position, end: Position, db: sqlite3.Connection) -> list[Record]:
    rows = db.execute(
        f"SELECT {_RECORD} FROM entries WHERE position > ? AND position <= ? "  # noqa: S608 - a constant
        "ORDER BY position LIMIT ?",
        (after, end, BATCH),
    )
    return [Record(*row) for row in rows]


def _page_of(
    job: JobUid, after_seq: Seq, after: Position, end: Position, db: sqlite3.Connection
) -> list[Record]:
    rows = db.execute(
        f"SELECT {_RECORD} FROM entries "  # noqa: S608 - a constant
        "WHERE job = ? AND seq > ? AND position > ? AND position <= ? ORDER BY position LIMIT ?",
        (job, after_seq, after, end, BATCH),
    )
    return [Record(*row) for row in rows]


_FIRSTS = f"""SELECT {_RECORD} FROM entries WHERE position IN (SELECT position FROM entries WHERE seq = 1)
    AND (instr(CAST(body AS BLOB), ?) OR substr(job, 1, ?) = ?)"""  # noqa: S608 - a constant
"""The index of (job, seq) alone answers the inner query."""

_SAVED_ALONE = """SELECT count(*) FROM snapshots
    WHERE NOT EXISTS (SELECT 1 FROM entries WHERE entries.job = snapshots.job AND seq = 1)"""


def _first_records(text: str, db: sqlite3.Connection) -> list[Record] | None:
    if _number(_SAVED_ALONE, (), db):
        return None
    return [Record(*row) for row in db.execute(_FIRSTS, (as_string(text), len(text), text))]


def _checkpoint(reader: str, db: sqlite3.Connection) -> Position:
    return _number("SELECT position FROM checkpoints WHERE reader = ?", (reader,), db)


def _save_checkpoint(reader: str, position: Position, db: sqlite3.Connection) -> None:
    db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", (reader, position))


def _add_dead_letter(letter: DeadLetter, db: sqlite3.Connection) -> None:
    row = letter.at.isoformat(), letter.job, letter.observation, letter.error
    inserted = db.execute("INSERT INTO dead_letters (at, job, observation, error) VALUES (?, ?, ?, ?)", row)
    if letter.retried_at and inserted.lastrowid:
        _note_retry(inserted.lastrowid, letter.retried_at, db)


def _note_retry(id_: int, at: datetime, db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO retries VALUES (?, ?)", (id_, at.isoformat()))


def _dead_letters(db: sqlite3.Connection) -> list[DeadLetter]:
    has_retries = _number("SELECT count(*) FROM sqlite_master WHERE name = 'retries'", (), db)
    retried = dict(db.execute("SELECT letter, at FROM retries ORDER BY rowid")) if has_retries else {}
    rows = db.execute("SELECT at, job, observation, error, id FROM dead_letters ORDER BY id")
    return [
        DeadLetter(
            datetime.fromisoformat(at),
            job,
            observation,
            error,
            id_,
            retried_at=datetime.fromisoformat(retried[id_]) if id_ in retried else None,
        )
        for at, job, observation, error, id_ in rows
    ]
