"""A process that brings a history on, until it is killed: `python -m tests.integration.history_process LOG URL`."""

import asyncio
import sys
from pathlib import Path

from jobledger.settings.sections import KafkaSettings
from jobledger.wiring.history import opened, streams_of, where_of
from jobledger.wiring.ledger import Kafka, reading


async def main(log: str, history: str) -> None:
    where = where_of(history)
    assert where is not None
    found = Kafka.of(log, KafkaSettings(feed="aiokafka")) if log.startswith("kafka:") else Path(log)
    async with reading(found) as partitions, opened(where) as database:
        streams = [stream for each in streams_of(database, partitions.logs) for stream in each]
        print("working", flush=True)  # noqa: T201 - the test that kills it waits for this
        while True:
            await asyncio.gather(*(each.advance() for each in streams))
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
