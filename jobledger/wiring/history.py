"""Where the history view is, the database opened, and the projectors that bring it on."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from projectors.history.address import EXAMPLE, PostgresAddress
from statemachine.errors import ConfigError, LogError, StoreUnusable, ViewUnavailable

if TYPE_CHECKING:
    from jobledger.settings.model import Settings
    from jobledger.wiring.streams import Stream
    from projectors.history import Database
    from statemachine.log.port import EventLog
    from statemachine.log.store import SqliteStore

_FIRST_LOOK: Final = 3.0
"""Seconds that the start waits to learn what is wrong with the settings: jobs do not need the history."""

Where = Path | PostgresAddress
"""A SQLite file, or a database in PostgreSQL."""


def history_of(settings: "Settings") -> Where | None:
    """Where the settings want the history; None if they do not say: beside a log in a file. Raises ConfigError."""
    where = where_of(settings.history.get_secret_value(), settings.history_password_file)
    if isinstance(where, PostgresAddress) and not all(
        find_spec(package) for package in ("asyncpg", "alembic", "greenlet")
    ):
        raise ConfigError(
            "the PostgreSQL client is not installed; install `jobledger[postgresql]` for a history in PostgreSQL"
        )
    return where


def where_of(url: str, password_file: Path | None = None) -> Where | None:
    """Where the URL says; None for an empty one. Raises ConfigError, and does not repeat it."""
    if not url:
        return None
    scheme, _, rest = url.partition(":")
    if scheme == "sqlite":
        path = f"/{rest.lstrip('/')}" if rest.startswith("///") else rest
        if not path or path.startswith("//"):
            raise ConfigError("--history needs a URL such as sqlite:///var/lib/jobledger/history.db")
        return Path(path).expanduser().absolute()
    if scheme not in {"postgresql", "postgres"}:
        raise ConfigError(
            f"--history needs a URL such as {EXAMPLE} or sqlite:///var/lib/jobledger/history.db"
        )
    return PostgresAddress.of(url, password_file)


def shown(where: Where | None) -> str:
    """As people may see it: without a password."""
    return f"sqlite://{where}" if isinstance(where, Path) else str(where or "")


@asynccontextmanager
async def opened_or_beside(
    where: Where | None, store: "SqliteStore | None", *, read_only: bool = False
) -> "AsyncIterator[Database | None]":
    """The database at `where`, by default the log's store; None if that is none, too. As `opened`."""
    if where is None:
        from projectors.history import SqliteDatabase

        yield SqliteDatabase(store) if store is not None else None
    else:
        async with opened(where, read_only=read_only) as database:
            yield database


@asynccontextmanager
async def opened(where: Where, *, read_only: bool = False) -> "AsyncIterator[Database]":
    """The database at `where`; then it is closed.

    One that is out of reach at the moment is opened all the same: a query of it fails with the reason. So is
    one in PostgreSQL that may only be read and has no tables yet: a projector will make them.

    Raises:
        ConfigError: the database lets nobody in, or is newer than this program.
        StoreUnusable, LogUnavailable: the file cannot be opened.
    """
    if isinstance(where, Path):
        from projectors.history import SqliteDatabase

        store = await _store(where)
        try:
            yield SqliteDatabase(store)
        finally:
            await store.close()
    else:
        from projectors.history.postgres import PostgresDatabase

        database = PostgresDatabase(where, read_only=read_only)
        try:
            with suppress(ViewUnavailable, TimeoutError, *([StoreUnusable] if read_only else [])):
                async with asyncio.timeout(_FIRST_LOOK):
                    await database.prepare()
            yield database
        finally:
            await database.close()


def streams_of(database: "Database | None", logs: "Sequence[EventLog]") -> "Sequence[Sequence[Stream]]":
    """The projectors of each partition's history."""
    from projectors.history import HistoryProjector

    if database is None:
        return ()
    parts = ["" if len(logs) == 1 else f"-{number}" for number, _ in enumerate(logs)]
    return [
        [HistoryProjector(log, database, number, part)]
        for number, (log, part) in enumerate(zip(logs, parts, strict=True))
    ]


async def _store(path: Path) -> "SqliteStore":
    """The projector writes beside the readers."""
    from statemachine.log.store import SqliteStore

    try:
        return await SqliteStore.open(path, beside=True)
    except LogError as error:
        raise StoreUnusable(str(error).replace("--store", "--history")) from error
