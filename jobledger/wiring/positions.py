"""Where positions of sinks are kept: in the ledger whose events they get."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from jobledger.wiring.ledger import Kafka
from statemachine.log.partitions import Partitions
from statemachine.log.positions import Positions


@asynccontextmanager
async def positions_beside(partitions: Partitions, where: Path | Kafka) -> AsyncIterator[Positions]:
    """The positions in a ledger that this process has open. Raises as `positions_of`."""
    from statemachine.log.sqlite import SqliteLog

    (*_, log) = partitions.logs
    if isinstance(log, SqliteLog):
        from statemachine.log.sqlite_positions import SqlitePositionRecords

        yield Positions(await SqlitePositionRecords.open(log.store))
        return
    async with positions_of(where) as positions:
        yield positions


@asynccontextmanager
async def positions_of(where: Path | Kafka, *, read_only: bool = False) -> AsyncIterator[Positions]:
    """The positions in the ledger, which other processes may have open, too.

    With `read_only` nothing is written there, also no table for them. Raises LogUnavailable, StoreUnusable.
    """
    if isinstance(where, Kafka):
        from statemachine.log.kafka.positions import KafkaPositionRecords

        records = KafkaPositionRecords(where.address)
        try:
            yield Positions(records)
        finally:
            await records.close()
        return
    from statemachine.log.sqlite_positions import SqlitePositionRecords
    from statemachine.log.store import SqliteStore

    store = await SqliteStore.open(where, read_only=read_only, beside=not read_only)
    try:
        yield Positions(await SqlitePositionRecords.open(store))
    finally:
        await store.close()
