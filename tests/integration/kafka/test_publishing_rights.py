"""The rights of docs/kafka.md are enough to publish, and those of a consumer to read public events and no more."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from projectors.sinks.kafka import KafkaSink
from statemachine.errors import StoreUnusable
from statemachine.log.kafka import topics
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import parts
from statemachine.log.kafka.identity import identity
from statemachine.log.kafka.publishing import Target
from statemachine.log.kafka.rights import CONSUMER
from tests.harness import Kafka
from tests.integration.kafka.test_security import address_of, admin, grant, secure
from tests.support.published_lives import batches, lines_of, published, topic_lines

pytestmark = pytest.mark.integration

__all__ = ["admin", "secure"]

ENTRIES = published(0, 1, most=3)


@pytest.fixture
async def ledger(secure: Kafka, admin: AIOKafkaAdminClient) -> Address:
    """A ledger as the projectors of one may use it."""
    await topics.apply(address_of("admin", secure, "published"), partitions=1)
    await grant(admin, "projectors", "projectors", "published")
    return address_of("projectors", secure, "published")


async def test_the_rights_of_projectors_are_enough_to_publish_and_of_a_consumer_to_read(
    secure: Kafka, admin: AIOKafkaAdminClient, ledger: Address
) -> None:
    assert (await identity(ledger, "prod-1")).name == "prod-1"
    sink = await KafkaSink.open("kafka", Target.of(ledger), 1)
    await sink.position(0)
    for batch in batches(ENTRIES, 50):
        await sink.deliver(batch)
    await sink.close()
    assert await topic_lines(ledger, ledger.topic("cloudevents")) == lines_of(ENTRIES)

    await grant(admin, "visitor", CONSUMER, "published")
    visitor = address_of("visitor", secure, "published")
    with pytest.raises(StoreUnusable, match="positions does not exist, or we have no right to see it"):
        await identity(visitor)
    count = 0
    async with AIOKafkaConsumer(
        **visitor.options(), isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        partition = TopicPartition(visitor.topic("cloudevents"), 0)
        consumer.assign([partition])
        async with asyncio.timeout(60):
            while count < len(lines_of(ENTRIES)):
                count += len((await consumer.getmany(timeout_ms=500)).get(partition, ()))
    visible = [name for name in await parts(visitor) if name.startswith(visitor.prefix)]
    assert visible == [visitor.topic("cloudevents")]
