"""The phase and the restarts of every job, built from the topic alone, from its first record on.

    python examples/consumers/table.py localhost:9092 jobledger.cloudevents

Needs aiokafka. A line of JSON is printed whenever the table has taken all there was.
"""

import asyncio
import json
import sys
from typing import Any

from aiokafka import AIOKafkaConsumer

Table = dict[str, dict[str, Any]]


def take(table: Table, headers: dict[str, str], data: dict[str, Any]) -> None:
    """What an event says is in the table; types that are not known are passed over."""
    job = f"{headers['ce_namespace']}/{headers['ce_name']}"
    row = table.setdefault(
        headers["ce_partitionkey"], {"job": job, "phase": "", "restarts": 0, "gone": False}
    )
    if "phase" in data:
        row["phase"] = data["phase"]["to"]
    if headers["ce_type"] == "dev.jobledger.replica.restart_scheduled.v1":
        row["restarts"] += 1
    elif headers["ce_type"] == "dev.jobledger.job.deleted.v1":
        row["gone"] = True


async def follow(servers: str, topic: str) -> None:
    """Prints the table as it grows, for ever."""
    table: Table = {}
    async with AIOKafkaConsumer(
        topic,
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as consumer:
        changed = False
        while True:
            batches = await consumer.getmany(timeout_ms=500)
            for record in (record for batch in batches.values() for record in batch):
                headers = {name: value.decode() for name, value in record.headers}
                take(table, headers, json.loads(record.value))
            if changed and not batches:
                print(json.dumps(table), flush=True)
            changed = bool(batches)


if __name__ == "__main__":
    asyncio.run(follow(*sys.argv[1:]))
