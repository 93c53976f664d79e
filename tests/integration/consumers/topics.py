"""A topic of public events as the contract describes it: binary mode, keyed by job, written in transactions."""

import asyncio
import json
from typing import Final

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from projectors.contract.binding import headers

PARTITIONS: Final = 2


def fill(servers: str, topic: str, lines: list[str]) -> None:
    """The topic holds these events, and before them the first one in a transaction that was aborted."""
    asyncio.run(_fill(servers, topic, lines))


async def _fill(servers: str, topic: str, lines: list[str]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=topic) as producer:
        await producer.begin_transaction()
        await _send(producer, topic, lines[0])
        await producer.abort_transaction()
        async with producer.transaction():
            for line in lines:
                await _send(producer, topic, line)


async def _send(producer: AIOKafkaProducer, topic: str, line: str) -> None:
    event = json.loads(line)
    named = [(name, value.encode()) for name, value in headers(event).items()]
    key = event["partitionkey"].encode()
    # as the log does it, a job's partition is not that of the clients' own rule
    partition = sum(key) % PARTITIONS
    sent = await producer.send(
        topic, json.dumps(event["data"]).encode(), key=key, partition=partition, headers=named
    )
    await sent
