"""RunEvents in a topic: each once for readers of what is committed, a family of runs in one partition, in order."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from jobledger.settings.events import EventsSettings
from jobledger.settings.model import Settings
from jobledger.wiring.ledger import Kafka as LogInKafka
from jobledger.wiring.ledger import Ledger, reading
from jobledger.wiring.sinks import sinks_of
from projectors.contract.lineage.runs import RUN_KEY, run_events
from projectors.contract.page import PublicEvent
from projectors.sinks.lineage_topic import LineageTopicSink
from projectors.sinks.port import Batch
from statemachine.errors import ConfigError, OwnerLost
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.publishing import Target
from statemachine.log.kafka.reading import Partition
from statemachine.log.port import EntryDraft, EventLog
from statemachine.log.sqlite import SqliteLog
from tests.contract.lives import lives
from tests.harness import program
from tests.harness.fixtures import LEDGER_PARTITIONS
from tests.support.published_lives import at, published

pytestmark = pytest.mark.integration

ENTRIES: Final = published(0, LEDGER_PARTITIONS)
PARTITIONS: Final = 5
SIZE: Final = 40


@pytest.fixture
async def target(ledger_topics: Address) -> AsyncIterator[Target]:
    """A topic of lineage beside a ledger."""
    name = f"{ledger_topics.prefix}-lineage"
    admin = AIOKafkaAdminClient(**ledger_topics.options())
    await admin.start()
    await admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    yield Target.of(ledger_topics, name)
    await admin.delete_topics([name])
    await admin.close()


@asynccontextmanager
async def opened(target: Target) -> AsyncIterator[LineageTopicSink]:
    sink = await LineageTopicSink.of("lineage", target, LEDGER_PARTITIONS)
    try:
        yield sink
    finally:
        await sink.close()


def batches(after: int = 0) -> list[Batch]:
    rest = [entry for entry in ENTRIES if entry.position > after]
    groups = [rest[begin : begin + SIZE] for begin in range(0, len(rest), SIZE)]
    return [
        Batch(0, [event for entry in group for event in run_events(entry)], at(group[-1].position))
        for group in groups
    ]


def expected() -> list[PublicEvent]:
    return [event for batch in batches() for event in batch.events]


async def records(target: Target) -> dict[int, Sequence[Any]]:
    """Partition → what is committed in it."""
    there: dict[int, Sequence[Any]] = {}
    for number in range(PARTITIONS):
        partition = Partition(target.address, target.topic, number)
        end = await partition.end()
        there[number] = [record async for batch in partition.read(0, end) for record in batch]
        await partition.close()
    return there


async def test_every_run_event_is_there_once_across_restarts_and_a_family_is_in_one_partition(
    target: Target,
) -> None:
    first, *rest = batches()
    assert rest
    async with opened(target) as sink:
        assert await sink.position(0) is None
        await sink.deliver(first)
    async with opened(target) as sink:
        assert await sink.position(0) == first.upto
        for batch in rest:
            await sink.deliver(batch)
        assert await sink.position(0) == rest[-1].upto
    there = await records(target)
    assert sum(map(len, there.values())) == len(expected())
    for key in {str(event.attributes[RUN_KEY]) for event in expected()}:
        own = [[record.value for record in rows if record.key == key.encode()] for rows in there.values()]
        assert sorted(filter(None, own)) == [
            [event.data for event in expected() if event.attributes[RUN_KEY] == key]
        ]
    assert len([rows for rows in there.values() if rows]) > 1
    [headers] = {tuple(name for name, _ in record.headers) for rows in there.values() for record in rows}
    assert headers == ("content-type", "jobledger-position")
    assert {json.loads(record.value)["eventType"] for rows in there.values() for record in rows} >= {
        "START",
        "FAIL",
    }


async def test_of_two_publishers_the_first_stops_and_nothing_is_there_twice(target: Target) -> None:
    first, second, *rest = batches()
    async with opened(target) as one, opened(target) as other:
        await one.position(0)
        await one.deliver(first)
        assert await other.position(0) == first.upto
        await other.deliver(second)
        with pytest.raises(OwnerLost):
            await one.deliver(second)
        for batch in rest:
            await other.deliver(batch)
    assert sum(map(len, (await records(target)).values())) == len(expected())


async def test_a_topic_that_is_not_there_or_too_small_is_one_sentence(ledger_topics: Address) -> None:
    with pytest.raises(ConfigError, match="does not exist, or we have no right to see it"):
        await LineageTopicSink.of("lineage", Target.of(ledger_topics, f"{ledger_topics.prefix}-no"), 2)
    with pytest.raises(
        ConfigError, match=f"has {LEDGER_PARTITIONS} partitions, and the log has {LEDGER_PARTITIONS + 1};"
    ):
        await LineageTopicSink.of("lineage", Target.of(ledger_topics), LEDGER_PARTITIONS + 1)


async def last_position(log: EventLog) -> int:
    """That of the last entry; what ends a transaction stands behind it."""
    return [record.position async for batch in log.scan() for record in batch][-1]


async def test_projectors_write_the_runs_of_a_ledger_in_kafka_as_the_file_of_sinks_says(
    target: Target, tmp_path: Path
) -> None:
    store = await SqliteLog.open(tmp_path / "ledger.db")
    jobs = dict([*{life.records[0].job: life.records for life in lives()}.items()][-4:])
    for kept in jobs.values():
        await store.append([EntryDraft(record.job, record.seq, record.body) for record in kept])
    await store.close()
    copied = await asyncio.to_thread(
        program.run, "log", "copy", f"sqlite://{tmp_path}/ledger.db", str(target.address)
    )
    assert copied.returncode == 0, copied.stderr
    (tmp_path / "sinks.yaml").write_text(
        f"sinks: [{{name: lineage, type: openlineage, transport: {{type: kafka, topic: {target.topic}}}}}]"
    )
    settings = Settings(events=EventsSettings(sinks=tmp_path / "sinks.yaml"))
    where = LogInKafka(target.address, "aiokafka", "test", 10.0)
    async with reading(where) as partitions, sinks_of(settings, where, Ledger(partitions)) as sinks:
        assert sinks is not None
        ends = [await last_position(log) for log in partitions.logs]
        sinks.begin(lambda _: True, ends.__getitem__)
        tasks = [asyncio.create_task(loop, name=name) for name, loop in sinks.loops()]
        try:
            async with asyncio.timeout(60):
                while sinks.lag_entries()["lineage"]:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.05)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
    starts = [
        json.loads(record.value)["run"]["runId"]
        for rows in (await records(target)).values()
        for record in rows
        if json.loads(record.value)["eventType"] == "START"
    ]
    assert sorted(starts) == sorted(jobs)
