"""`jobledger topics` makes and checks topics of sinks of lineage; the rights of docs/kafka.md are enough for them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAuthorizationFailedError

from projectors.contract.lineage.runs import run_events
from projectors.sinks.lineage_topic import LineageTopicSink
from projectors.sinks.port import Batch
from statemachine.errors import StoreUnusable
from statemachine.log.kafka import topics
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import parts
from statemachine.log.kafka.publishing import Target
from statemachine.log.kafka.rights import APPLY, CHECK, LINEAGE_CONSUMER
from tests.harness import Kafka
from tests.harness.fixtures import LEDGER_PARTITIONS
from tests.integration.cli_words import Place
from tests.integration.kafka.test_security import address_of, grant, secure
from tests.integration.kafka.test_security import admin as secure_admin
from tests.integration.kafka.test_topics import admin, make, no_topics, own_settings, set_to, until
from tests.support.published_lives import at, published

pytestmark = pytest.mark.integration

__all__ = ["admin", "no_topics", "secure", "secure_admin"]

ENTRIES: Final = published(0, 1, most=3)


def sinks_at(place: Place, topic: str) -> None:
    """The settings of commands there name a sink of lineage for the topic."""
    path = place.folder / "sinks.yaml"
    path.write_text(
        f"sinks: [{{name: lineage, type: openlineage, transport: {{type: kafka, topic: {topic}}}}}]",
        encoding="utf-8",
    )
    place.env["JOBLEDGER_EVENTS__SINKS"] = str(path)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
async def topic(ledger_topics: Address, admin: AIOKafkaAdminClient) -> AsyncIterator[str]:
    """Name of a topic beside a ledger, which is not there yet; deleted afterwards."""
    name = f"{ledger_topics.prefix}-lineage"
    yield name
    await admin.delete_topics([name])


def test_the_command_makes_the_topic_of_a_sink_of_lineage_with_the_ledgers(
    no_topics: Address, place: Place
) -> None:
    name = no_topics.topic("runs")
    sinks_at(place, name)
    done = place.run("topics", "apply", "--log", str(no_topics), "--partitions", "3", store=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"made {name}: 3 partitions, 1 copy\n" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [name, "3", "1", "delete", "for", "ever", "1"] in rows
    again = place.run("topics", "apply", "--log", str(no_topics), store=False)
    assert again.returncode == 0
    assert "made" not in again.stdout


async def test_a_sink_writes_to_the_topic_that_was_made(ledger_topics: Address, topic: str) -> None:
    made = [f"made {topic}: {LEDGER_PARTITIONS} partitions, 1 copy"]
    assert await topics.apply(ledger_topics, lineage=[topic]) == made
    sink = await LineageTopicSink.of("lineage", Target.of(ledger_topics, topic), LEDGER_PARTITIONS)
    await sink.position(0)
    await sink.deliver(runs())
    await sink.close()
    assert await topics.apply(ledger_topics, lineage=[topic]) == []


def runs() -> Batch:
    return Batch(0, [event for entry in ENTRIES for event in run_events(entry)], at(ENTRIES[-1].position))


@pytest.mark.parametrize(
    ("wrong", "safe"), [(("cleanup_policy", "compact"), "delete"), (("retention_bytes", "1000"), "-1")]
)
async def test_a_setting_that_loses_run_events_is_named_and_set_right_and_no_other(
    ledger_topics: Address, topic: str, admin: AIOKafkaAdminClient, wrong: tuple[str, str], safe: str
) -> None:
    setting, value = wrong
    await topics.apply(ledger_topics, lineage=[topic])
    own = {
        name.replace(".", "_"): kept
        for name, kept in (await own_settings(ledger_topics, topic, [topic])).items()
    }
    await set_to(admin, topic, **{**own, "retention_ms": "86400000", setting: value})
    named = setting.replace("_", ".")
    [sentence] = await topics.check(ledger_topics, [topic])
    assert sentence.startswith(f"{topic}: {named} is {value}, but must be {safe}. ")
    assert await topics.check(ledger_topics) == []
    assert await topics.apply(ledger_topics, lineage=[topic]) == [
        f"set {named} of {topic} to {safe}, it was {value}"
    ]
    assert (await own_settings(ledger_topics, topic, [topic]))["retention.ms"] == "86400000"


async def test_it_may_have_more_partitions_than_the_ledger_and_not_fewer(
    ledger_topics: Address, topic: str, admin: AIOKafkaAdminClient
) -> None:
    await make(admin, NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": "8388608"}))
    async with AIOKafkaProducer(**ledger_topics.options()) as producer:
        await producer.send_and_wait(topic, b"a run of others")
    assert await topics.apply(ledger_topics, lineage=[topic]) == []
    [sentence] = await topics.check(ledger_topics, [topic])
    assert sentence.startswith(
        f"{topic}: it has 1 partitions, but must have at least {LEDGER_PARTITIONS}, as "
    )
    more = f"{topic}-more"
    await make(
        admin, NewTopic(more, LEDGER_PARTITIONS + 3, 1, topic_configs={"max.message.bytes": "8388608"})
    )
    try:
        assert await topics.check(ledger_topics, [more]) == []
    finally:
        await admin.delete_topics([more])


def test_a_topic_of_the_ledger_is_refused_before_brokers_are_asked(place: Place) -> None:
    sinks_at(place, "jobledger.events")
    done = place.run("topics", "apply", "--log", "kafka://127.0.0.1:1", store=False)
    assert done.returncode == 2
    assert "the sink lineage writes to jobledger.events, which is a topic of the ledger" in done.stderr


# ---- rights ------------------------------------------------------------------------------------------------------


async def test_the_rights_to_apply_and_check_are_enough_for_a_topic_of_lineage(
    secure: Kafka, secure_admin: AIOKafkaAdminClient
) -> None:
    ours = "runs-applied"
    await grant(secure_admin, "front", APPLY, "applied-with-runs", ours)
    applying = address_of("front", secure, "applied-with-runs")
    assert f"made {ours}: 1 partition, 1 copy" in await topics.apply(applying, partitions=1, lineage=[ours])
    await grant(secure_admin, "visitor", CHECK, "applied-with-runs", ours)
    checking = address_of("visitor", secure, "applied-with-runs")
    assert await topics.check(checking, [ours]) == []
    await secure_admin.delete_topics([ours])

    async def is_gone() -> bool:
        return ours not in await secure_admin.list_topics()

    await until(is_gone)
    with pytest.raises(StoreUnusable, match=ours):
        await topics.apply(checking, lineage=[ours])


async def test_the_rights_of_projectors_are_enough_to_send_runs_and_of_a_consumer_to_read_them(
    secure: Kafka, secure_admin: AIOKafkaAdminClient
) -> None:
    ours, prefix = "runs-sent", "with-runs"
    await topics.apply(address_of("admin", secure, prefix), partitions=1, lineage=[ours])
    await grant(secure_admin, "projectors", "projectors", prefix, ours)
    target = Target.of(address_of("projectors", secure, prefix), ours)
    sink = await LineageTopicSink.of("lineage", target, 1)
    await sink.position(0)
    await sink.deliver(runs())
    await sink.close()

    await grant(secure_admin, "visitor", LINEAGE_CONSUMER, prefix, ours)
    visitor = address_of("visitor", secure, prefix)
    assert await received(visitor, ours, len(runs().events)) == [event.data for event in runs().events]
    there = await parts(visitor)
    assert [name for name in there if name.startswith(prefix)] == []
    async with AIOKafkaProducer(**visitor.options()) as producer:
        with pytest.raises(TopicAuthorizationFailedError):
            await producer.send_and_wait(ours, b"a run that never was")


async def received(address: Address, name: str, most: int) -> list[bytes]:
    values: list[bytes] = []
    async with AIOKafkaConsumer(
        **address.options(), isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        partition = TopicPartition(name, 0)
        consumer.assign([partition])
        async with asyncio.timeout(60):
            while len(values) < most:
                batch = (await consumer.getmany(timeout_ms=500)).get(partition, ())
                values += [record.value for record in batch]
    return values
