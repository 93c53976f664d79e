"""What errors of PostgreSQL's client mean to the history."""

import asyncpg
import pytest

from projectors.history.address import PostgresAddress
from projectors.history.postgres import PostgresDatabase
from statemachine.errors import ViewUnavailable


async def test_a_connection_that_the_server_was_ending_is_a_reason_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = PostgresDatabase(PostgresAddress.of("postgresql://ledger@127.0.0.1/history"))

    async def opened() -> object:
        raise asyncpg.InternalClientError("cannot switch to state 11; another operation (2) is in progress")

    monkeypatch.setattr(database, "_opened", opened)
    with pytest.raises(ViewUnavailable, match="cannot be read or written now"):
        await database.fetch("SELECT 1")
