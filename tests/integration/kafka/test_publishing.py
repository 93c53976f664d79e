"""Public events in a topic: exactly once for readers of what is committed, whatever happens to publishers."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.errors import InvalidProducerEpoch, KafkaError, RequestTimedOutError, for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import EndTxnRequest
from cloudevents.core.formats.json import JSONFormat

from projectors.contract.binding import Mode
from projectors.sinks.kafka import KafkaSink
from statemachine.errors import ConfigError, OwnerLost
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.positions import KafkaPositionRecords
from statemachine.log.kafka.publishing import Target
from statemachine.log.positions import Positions
from tests.harness import Kafka, program
from tests.harness.fixtures import LEDGER_PARTITIONS, ledger_topics_on
from tests.integration.kafka.publisher_process import POINTS
from tests.support.published_lives import at, batches, left_open, lines_of, published, topic_lines
from tests.support.repetition import kills

pytestmark = pytest.mark.integration

ENTRIES = published(0, LEDGER_PARTITIONS)
SIZE = 7


@asynccontextmanager
async def opened(address: Address, mode: Mode = "binary", topic: str = "") -> AsyncIterator[KafkaSink]:
    sink = await KafkaSink.open("kafka", Target.of(address, topic), LEDGER_PARTITIONS, mode)
    try:
        yield sink
    finally:
        await sink.close()


async def feed(sink: KafkaSink) -> None:
    """The sink has everything of partition 0."""
    position = await sink.position(0)
    for batch in batches(ENTRIES, SIZE, position.position if position else 0):
        await sink.deliver(batch)


async def published_lines(address: Address) -> list[bytes]:
    return await topic_lines(address, address.topic("cloudevents"))


@pytest.mark.parametrize("mode", ["binary", "structured"])
async def test_a_topic_has_the_events_of_the_log_in_its_order(ledger_topics: Address, mode: Mode) -> None:
    async with opened(ledger_topics, mode) as sink:
        assert await sink.position(0) is None
        await feed(sink)
        assert await sink.position(0) == at(ENTRIES[-1].position)
        await feed(sink)
    assert await published_lines(ledger_topics) == lines_of(ENTRIES)


async def test_a_plain_client_reads_records_as_the_binding_of_cloudevents_says(
    ledger_topics: Address,
) -> None:
    async with opened(ledger_topics) as sink:
        await feed(sink)
    events = [JSONFormat().read(None, line) for line in await published_lines(ledger_topics)]
    partition = TopicPartition(ledger_topics.topic("cloudevents"), 0)
    async with AIOKafkaConsumer(
        bootstrap_servers=list(ledger_topics.servers),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign([partition])
        records: list[Any] = []
        while len(records) < len(events):
            records += (await consumer.getmany(timeout_ms=1000)).get(partition, ())
    for record, event in zip(records, events, strict=True):
        headers = {name: value.decode() for name, value in record.headers}
        assert record.key.decode() == event.get_extension("partitionkey")
        assert headers["content-type"] == "application/json"
        assert (headers["ce_id"], headers["ce_source"]) == (event.get_id(), event.get_source())
        assert int(headers["jobledger-position"]) > 0
        assert headers["ce_time"].endswith("Z")


async def test_a_batch_without_events_moves_the_position(ledger_topics: Address) -> None:
    async with opened(ledger_topics) as sink:
        await sink.position(0)
        await sink.deliver(batches(ENTRIES, SIZE)[0]._replace(events=()))
        assert await sink.position(0) == at(ENTRIES[SIZE - 1].position)
    assert await published_lines(ledger_topics) == []
    records = KafkaPositionRecords(ledger_topics)
    assert await Positions(records).load("kafka", 0) == at(ENTRIES[SIZE - 1].position)
    await records.close()


async def test_of_two_publishers_the_first_stops_and_nothing_is_there_twice(ledger_topics: Address) -> None:
    first, second, *rest = batches(ENTRIES, SIZE)
    async with opened(ledger_topics) as one, opened(ledger_topics) as other:
        await one.position(0)
        await one.deliver(first)
        assert await other.position(0) == first.upto
        await other.deliver(second)
        with pytest.raises(OwnerLost, match="another publisher has partition 0"):
            await one.deliver(second)
        for batch in rest:
            await other.deliver(batch)
    assert await published_lines(ledger_topics) == lines_of(ENTRIES)


async def test_two_publishers_that_go_on_at_once_leave_no_trace_of_each_other(ledger_topics: Address) -> None:
    async def stubborn(sink: KafkaSink) -> None:
        """Takes the partition over again when it has lost it, some times."""
        for _ in range(4):
            try:
                await feed(sink)
            except OwnerLost:
                continue

    async with opened(ledger_topics) as one, opened(ledger_topics) as other:
        await asyncio.gather(stubborn(one), stubborn(other))
    async with opened(ledger_topics) as last:
        await feed(last)
    assert await published_lines(ledger_topics) == lines_of(ENTRIES)


async def test_a_publisher_whose_transaction_was_aborted_for_its_silence_goes_on(
    ledger_topics: Address,
) -> None:
    first, second, *_ = batches(ENTRIES, SIZE)
    async with opened(ledger_topics) as sink:
        await sink.position(0)
        await sink.deliver(first)
        topic = ledger_topics.topic("cloudevents")
        fencing = AIOKafkaProducer(**ledger_topics.options(), transactional_id=f"{topic}-0")
        await (
            fencing.start()
        )  # as brokers do after a time-out: the epoch is higher, and nobody has taken over
        await fencing.stop()
        await sink.deliver(second)
    assert await published_lines(ledger_topics) == lines_of(ENTRIES[: 2 * SIZE])


async def test_a_position_behind_what_another_sink_left_open_is_waited_for(ledger_topics: Address) -> None:
    first, second, *_ = batches(ENTRIES, SIZE)
    async with opened(ledger_topics) as sink:
        await sink.position(0)
        await sink.deliver(first)
        async with left_open(ledger_topics, 10_000):
            await sink.deliver(second)
    async with opened(ledger_topics) as sink:
        assert await sink.position(0) == second.upto
        await feed(sink)
    assert await published_lines(ledger_topics) == lines_of(ENTRIES)


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_a_commit_whose_answer_is_lost_is_not_repeated(
    ledger_topics: Address, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    commit = AIOKafkaProducer.commit_transaction
    fails = [True]

    async def unanswered(producer: AIOKafkaProducer) -> None:
        if not fails or lost == "after":
            await commit(producer)
        if fails.pop() if fails else False:
            raise TimeoutError

    async with opened(ledger_topics) as sink:
        await sink.position(0)
        monkeypatch.setattr(AIOKafkaProducer, "commit_transaction", unanswered)
        for batch in batches(ENTRIES, SIZE):
            await sink.deliver(batch)
    assert not fails
    assert await published_lines(ledger_topics) == lines_of(ENTRIES)


async def test_a_commit_that_arrives_twice_ends_no_half_of_the_next_batch(
    ledger_topics: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request to commit gets no answer, and arrives behind the events of the second batch."""
    send, late, answers = AIOKafkaClient.send, list[Any](), list[type[KafkaError]]()

    async def sent(self: AIOKafkaClient, node: int, request: Any, **options: Any) -> Any:
        if isinstance(request, EndTxnRequest) and not late:
            late.append(request)
            raise RequestTimedOutError
        answer = await send(self, node, request, **options)
        if isinstance(request, ProduceRequest) and late and not answers:
            once_more = await send(self, node, late[0], group=ConnectionGroup.COORDINATION)
            answers.append(for_code(once_more.error_code))
        return answer

    async with opened(ledger_topics) as sink:
        await sink.position(0)
        monkeypatch.setattr(AIOKafkaClient, "send", sent)
        for batch in batches(ENTRIES, SIZE):
            await sink.deliver(batch)
    assert answers == [InvalidProducerEpoch]
    assert await published_lines(ledger_topics) == lines_of(ENTRIES)


async def test_a_topic_that_was_deleted_stops_the_publisher_with_the_ways_on(ledger_topics: Address) -> None:
    async with opened(ledger_topics) as sink:
        await feed(sink)
    name = ledger_topics.topic("cloudevents")
    admin = AIOKafkaAdminClient(**ledger_topics.options())
    await admin.start()
    await admin.delete_topics([name])
    await _until(admin, lambda names: name not in names)
    await admin.create_topics([NewTopic(name, LEDGER_PARTITIONS, 1)])
    await _until(admin, lambda names: name in names)
    await admin.close()
    async with opened(ledger_topics) as sink:
        with pytest.raises(
            ConfigError, match=r"cloudevents ends at 0, .*positions says .*--to beginning.*--to end"
        ):
            await sink.position(0)
    records = KafkaPositionRecords(ledger_topics)
    await Positions(records).save("kafka", 0, at(0))
    await records.close()
    async with opened(ledger_topics) as sink:
        await sink.position(0)
        for batch in batches(ENTRIES, SIZE):
            await sink.deliver(batch)
    assert await published_lines(ledger_topics) == lines_of(ENTRIES)


async def test_a_topic_with_other_partitions_is_refused(ledger_topics: Address) -> None:
    target = Target.of(ledger_topics)
    with pytest.raises(ConfigError, match=f"has {LEDGER_PARTITIONS} partitions, and the log 1"):
        await KafkaSink.open("kafka", target, 1)
    with pytest.raises(ConfigError, match="does not exist"):
        await KafkaSink.open("kafka", Target.of(ledger_topics, "nowhere"), 1)


@pytest.mark.parametrize("point", POINTS)
def test_a_publisher_that_is_killed_anywhere_repeats_and_omits_nothing(
    ledger_topics: Address, point: str
) -> None:
    module = "tests.integration.kafka.publisher_process"
    for count in range(1, kills(3) + 1):
        killed = program.run(str(ledger_topics), str(SIZE), point, str(count), module=module)
        assert killed.returncode in {-signal.SIGKILL, 0}, killed.stderr
        assert killed.returncode == -signal.SIGKILL or count > 1
    assert program.run(str(ledger_topics), str(SIZE), "never", "1", module=module).returncode == 0
    assert asyncio.run(published_lines(ledger_topics)) == lines_of(ENTRIES)


async def test_a_broker_that_is_killed_makes_publishers_wait(killable_kafka: Kafka) -> None:
    with ledger_topics_on(killable_kafka) as address:
        first, *rest = batches(ENTRIES, SIZE)
        async with opened(address) as sink:
            await sink.position(0)
            await sink.deliver(first)
            killable_kafka.kill()
            waiting = asyncio.create_task(sink.deliver(rest[0]))
            await asyncio.sleep(0)
            await asyncio.to_thread(killable_kafka.start)
            async with asyncio.timeout(150):
                await waiting
                for batch in rest[1:]:
                    await sink.deliver(batch)
        assert await published_lines(address) == lines_of(ENTRIES)


async def _until(admin: AIOKafkaAdminClient, holds: Callable[[list[str]], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds(await admin.list_topics()):  # noqa: ASYNC110 - brokers set no event
            await asyncio.sleep(0.05)
