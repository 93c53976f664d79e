"""Public events read from their topic: what only a topic has, such as retention, and transactions that are open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete

from jobledger.program.errors import CursorRefused
from jobledger.publishing import topical
from jobledger.publishing.cursors import Cursor, LogPlace, TopicPlace
from jobledger.publishing.public_stream import PlacedEvent
from jobledger.publishing.topical import TopicStream
from projectors.contract.binding import Mode, record
from projectors.contract.envelope import structured
from projectors.sinks.kafka import KafkaSink
from projectors.sinks.port import Batch
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.positions import KafkaPositionRecords
from statemachine.log.kafka.publishing import Target, last_record, opened_writer
from statemachine.log.kafka.records import Row
from statemachine.log.positions import Positions
from tests.harness.fixtures import LEDGER_PARTITIONS
from tests.support.published_lives import at, batches, lines_of, published

pytestmark = pytest.mark.integration

ENTRIES = published(0, LEDGER_PARTITIONS)
LEDGER = "0a1b2c3d"


async def identified() -> str:
    return f"{LEDGER}-0000-4000-8000-000000000000"


@asynccontextmanager
async def stream_of(address: Address) -> AsyncIterator[TopicStream]:
    stream = TopicStream(Target.of(address), identified)
    try:
        yield stream
    finally:
        await stream.close()


async def publish(address: Address, *delivered: Batch, mode: Mode = "binary") -> None:
    """They are published, and can be read, which is a little later."""
    sink = await KafkaSink.open("kafka", Target.of(address), LEDGER_PARTITIONS, mode)
    await sink.position(0)
    for batch in delivered:
        await sink.deliver(batch)
    await sink.close()
    await last_record(Target.of(address), 0)


async def rest(stream: TopicStream, place: TopicPlace) -> list[PlacedEvent[TopicPlace]]:
    events: list[PlacedEvent[TopicPlace]] = []
    while not (portion := await stream.read(0, place)).at_end:
        events += portion.events
        place = portion.place
    return events


def lines(events: list[PlacedEvent[TopicPlace]]) -> list[bytes]:
    return [placed.line for placed in events]


async def forget(address: Address, before: int) -> None:
    """Retention removes what is before an offset of partition 0."""
    client = AIOKafkaAdminClient(**address.options())
    await client.start()
    try:
        place = TopicPartition(address.topic("cloudevents"), 0)
        await client.delete_records({place: RecordsToDelete(before_offset=before)})
    finally:
        await client.close()


async def refusal(stream: TopicStream, *places: TopicPlace | LogPlace) -> CursorRefused:
    with pytest.raises(CursorRefused) as refused:
        await stream.resumed(Cursor(LEDGER, places))
    return refused.value


@pytest.mark.parametrize("mode", ["binary", "structured"])
async def test_events_are_those_of_the_log_in_both_modes(ledger_topics: Address, mode: Mode) -> None:
    await publish(ledger_topics, *batches(ENTRIES, 7), mode=mode)
    async with stream_of(ledger_topics) as stream:
        events = await rest(stream, TopicPlace())
    assert lines(events) == lines_of(ENTRIES)
    expected = [event for entry in ENTRIES for event in entry.events]
    for placed, event in zip(events, expected, strict=True):
        assert dict(placed.event.attributes) == dict(event.attributes)
        assert (placed.event.data, placed.event.position) == (event.data, event.position)


async def test_a_cursor_of_a_server_that_read_the_log_goes_on_in_the_topic(
    ledger_topics: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topical, "_LOOKED_AT", 3)
    await publish(ledger_topics, *batches(ENTRIES, 7))
    async with stream_of(ledger_topics) as stream:
        whole = await rest(stream, TopicPlace())
        for number in (0, 1, len(whole) // 3, len(whole) // 2, len(whole) - 1):
            position = whole[number].event.position
            index = int(str(whole[number].event.attributes["id"]).rpartition("/")[2])
            (place, _) = await stream.resumed(Cursor(LEDGER, (LogPlace(position), LogPlace())))
            behind = [placed.line for placed in whole if placed.event.position > position]
            assert lines(await rest(stream, place)) == behind
            (place, _) = await stream.resumed(Cursor(LEDGER, (LogPlace(position, index), LogPlace())))
            assert lines(await rest(stream, place)) == lines(whole[number + 1 :])


async def test_what_a_held_job_gave_late_costs_nobody_an_event(ledger_topics: Address) -> None:
    """Its events stand behind those of later entries."""
    first, second, third, *others = batches(ENTRIES, 7)
    await publish(
        ledger_topics, first, third._replace(upto=third.upto), second._replace(upto=third.upto), *others
    )
    async with stream_of(ledger_topics) as stream:
        whole = await rest(stream, TopicPlace())
        assert sorted(lines(whole)) == sorted(lines_of(ENTRIES))
        for entry in ENTRIES[:21]:
            (place, _) = await stream.resumed(Cursor(LEDGER, (LogPlace(entry.position), LogPlace())))
            given = set(lines(await rest(stream, place)))
            assert {placed.line for placed in whole if placed.event.position > entry.position} <= given


async def test_a_place_before_what_is_kept_is_refused_with_the_first_that_is(ledger_topics: Address) -> None:
    await publish(ledger_topics, *batches(ENTRIES, 7))
    async with stream_of(ledger_topics) as stream:
        whole = await rest(stream, TopicPlace())
        middle = whole[len(whole) // 2]
        await forget(ledger_topics, middle.place.offset)
        refused = await refusal(stream, whole[0].place, TopicPlace())
        assert refused.code == "cursor-too-old"
        assert "are not kept any more" in str(refused)
        assert refused.earliest == f"2-{LEDGER}-{middle.place.offset}_0"
        (earliest, _) = await stream.earliest()
        assert lines(await rest(stream, earliest)) == lines(whole[len(whole) // 2 + 1 :])
        (place, _) = await stream.resumed(Cursor(LEDGER, (middle.place, TopicPlace())))
        assert place == middle.place
    async with stream_of(ledger_topics) as stream:  # one that has nothing in memory
        with pytest.raises(CursorRefused) as gone:
            await stream.read(0, whole[0].place)
        assert gone.value.earliest == refused.earliest


async def test_of_a_topic_that_was_made_again_no_cursor_of_before_is_taken(ledger_topics: Address) -> None:
    first, second, *_ = batches(ENTRIES, 7)
    await publish(ledger_topics, first, second)
    async with stream_of(ledger_topics) as stream:
        whole = await rest(stream, TopicPlace())
    client = AIOKafkaAdminClient(**ledger_topics.options())
    await client.start()
    topic = ledger_topics.topic("cloudevents")
    await client.delete_topics([topic])
    await client.create_topics([NewTopic(topic, LEDGER_PARTITIONS, 1)])
    await client.close()
    records = KafkaPositionRecords(ledger_topics)
    await Positions(records).save("kafka", 0, at(0))
    await records.close()
    await publish(ledger_topics, second, first, second)
    async with stream_of(ledger_topics) as stream:
        refused = await refusal(stream, whole[3].place, TopicPlace())
    assert refused.code == "cursor-of-another-ledger"


async def test_what_is_not_committed_is_not_given(ledger_topics: Address) -> None:
    first, second, *_ = batches(ENTRIES, 7)
    await publish(ledger_topics, first)
    topic = ledger_topics.topic("cloudevents")
    producer = AIOKafkaProducer(**ledger_topics.options(), transactional_id=f"{topic}-0")
    await producer.start()
    await producer.begin_transaction()
    for event in second.events:
        key, value, headers = record(event)
        await producer.send_and_wait(topic, value, key, partition=0, headers=headers)
    async with stream_of(ledger_topics) as stream:
        assert lines(await rest(stream, TopicPlace())) == [structured(event) for event in first.events]
        await producer.abort_transaction()
        await producer.stop()
        await publish(ledger_topics, second)
        async with asyncio.timeout(60):
            whole: list[PlacedEvent[TopicPlace]] = []
            while len(whole) < len((*first.events, *second.events)):
                whole = await rest(stream, TopicPlace())
                await asyncio.sleep(0.05)
    assert lines(whole) == [structured(event) for event in (*first.events, *second.events)]


async def test_a_record_that_is_no_event_is_passed_over(ledger_topics: Address) -> None:
    first, *_ = batches(ENTRIES, 7)
    writer = await opened_writer(Target.of(ledger_topics), 0)
    await writer.write(ledger_topics.topic("cloudevents"), [Row(b"nobody", b"{}")])
    await writer.close()
    await publish(ledger_topics, first)
    async with stream_of(ledger_topics) as stream:
        assert lines(await rest(stream, TopicPlace())) == [structured(event) for event in first.events]
