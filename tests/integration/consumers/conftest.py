"""A topic with the public events of a ledger."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from projectors.contract.binding import headers
from tests.harness import Kafka, program
from tests.harness.fixtures import fresh_address
from tests.integration.consumers.published import exported, ledger


class Published(NamedTuple):
    """Where the events are, and the same events as `jobledger events export` writes them, a line each."""

    servers: str
    topic: str
    lines: list[str]


@pytest.fixture
def published(kafka: Kafka, tmp_path: Path) -> Iterator[Published]:
    """All public events of a ledger with three jobs in a topic, gone after the test."""
    with fresh_address(kafka) as address:
        topic = f"{address.prefix}.cloudevents"
        store = ledger(tmp_path)
        lines = exported(store)
        restarted = next(line for line in lines if ".restart_scheduled." in line)
        asyncio.run(_made(kafka.servers, topic, json.loads(restarted)))
        place = f"kafka://{kafka.servers}/{topic}"
        done = program.run("events", "publish", "--store", str(store), "--to", place, "--once")
        assert done.returncode == 0, done.stderr
        yield Published(kafka.servers, topic, lines)


async def _made(servers: str, topic: str, event: dict[str, Any]) -> None:
    """The topic has as many partitions as the log, and begins with the event, in a transaction that was aborted."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1)])
    await admin.close()
    key, value = event["partitionkey"].encode(), json.dumps(event["data"]).encode()
    named = [(name, text.encode()) for name, text in headers(event).items()]
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=f"{topic}-before") as producer:
        await producer.begin_transaction()
        await (await producer.send(topic, value, key=key, headers=named))
        await producer.abort_transaction()
