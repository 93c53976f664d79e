"""Where positions of sinks are kept: in the ledger whose events they get."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from jobledger.wiring.ledger import Kafka
from statemachine.errors import ConfigError
from statemachine.log.positions import Positions


@asynccontextmanager
async def positions_of(where: Path | Kafka, *, read_only: bool = False) -> AsyncIterator[Positions]:
    """The positions in the ledger, beside whoever else uses it. Raises ConfigError, LogUnavailable, StoreUnusable."""
    if isinstance(where, Kafka):
        raise ConfigError(f"positions of sinks are not kept in {where} yet: leave out --name")
    from statemachine.log.sqlite_positions import SqlitePositionRecords
    from statemachine.log.store import SqliteStore

    store = await SqliteStore.open(where, read_only=read_only, beside=not read_only)
    try:
        yield Positions(await SqlitePositionRecords.open(store))
    finally:
        await store.close()
