"""The tables of the history in PostgreSQL: the one module that speaks to it, through asyncpg.

Alembic brings the tables to the present schema (`migrations/`); nothing else of it, or of SQLAlchemy, is used.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from projectors.history.address import PostgresAddress
from projectors.history.database import BEGIN, NOWHERE, REACHED, Change, Reached, Row
from statemachine.errors import ConfigError, JobledgerError, StoreUnusable, ViewUnavailable

if TYPE_CHECKING:
    from sqlalchemy import Connection

log = logging.getLogger(__name__)

SCHEMAS: Final = ("0001", "0002", "0003", "0004", "0005")
"""Every schema that this release can start from, the present one last: the revisions in `migrations/versions`."""

VERSION_TABLE: Final = "history_schema"
_VERSION: Final = "SELECT version_num FROM history_schema"

_LOCK: Final = 0x6A6F626C6564
"""The advisory lock of the process that changes the schema. Spells `jobled`."""

_CONNECT: Final = 10.0
_PATIENCE: Final = 60.0
"""Seconds that a statement may take: some thousand rows, or the wait for the process that holds the position."""

_CONNECTIONS: Final = 4


class PostgresDatabase:
    """A Database in PostgreSQL. It connects at the first query, and again after each outage of the server."""

    def __init__(self, address: PostgresAddress, *, read_only: bool = False) -> None:
        self.address, self._read_only = address, read_only
        self._pool: asyncpg.Pool[Any] | None = None
        self._opening = asyncio.Lock()

    def __str__(self) -> str:
        return str(self.address)

    async def prepare(self) -> None:
        """See Database: an older schema is brought to the present one, unless it may only be read."""
        schema = await self._schema()
        if schema == SCHEMAS[-1]:
            return
        if schema is not None and schema not in SCHEMAS:
            raise ConfigError(
                f"the history in {self} has schema {schema}, and this jobledger knows {SCHEMAS[-1]}: use the release "
                "that made it, or another database"
            )
        if self._read_only:
            raise StoreUnusable(
                f"{self} has no history that this release can read; start a projector on it once"
            )
        await self._migrate()
        await self.prepare()  # a newer release may have migrated first

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]:
        """See Database."""
        async with self._connection() as connection:
            return [tuple(row) for row in await connection.fetch(sql, *values)]

    async def change(self, partition: int, change: Change) -> None:
        """See Database: other projectors of this partition wait for the lock of its position."""
        async with self._transaction() as connection:
            await connection.execute(BEGIN, partition, *NOWHERE)
            row = await connection.fetchrow(f"{REACHED} FOR UPDATE", partition)
            for sql, rows in change(Reached(*row) if row else NOWHERE):
                await connection.executemany(sql, rows)

    async def clear(self) -> None:
        """See Database: a projector finishes its batch first, and finds the tables empty at the next."""
        await self.prepare()
        async with self._transaction() as connection:
            await connection.execute("LOCK TABLE history_positions IN EXCLUSIVE MODE")
            await connection.execute(
                "TRUNCATE history_entries, history_jobs, history_labels, history_listing"
            )
            await connection.execute("DELETE FROM history_positions")

    async def close(self) -> None:
        """No connection is left."""
        if self._pool is not None:
            self._pool.terminate()
            self._pool = None

    # ---- connections -----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[asyncpg.pool.PoolConnectionProxy[Any]]":
        """A connection, with its errors translated. A connection that failed is not used again."""
        with self._in_our_words():
            pool = await self._opened()
            async with pool.acquire(timeout=_CONNECT) as connection:
                try:
                    yield connection
                except BaseException:
                    connection.terminate()  # its release would wait for a server that does not answer
                    raise

    @asynccontextmanager
    async def _transaction(self) -> "AsyncIterator[asyncpg.pool.PoolConnectionProxy[Any]]":
        """A connection in a transaction, which ends with the connection if it is not committed."""
        async with self._connection() as connection:
            transaction = connection.transaction()
            await transaction.start()
            yield connection
            await transaction.commit()

    async def _opened(self) -> "asyncpg.Pool[Any]":
        async with self._opening:
            if self._pool is None:
                options = self._options()
                self._pool = await asyncpg.create_pool(
                    self.address.url, min_size=0, max_size=_CONNECTIONS, **options
                )
        return self._pool

    async def _connect(self) -> "asyncpg.Connection[Any]":
        """A connection outside the pool, for statements that may take longer than usual."""
        options = self._options() | {"command_timeout": None}
        opened: asyncpg.Connection[Any] = await asyncpg.connect(self.address.url, **options)
        return opened

    def _options(self) -> dict[str, Any]:
        """The arguments of a connection besides the URL."""
        return {
            **({"password": self.address.password} if self.address.password_file else {}),
            "timeout": _CONNECT,
            "command_timeout": _PATIENCE,
            "server_settings": {"application_name": "jobledger"},
        }

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except JobledgerError:
            raise
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError) as error:
            # asyncpg calls it an internal error if the server announces the end of a connection and then falls silent
            raise self._translated(error) from error

    def _translated(self, error: BaseException) -> JobledgerError:
        """The error of our tree for a database error: whether a retry helps, and what the user can do."""
        state = str(getattr(error, "sqlstate", None) or "")
        if state.startswith("28"):
            return ConfigError(
                f"{self} refuses the user or the password ({error}); the password may be in a file"
            )
        if state == "3D000":
            return ConfigError(
                f'there is no database "{self.address.database}" for the history on {self}: make it with createdb'
            )
        if state == "42501":
            return ConfigError(f"the user of {self} may not do what the history needs ({error})")
        if isinstance(error, asyncpg.ClientConfigurationError):
            return ConfigError(f"the URL of the history in {self} cannot be used ({error})")
        message = str(error) or type(error).__name__
        return ViewUnavailable(f"the history in {self} cannot be read or written now ({message})")

    # ---- the schema ------------------------------------------------------------------------------------------

    async def _schema(self) -> str | None:
        """The revision of the tables; None if there are none."""
        async with self._connection() as connection:
            if await connection.fetchval("SELECT to_regclass($1)::text", VERSION_TABLE) is None:
                return None
            revision = await connection.fetchval(_VERSION)
            return None if revision is None else str(revision)

    async def _migrate(self) -> None:
        """Brings the schema to the present one, or leaves a newer one: one of several processes migrates."""
        from sqlalchemy import text
        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.ext.asyncio import create_async_engine
        from sqlalchemy.pool import NullPool

        engine = create_async_engine("postgresql+asyncpg://", async_creator=self._connect, poolclass=NullPool)
        try:
            with self._in_our_words():
                async with engine.begin() as connection:
                    await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                    await connection.run_sync(_upgrade)
        except DBAPIError as error:
            raise self._translated(error.orig or error) from error
        log.info("the history has its schema", extra={"action": "migrate", "schema": SCHEMAS[-1]})


def _upgrade(connection: "Connection") -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    if context.get_current_revision() not in {None, *SCHEMAS}:
        return  # a newer release migrated first
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    command.upgrade(config, SCHEMAS[-1])
