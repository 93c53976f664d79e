"""Projectors that feed the sinks of a ledger in Kafka: in this process, or in one of their own.

`python -m tests.integration.kafka.feeding URL FOLDER PARTITION…`: it feeds these partitions until it is ended, and
says so as soon as it has fed all there was.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from jobledger.settings.events import EventsSettings
from jobledger.settings.model import Settings
from jobledger.wiring.ledger import Kafka as KafkaLedger
from jobledger.wiring.ledger import Ledger, reading
from jobledger.wiring.sinks import Sinks, sinks_of
from statemachine.log.kafka.address import Address


def settings(tmp_path: Path, sinks: str = "") -> Settings:
    """Those of a process whose sinks are the default ones, or as this file says."""
    if not sinks:
        return Settings(store=tmp_path / "unused.db")
    (tmp_path / "sinks.yaml").write_text(sinks, encoding="utf-8")
    return Settings(store=tmp_path / "unused.db", events=EventsSettings(sinks=tmp_path / "sinks.yaml"))


@asynccontextmanager
async def feeding(address: Address, chosen: Settings, mine: Sequence[int]) -> AsyncIterator[Sinks]:
    """A process feeds these partitions until the block is left."""
    log_at = KafkaLedger(address, "aiokafka", "", 10.0)
    async with reading(log_at) as partitions, sinks_of(chosen, log_at, Ledger(partitions)) as sinks:
        assert sinks is not None
        ends = [await log.end() for log in partitions.logs]
        sinks.begin(lambda number: number in mine, lambda number: ends[number])
        tasks = [asyncio.create_task(loop, name=name) for name, loop in sinks.loops()]
        sinks.grown()
        try:
            async with asyncio.timeout(60):
                while any(sinks.lag_entries().values()):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            yield sinks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _feed(url: str, folder: str, *numbers: str) -> None:
    async with feeding(Address.of(url), settings(Path(folder)), [int(number) for number in numbers]) as sinks:
        print("fed", flush=True)  # noqa: T201 - who starts it waits for this
        while True:
            sinks.grown()
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(_feed(*sys.argv[1:]))
