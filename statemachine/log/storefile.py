"""The file of a store: how it is opened and made, and what SQLite's errors mean to the user."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import quote

from statemachine.errors import InvariantBroken, JobledgerError, LogUnavailable, StoreFull, StoreUnusable
from statemachine.log.lock import PRIVATE, StoreLock

FORMAT = 1
"""Version of the tables; a file of a higher version is not opened."""

APPLICATION = 0x6A6F626C
"""In the header of every store. Spells `jobl`."""

BUSY = 5.0
"""Seconds to wait for another program that has locked the file; jobledger locks it only briefly."""

_AGAIN = 0.01

_PAGE = 4096
"""The least number of bytes that SQLite writes."""

ELSEWHERE = "choose another file with --store"


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A connection for use in this thread. `lock`: the right to append to the log in the store."""

    path: Path
    connection: sqlite3.Connection
    lock: StoreLock | None = None


def open_owner(path: Path) -> OpenedFile:
    """The store at `path`, made if there is none, for the one process that may append to its log."""
    path = path.resolve()  # a store has one lock, under any name of its file
    _check_place(path)
    lock = StoreLock.acquire(path)
    try:
        return OpenedFile(path, _ready_to_write(path), lock)
    except sqlite3.Error as error:
        lock.release()
        raise translated(error, path) from error
    except BaseException:
        lock.release()
        raise


def open_beside(path: Path) -> OpenedFile:
    """The store at `path`, made if there is none, for writing anything but its log, beside an owner or without."""
    path = path.resolve()
    _check_place(path)
    try:
        return OpenedFile(path, _ready_to_write(path))
    except sqlite3.Error as error:
        raise translated(error, path) from error


def open_reader(path: Path) -> OpenedFile:
    """The store at `path` for reading, beside a writer or without, also on a read-only file system."""
    path = path.resolve()
    if not path.exists():
        raise StoreUnusable(f"there is no store {path}; {ELSEWHERE}")
    if path.is_dir():
        raise StoreUnusable(f"{path} is a directory; name a file in it with --store")
    try:
        return OpenedFile(path, _ready_to_read(path, "mode=ro"))
    except sqlite3.Error as error:
        if _code(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise translated(error, path) from error
        return OpenedFile(path, _as_it_lies(path, error))


def _as_it_lies(path: Path, refused: sqlite3.Error) -> sqlite3.Connection:
    """Opens a store in a directory in which SQLite cannot make the files that readers and writers share."""
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        raise StoreUnusable(
            f"{path} cannot be read where it is: its last entries are in {wal.name}, and its directory "
            "cannot be written; copy both to another"
        ) from refused
    try:
        return _ready_to_read(path, "immutable=1")
    except sqlite3.Error as error:
        raise translated(error, path) from error


def _check_place(path: Path) -> None:
    place = path.parent
    if path.is_dir():
        raise StoreUnusable(f"{path} is a directory; name a file in it with --store")
    if not place.is_dir():
        raise StoreUnusable(f"there is no directory {place} for the store; make it, or {ELSEWHERE}")
    if not os.access(place, os.W_OK | os.X_OK):
        raise StoreUnusable(f"the directory {place} of the store cannot be written; {ELSEWHERE}")
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnusable(f"store {path} is read-only; make it writable, or {ELSEWHERE}")


def _ready_to_write(path: Path) -> sqlite3.Connection:
    _make(path)
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
    try:
        _identify(connection, path)
        _make_durable(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_durable(connection: sqlite3.Connection, path: Path) -> None:
    """Makes commits survive a power cut, and readers not hinder the writer."""
    if _write_ahead(connection) != "wal":
        raise StoreUnusable(f"the file system of {path} cannot hold a store; {ELSEWHERE}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # macOS syncs no further than the drive's cache without it


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Sets and returns the journal mode, which is `wal` if the file system can do it.

    The first switch needs the file for itself, and SQLite does not wait for that as it waits for everything else.
    """
    until = time.monotonic() + BUSY
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_AGAIN)
        else:
            return str(mode)


def _ready_to_read(path: Path, how: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?{how}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY, isolation_level=None)
    try:
        ours = _is_ours(connection, path)
    except BaseException:
        connection.close()
        raise
    if not ours:
        connection.close()
        raise StoreUnusable(f"{path} is empty: there is no store in it; {ELSEWHERE}")
    return connection


def _make(path: Path) -> None:
    """Makes the file if there is none, private, and its name durable.

    It does not open an existing file: closing it would drop the locks that SQLite holds on it for another connection
    of this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnusable(f"store {path} cannot be made ({error.strerror}); {ELSEWHERE}") from error
    place = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _identify(connection: sqlite3.Connection, path: Path) -> None:
    """Makes an empty file a store. Raises StoreUnusable for any other file that is not a store of a known format."""
    if _is_ours(connection, path):
        return
    with _transaction(connection, "BEGIN IMMEDIATE"):
        if _holds_ours(connection, path):  # another process was quicker
            return
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        rows = [("format", str(FORMAT)), ("created by", f"jobledger {_release()}")]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """The file is a store of a known format; False if it is empty."""
    with _transaction(connection, "BEGIN"):  # all reads are of one moment
        return _holds_ours(connection, path)


def _holds_ours(connection: sqlite3.Connection, path: Path) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application == 0 and tables == 0:
        return False
    if application != APPLICATION:
        raise StoreUnusable(f"{path} is a database of another program; {ELSEWHERE}")
    meta = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('format', 'created by')"))
    if int(meta["format"]) > FORMAT:
        raise StoreUnusable(
            f"store {path} has format {meta['format']}, and this jobledger knows {FORMAT}: use the release "
            f"that wrote it, or {ELSEWHERE}"
        )
    return True


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself ends it on some errors
            connection.execute("ROLLBACK")
        raise


def _release() -> str:
    try:
        return version("jobledger")
    except PackageNotFoundError:
        return "from a checkout"


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _PAGE
    except OSError:
        return False


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the extended part


def translated(error: sqlite3.Error, path: Path) -> JobledgerError:
    """The error of our tree for an error of SQLite: whether a retry may help, and what the user can do."""
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return StoreFull(str(path))
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN if _is_full(path):
            return StoreFull(str(path))  # SQLite's error if the files beside the store cannot grow
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LogUnavailable(
                f"another program has store {path} locked; nothing was lost: close it there"
            )
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_NOMEM | sqlite3.SQLITE_INTERRUPT | sqlite3.SQLITE_PROTOCOL:
            return LogUnavailable(f"store {path} cannot be read or written now ({error})")
        case sqlite3.SQLITE_NOTADB:
            return StoreUnusable(f"{path} is not a jobledger store (no SQLite database); {ELSEWHERE}")
        case sqlite3.SQLITE_CORRUPT:
            return StoreUnusable(
                f"store {path} is damaged ({error}); put a backup in its place, or keep a copy of it and try "
                "what `sqlite3` saves with `.recover`"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_AUTH:
            return StoreUnusable(
                f"store {path} cannot be used ({error}); check its permissions, or {ELSEWHERE}"
            )
        case _:
            return InvariantBroken(f"store {path}: {error}")
