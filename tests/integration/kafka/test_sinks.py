"""The projectors of a controller with its log in Kafka publish to the ledger's topic, by default."""

import asyncio
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from jobledger.publishing.operating import Operation
from jobledger.publishing.serving import topic_of_events
from jobledger.settings.events import EventsKafkaSettings, EventsSettings
from jobledger.settings.model import Settings
from jobledger.wiring.ledger import Kafka as KafkaLedger
from jobledger.wiring.sinks import checked
from statemachine.errors import ConfigError
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.port import EntryDraft
from tests.contract.lives import lives
from tests.harness.fixtures import LEDGER_PARTITIONS
from tests.integration.kafka.feeding import feeding, settings
from tests.support.published_lives import topic_lines

pytestmark = pytest.mark.integration


async def write(address: Address) -> None:
    by_job = {life.records[0].job: life.records for life in lives()}
    logs = [await KafkaLog.open(address, number) for number in range(LEDGER_PARTITIONS)]
    for records in [*by_job.values()][:12]:
        log = logs[partition_of(records[0].job, LEDGER_PARTITIONS)]
        await log.append([EntryDraft(record.job, record.seq, record.body) for record in records])
    for log in logs:
        await log.close()


async def lines(address: Address, topic: str) -> list[bytes]:
    return [line for number in range(LEDGER_PARTITIONS) for line in await topic_lines(address, topic, number)]


async def test_by_default_every_event_is_in_the_topic_once_whichever_process_feeds_it(
    ledger_topics: Address, tmp_path: Path
) -> None:
    await write(ledger_topics)
    chosen = settings(tmp_path)
    async with feeding(ledger_topics, chosen, [0]), feeding(ledger_topics, chosen, [1]) as other:
        assert [fed.name for fed in other.fed] == ["kafka"]
        before = await lines(ledger_topics, ledger_topics.topic("cloudevents"))
    async with feeding(ledger_topics, chosen, [0, 1]):
        after = await lines(ledger_topics, ledger_topics.topic("cloudevents"))
    assert len(before) == len(set(before)) > 150
    assert after == before


async def test_marks_of_transactions_are_nothing_that_a_sink_is_behind(
    ledger_topics: Address, tmp_path: Path
) -> None:
    await write(ledger_topics)
    chosen = settings(tmp_path)
    async with feeding(ledger_topics, chosen, [0, 1]):
        pass
    log = await KafkaLog.open(ledger_topics, 0)
    before = await log.end()
    for _ in range(3):
        await log.confirm_writer()
    async with asyncio.timeout(60):
        while await log.end() < before + 3:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await log.close()
    async with Operation.of(chosen, str(ledger_topics), writes=False) as operation:
        assert [(report.name, report.behind) for report in await operation.reports()] == [("kafka", 0)]
    async with feeding(ledger_topics, chosen, [0, 1]):
        pass  # it waits until nothing is left


async def test_a_sink_may_be_structured_or_have_types(ledger_topics: Address, tmp_path: Path) -> None:
    await write(ledger_topics)
    chosen = settings(tmp_path, "sinks: [{name: own, type: kafka, mode: structured, types: [job.created]}]")
    async with feeding(ledger_topics, chosen, [0, 1]):
        created = await lines(ledger_topics, ledger_topics.topic("cloudevents"))
    assert created
    assert all(b'"type":"dev.jobledger.job.created.v1"' in line for line in created)


async def test_the_setting_names_another_topic_and_servers_read_that(
    ledger_topics: Address, tmp_path: Path
) -> None:
    await write(ledger_topics)
    topic = ledger_topics.topic("facts")
    client = AIOKafkaAdminClient(**ledger_topics.options())
    await client.start()
    try:
        await client.create_topics([NewTopic(topic, LEDGER_PARTITIONS, 1)])
        said = EventsKafkaSettings(topic=topic, mode="structured")
        chosen = Settings(store=tmp_path / "unused.db", events=EventsSettings(kafka=said))
        log_at = KafkaLedger(ledger_topics, "aiokafka", "", 10.0)
        async with feeding(ledger_topics, chosen, [0, 1]), topic_of_events(chosen, log_at) as stream:
            written = await lines(ledger_topics, topic)
            assert stream is not None
            given: list[bytes] = []
            for number, place in enumerate(await stream.earliest()):
                while not (portion := await stream.read(number, place)).at_end:
                    given += [placed.line for placed in portion.events]
                    place = portion.place  # noqa: PLW2901
        assert given == written
        assert len(set(written)) == len(written) > 150
        assert await lines(ledger_topics, ledger_topics.topic("cloudevents")) == []
    finally:
        await client.delete_topics([topic])
        await client.close()


async def test_a_topic_that_cannot_be_is_refused_at_the_start(tmp_path: Path) -> None:
    for sink, sentence in (
        ("{name: own, type: kafka}", "the sink own kafka: is the topic of a log in Kafka"),
        ("{name: own, type: kafka, url: https://x/y}", "the sink own needs kafka:, or kafka://HOST:PORT"),
        ("{name: own, type: kafka, mode: both}", "Input should be 'binary' or 'structured'"),
    ):
        chosen = settings(tmp_path, f"sinks: [{sink}]")
        with pytest.raises(ConfigError, match=sentence):
            await checked(chosen, chosen.store)
