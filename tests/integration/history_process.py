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
    place = Kafka.of(log, KafkaSettings(feed="aiokafka")) if log.startswith("kafka:") else Path(log)
    async with reading(place) as partitions, opened(where) as database:
        streams = [stream for streams in streams_of(database, partitions.logs) for stream in streams]
        print("working", flush=True)  # noqa: T201 - the test that kills it waits for this
        while True:
            await asyncio.gather(*(stream.advance() for stream in streams))
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
