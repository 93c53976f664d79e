"""Observations on their way to the owners of partitions, through a real Kafka."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from statemachine.errors import LogUnavailable, StoreUnusable
from statemachine.ids import JobUid
from statemachine.log.codec import decode_observation
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import RECORD_LIMIT
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.kafka.reading import Partition
from statemachine.observations import Observation, TimerFired
from tests.harness.broker import Kafka
from tests.harness.fixtures import ledger_topics_on
from tests.support.logs import JOB, OTHER, START

pytestmark = pytest.mark.integration

PARTITIONS = 2


@pytest.fixture
async def outbox(ledger_topics: Address) -> AsyncIterator[KafkaOutbox]:
    made = await KafkaOutbox.open(ledger_topics)
    yield made
    await made.close()


def observed(number: int, job: JobUid = JOB, timer: str = "") -> Observation:
    at = START + timedelta(seconds=number)
    return TimerFired(job=job, at=at, timer=timer or f"t{number}", due_at=at)


async def arrived(address: Address) -> list[list[Observation]]:
    """What is in each partition."""
    partitions_of_observations = []
    for number in range(PARTITIONS):
        topic = Partition(address, address.topic("observations"), number)
        batches = [batch async for batch in topic.read(0, await topic.end())]
        partitions_of_observations.append(
            [decode_observation(message.value or b"") for batch in batches for message in batch]
        )
        await topic.close()
    return partitions_of_observations


async def test_what_was_put_is_in_the_partition_of_its_job_in_its_order(
    ledger_topics: Address, outbox: KafkaOutbox
) -> None:
    jobs = [JobUid(f"job-{number}") for number in range(10)]
    sent = [observed(number, jobs[number % 10]) for number in range(200)]
    for start in range(0, 200, 40):
        await outbox.put(sent[start : start + 40])
    partitions_of_observations = await arrived(ledger_topics)
    assert all(partitions_of_observations)
    assert partitions_of_observations == [
        [observation for observation in sent if partition_of(observation.job, PARTITIONS) == number]
        for number in range(PARTITIONS)
    ]


async def test_putting_nothing_changes_nothing(ledger_topics: Address, outbox: KafkaOutbox) -> None:
    await outbox.put([])
    assert await arrived(ledger_topics) == [[], []]


async def test_those_who_put_at_the_same_time_keep_their_order(
    ledger_topics: Address, outbox: KafkaOutbox
) -> None:
    other = await KafkaOutbox.open(ledger_topics)

    async def put(through: KafkaOutbox, job: JobUid) -> None:
        for number in range(30):
            await through.put([observed(number, job)])

    await asyncio.gather(put(outbox, JOB), put(other, OTHER))
    await other.close()
    observations = [observation for part in await arrived(ledger_topics) for observation in part]
    for job in (JOB, OTHER):
        assert [observation for observation in observations if observation.job == job] == [
            observed(number, job) for number in range(30)
        ]


async def test_an_observation_larger_than_a_record_becomes_a_dead_letter_and_others_go_on(
    ledger_topics: Address, outbox: KafkaOutbox
) -> None:
    await outbox.put([observed(1), observed(2, timer="x" * RECORD_LIMIT), observed(3)])
    number = partition_of(JOB, PARTITIONS)
    assert (await arrived(ledger_topics))[number] == [observed(1), observed(3)]
    log = await KafkaLog.open(ledger_topics, number, read_only=True)
    (letter,) = await log.dead_letters()
    await log.close()
    assert letter.job == JOB
    assert "cannot be sent" in letter.error


async def test_without_its_topic_there_is_no_way_and_a_sentence_says_so(ledger_topics: Address) -> None:
    with pytest.raises(StoreUnusable, match=r"topic nobody\.observations does not exist.*topics apply"):
        await KafkaOutbox.open(replace(ledger_topics, prefix="nobody"))


async def test_another_number_of_partitions_than_the_log_has_is_refused(ledger_topics: Address) -> None:
    admin = AIOKafkaAdminClient(**ledger_topics.options())
    await admin.start()
    await admin.create_partitions({ledger_topics.topic("observations"): NewPartitions(3)})
    await admin.close()
    with pytest.raises(StoreUnusable, match=r"has 3 partitions, and .* has 2"):
        await KafkaOutbox.open(ledger_topics)


async def test_while_the_broker_is_away_putting_fails_and_afterwards_all_arrives(
    killable_kafka: Kafka,
) -> None:
    with ledger_topics_on(killable_kafka) as address:
        outbox = await KafkaOutbox.open(address)
        await outbox.put([observed(1)])
        await _put_around_an_outage(killable_kafka, outbox)
        observations = (await arrived(address))[partition_of(JOB, PARTITIONS)]
        await outbox.close()
    assert list(dict.fromkeys(observation.at for observation in observations)) == [
        observed(number).at for number in range(1, 5)
    ]


async def _put_around_an_outage(kafka: Kafka, outbox: KafkaOutbox) -> None:
    kafka.kill()
    try:
        with pytest.raises(LogUnavailable):
            await asyncio.wait_for(outbox.put([observed(2), observed(3)]), 90)
        with pytest.raises(LogUnavailable):
            await asyncio.wait_for(outbox.put([observed(2), observed(3)]), 90)
    finally:
        await asyncio.to_thread(kafka.start)
    await outbox.put([observed(2), observed(3)])
    await outbox.put([observed(4)])
