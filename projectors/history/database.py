"""The port of the database with the tables of the history view, and the SQL statements that change them.

Statements are the same for every database; their values stand at `$1`, `$2`, and so on. Adapters: `sqlite`,
`postgres`. One test suite runs on both (`tests/ports/test_history_view.py`).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol

from statemachine.ids import Position

Row = Sequence[Any]


class Statement(NamedTuple):
    """An SQL statement, executed once for each of `rows`."""

    sql: str
    rows: Sequence[Row]


class Reached(NamedTuple):
    """How far the view is in a partition of the log, and the latest `began_at` of its jobs."""

    position: Position = 0
    latest: datetime = datetime(1970, 1, 1, tzinfo=UTC)


NOWHERE: Final = Reached()

Change = Callable[[Reached], Sequence[Statement]]


class Database(Protocol):
    """A database with the tables of the history."""

    async def prepare(self) -> None:
        """The tables are there in the present layout.

        Raises:
            StoreUnusable, ConfigError: the tables cannot be made here; the message has the reason.
            LogUnavailable, ViewUnavailable: the database is out of reach.
        """

    async def fetch(self, sql: str, *values: object) -> Sequence[Row]:
        """The rows of a query, all as of one moment. Raises as `prepare`."""

    async def change(self, partition: int, change: Change) -> None:
        """Executes the statements of `change` in one transaction, which excludes other writers of `partition`.

        `change` gets how far the view is. Raises as `prepare`; then no statement was executed, or (the connection
        broke during the commit) all of them.
        """

    async def clear(self) -> None:
        """The tables are empty, and the view at the beginning of every partition. Raises as `prepare`."""


ADD_ENTRY: Final = "INSERT INTO history_entries VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"

PUT_JOB: Final = """INSERT INTO history_jobs
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
    ON CONFLICT (uid) DO UPDATE SET phase = excluded.phase, created_at = excluded.created_at,
    started_at = excluded.started_at, completed_at = excluded.completed_at, deleted = excluded.deleted,
    restarts = excluded.restarts, replicas = excluded.replicas, last_seq = excluded.last_seq,
    updated_at = excluded.updated_at"""

LIST: Final = """INSERT INTO history_listing VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT (uid) DO UPDATE SET phase = excluded.phase, is_error = excluded.is_error,
    created_at = excluded.created_at, scheduler = excluded.scheduler, queue = excluded.queue,
    resources = excluded.resources, shown = excluded.shown, labels = excluded.labels"""

UNLIST: Final = "DELETE FROM history_listing WHERE uid = $1"

UNLABEL: Final = "DELETE FROM history_labels WHERE uid = $1"

LABEL: Final = "INSERT INTO history_labels VALUES ($1, $2, $3)"

REACHED: Final = "SELECT position, latest FROM history_positions WHERE partition = $1"

MOVE: Final = "UPDATE history_positions SET position = $2, latest = $3 WHERE partition = $1"

BEGIN: Final = "INSERT INTO history_positions VALUES ($1, $2, $3) ON CONFLICT (partition) DO NOTHING"
