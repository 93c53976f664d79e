"""The table of snapshots in a SQLite file, and the MACs beside it, where the log has a key.

The MACs are in a table of their own, so that an older release, which does not know them, can use the file. Its
snapshots have no MAC, and a newer release does not use them.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.closed_jobs import ClosedJobs
from statemachine.log.port import Saved, Snapshot
from statemachine.log.seal import MacPair, Seal, holds

TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS snapshots (
        job TEXT PRIMARY KEY, seq INTEGER NOT NULL, head TEXT NOT NULL, version INTEGER NOT NULL,
        body BLOB NOT NULL)""",
    # the MAC of the snapshot in the row of that number; 0 is the MAC of what is covered
    """CREATE TABLE IF NOT EXISTS snapshot_macs (
        snapshot INTEGER PRIMARY KEY, digest BLOB NOT NULL, mac BLOB NOT NULL)""",
)

_COVERED: Final = " snapshots"
"""The checkpoint under which the position of all snapshots is kept; no reader's name begins with a space."""

_COUNT: Final = " snapshot count"
"""The number of snapshots that cover that position: if there are fewer, some were deleted."""

_WHOLE: Final = 0

_SAVE: Final = (
    "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT (job) DO UPDATE SET "
    "seq = excluded.seq, head = excluded.head, version = excluded.version, body = excluded.body"
)
_ROWS: Final = (
    "SELECT s.rowid, s.job, s.seq, s.head, s.version, m.digest, m.mac, {} FROM snapshots s "
    "LEFT JOIN snapshot_macs m ON m.snapshot = s.rowid ORDER BY s.rowid"
)
_ALL: Final = _ROWS.format("s.body")
_OPEN: Final = _ROWS.format("CASE WHEN s.version >= 0 THEN s.body END")
"""Bodies of closed jobs, which are most, need not be read: MACs are of the bodies' hashes."""


class _Row(NamedTuple):
    """A snapshot as it stands in the file.

    `version` is negative where the job is closed (-1 for 0): to an older release a layout that it does not know.
    """

    number: int
    job: JobUid
    seq: Seq
    head: str
    version: int
    digest: object
    mac: object
    body: bytes | None

    @property
    def closed(self) -> bool:
        return self.version < 0

    def snapshot(self) -> Snapshot:
        version = ~self.version if self.closed else self.version
        return Snapshot(self.job, self.seq, self.head, version, self.body or b"", closed=self.closed)


@dataclass(slots=True)
class HeldSnapshots:
    """What the table held when it was last read: the sum of the set (see `seal`), and rows to be removed.

    `is_another`: the record of what is covered is not about this set.
    """

    total: int = 0
    refused: list[int] = field(default_factory=list)
    is_another: bool = False


def load(seal: Seal | None, bodies: bool, db: sqlite3.Connection) -> tuple[Saved, HeldSnapshots]:
    """The saved snapshots; with `bodies` also those of closed jobs, among the others."""
    if seal is None:
        return _unsealed(bodies, db), HeldSnapshots()
    held = HeldSnapshots()
    snapshots: list[Snapshot] = []
    closed = ClosedJobs()
    for row in db.execute(_ALL if bodies else _OPEN):
        number, job, seq, head, version, digest, mac, body = row  # a million of them: no objects in between
        mark = _mark(seal, (job, seq, head, version, digest))
        if not holds(mac, mark.mac) or not (body is None or digest == _digest(body)):
            held.refused.append(number)
            continue
        held.total += mark.member
        if version < 0 and not bodies:
            closed.add(job, seq)
        else:
            snapshots.append(_Row._make(row).snapshot())
    count = len(snapshots) + len(closed)
    covered = _covered_by(count, db)
    sealed = db.execute("SELECT mac FROM snapshot_macs WHERE snapshot = ?", (_WHOLE,)).fetchone()
    if not holds(sealed[0] if sealed else None, seal.whole(_coverage(covered, count), held.total)):
        held.is_another = covered > 0
        covered = 0
    return Saved(covered, snapshots, closed), held


def _unsealed(bodies: bool, db: sqlite3.Connection) -> Saved:
    closed = ClosedJobs()
    if not bodies:
        for job, seq in db.execute("SELECT job, seq FROM snapshots WHERE version < 0"):
            closed.add(job, seq)
    query = "SELECT rowid, job, seq, head, version, NULL, NULL, body FROM snapshots {} ORDER BY rowid"
    rows = db.execute(query.format("" if bodies else "WHERE version >= 0"))
    snapshots = [_Row._make(row).snapshot() for row in rows]
    return Saved(_covered_by(len(snapshots) + len(closed), db), snapshots, closed)


def _covered_by(count: int, db: sqlite3.Connection) -> Position:
    """The position that `count` snapshots cover."""
    return _checkpoint(_COVERED, db) if count and count == _checkpoint(_COUNT, db) else 0


def save(
    position: Position,
    snapshots: Sequence[Snapshot],
    seal: Seal | None,
    held: HeldSnapshots | None,
    db: sqlite3.Connection,
) -> HeldSnapshots:
    """See EventLog.save_snapshots. `held`: the table before; None if it has to be read."""
    held = held or load(seal, False, db)[1]
    total = held.total
    if held.refused:
        _remove(held.refused, db)
    if seal is not None:
        total -= sum(mark.member for mark in _present(snapshots, seal, db))
    rows = [(new.job, new.seq, new.head, _version(new), new.body) for new in snapshots]
    db.executemany(_SAVE, rows)
    if seal is not None:
        total += _write_macs(snapshots, seal, db)
    count = _number("SELECT count(*) FROM snapshots", db)
    _save_checkpoint(_COVERED, position, db)
    _save_checkpoint(_COUNT, count, db)
    if seal is not None:
        whole = seal.whole(_coverage(position, count), total)
        db.execute("INSERT OR REPLACE INTO snapshot_macs VALUES (?, ?, ?)", (_WHOLE, b"", whole))
    return HeldSnapshots(total)


def _remove(numbers: Sequence[int], db: sqlite3.Connection) -> None:
    rows = [(number,) for number in numbers]
    db.executemany("DELETE FROM snapshots WHERE rowid = ?", rows)
    db.executemany("DELETE FROM snapshot_macs WHERE snapshot = ?", rows)


def _present(snapshots: Sequence[Snapshot], seal: Seal, db: sqlite3.Connection) -> Iterator[MacPair]:
    """The marks of the rows that these snapshots replace."""
    query = (
        "SELECT s.job, s.seq, s.head, s.version, m.digest FROM snapshots s "
        "LEFT JOIN snapshot_macs m ON m.snapshot = s.rowid WHERE s.job = ?"
    )
    for snapshot in snapshots:
        if (row := db.execute(query, (snapshot.job,)).fetchone()) is not None:
            yield _mark(seal, row)


def _write_macs(snapshots: Sequence[Snapshot], seal: Seal, db: sqlite3.Connection) -> int:
    """Writes the MACs of snapshots in the file. Returns the sum of their members."""
    total, rows = 0, []
    for snapshot in snapshots:
        number = _number("SELECT rowid FROM snapshots WHERE job = ?", db, snapshot.job)
        digest = _digest(snapshot.body)
        mark = _mark(seal, (snapshot.job, snapshot.seq, snapshot.head, _version(snapshot), digest))
        total += mark.member
        rows.append((number, digest, mark.mac))
    db.executemany("INSERT OR REPLACE INTO snapshot_macs VALUES (?, ?, ?)", rows)
    return total


def _mark(seal: Seal, row: tuple[JobUid, Seq, str, int, object]) -> MacPair:
    """The mark of a row: job, number, head, version, digest. What is no digest may have been written by anybody."""
    job, seq, head, version, digest = row
    fields = f"{seq} {version} {head} ".encode(errors="surrogatepass")
    body = digest if isinstance(digest, bytes) else b""
    return seal.mark(str(job).encode(errors="surrogatepass"), fields + body)


def _version(snapshot: Snapshot) -> int:
    return ~snapshot.version if snapshot.closed else snapshot.version


def _digest(body: object) -> bytes:
    return hashlib.sha256(body).digest() if isinstance(body, bytes) else b""


def _coverage(position: Position, count: int) -> bytes:
    return b"%d %d" % (position, count)


def _number(query: str, db: sqlite3.Connection, *values: object) -> int:
    row = db.execute(query, values).fetchone()
    return (row[0] or 0) if row else 0


def _checkpoint(name: str, db: sqlite3.Connection) -> Position:
    return _number("SELECT position FROM checkpoints WHERE reader = ?", db, name)


def _save_checkpoint(name: str, position: Position, db: sqlite3.Connection) -> None:
    db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", (name, position))
