"""The writer of a partition in Kafka: whole transactions, until another one takes over or nobody knows any more."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from statemachine.errors import OwnerLost, SeqConflict, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import RECORD_LIMIT
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.records import Row
from statemachine.log.kafka.writing import Writer
from statemachine.log.port import EntryDraft
from tests.support.logs import JOB, OTHER
from tests.unit.log.brokers import Broker, FakeProducer

ADDRESS = Address.of("kafka://nowhere.invalid:9092")
TOPIC = ADDRESS.topic("events")

Open = Callable[..., "asyncio.Future[Writer]"]


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
async def stamps() -> list[datetime]:
    return []


@pytest.fixture
async def opened(broker: Broker, stamps: list[datetime]) -> AsyncIterator[Open]:
    """Opens a writer; the last one that was opened is the one."""
    made: list[Writer] = []

    async def start(batch: int = 16_384) -> Writer:
        producer = FakeProducer(broker, batch=batch)
        await producer.start()
        made.append(Writer(ADDRESS, 0, producer, lambda: stamps.append))
        return made[-1]

    yield lambda *arguments: asyncio.ensure_future(start(*arguments))
    for writer in made:
        await writer.close()


def rows(*numbers: int) -> list[Row]:
    return [Row(JOB.encode(), b"%d" % number) for number in numbers]


def values(broker: Broker) -> list[bytes | None]:
    """What a reader of committed records sees."""
    return [record.value for record in broker.records]


async def test_what_is_written_is_readable_in_its_order_at_the_offsets_that_are_given(
    broker: Broker, opened: Open
) -> None:
    writer = await opened()
    first, second = await writer.write(TOPIC, rows(1, 2)), await writer.write(TOPIC, rows(3))
    assert values(broker) == [b"1", b"2", b"3"]
    assert [*first, *second] == [record.offset for record in broker.records]


async def test_more_than_fits_in_a_batch_is_one_transaction_without_a_hole(
    broker: Broker, opened: Open
) -> None:
    writer = await opened(200)
    offsets = await writer.write(TOPIC, rows(*range(50)))
    assert values(broker) == [b"%d" % number for number in range(50)]
    assert list(offsets) == [record.offset for record in broker.records]
    assert broker.calls.count("send") > 5
    assert (broker.calls.count("begin"), broker.calls.count("commit")) == (1, 1)


async def test_two_writes_at_the_same_time_are_two_transactions_after_each_other(
    broker: Broker, opened: Open
) -> None:
    writer = await opened()
    await asyncio.gather(writer.write(TOPIC, rows(1)), writer.write(TOPIC, rows(2)))
    assert broker.calls == ["begin", "send", "commit"] * 2


async def test_a_writer_that_another_one_has_fenced_writes_nothing_and_says_so(
    broker: Broker, opened: Open
) -> None:
    zombie = await opened()
    await zombie.write(TOPIC, rows(1))
    successor = await opened()
    with pytest.raises(OwnerLost, match="another process writes partition 0 now"):
        await zombie.write(TOPIC, rows(2))
    await successor.write(TOPIC, rows(3))
    assert values(broker) == [b"1", b"3"]


async def test_a_fenced_writer_does_not_try_again(broker: Broker, opened: Open) -> None:
    zombie = await opened()
    await opened()
    for _ in range(3):
        with pytest.raises(OwnerLost, match="another process writes partition 0 now"):
            await zombie.write(TOPIC, rows(1))
    assert broker.calls == ["begin", "send"]


async def test_a_writer_that_is_fenced_before_its_commit_has_written_nothing(
    broker: Broker, opened: Open
) -> None:
    zombie = await opened()

    async def taken() -> None:
        broker.epoch += 1

    broker.committing = taken
    with pytest.raises(OwnerLost, match="another process writes partition 0 now"):
        await zombie.write(TOPIC, rows(1))
    assert values(broker) == []


async def test_after_a_commit_without_an_answer_nobody_knows_and_nothing_more_is_written(
    broker: Broker, opened: Open
) -> None:
    writer = await opened()

    async def unanswered() -> None:
        raise KafkaConnectionError("the connection was closed")

    broker.committing = unanswered
    for _ in range(2):
        with pytest.raises(OwnerLost, match="not known whether the last append took effect"):
            await writer.write(TOPIC, rows(1))
    assert broker.calls == ["begin", "send", "commit"]


async def test_after_a_write_that_was_broken_off_nothing_more_is_written(
    broker: Broker, opened: Open
) -> None:
    writer, begun = await opened(), asyncio.Event()

    async def slow() -> None:
        begun.set()
        await asyncio.Event().wait()

    broker.committing = slow
    writing = asyncio.create_task(writer.write(TOPIC, rows(1)))
    await begun.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    with pytest.raises(OwnerLost, match="broken off"):
        await writer.write(TOPIC, rows(2))
    assert broker.calls == ["begin", "send", "commit"]


async def test_records_without_a_place_are_not_written_as_far_as_anybody_knows(
    broker: Broker, opened: Open
) -> None:
    writer, broker.says_offsets = await opened(), False
    with pytest.raises(OwnerLost):
        await writer.write(TOPIC, rows(1))


async def test_a_record_that_brokers_do_not_take_is_said_as_such_and_is_the_last(
    broker: Broker, opened: Open
) -> None:
    writer = await opened()

    async def refused() -> None:
        raise MessageSizeTooLargeError

    broker.committing = refused
    with pytest.raises(StoreUnusable, match=r"max\.message\.bytes"):
        await writer.write(TOPIC, rows(1))
    with pytest.raises(OwnerLost):
        await writer.write(TOPIC, rows(1))


@pytest.mark.parametrize(("kind", "count"), [(0, 0), (1, 1)], ids=["of the producer", "of the broker"])
async def test_only_times_of_brokers_are_compared_with(
    broker: Broker, opened: Open, stamps: list[datetime], kind: int, count: int
) -> None:
    writer, broker.timestamp_type = await opened(), kind
    await writer.write(TOPIC, rows(1))
    assert stamps == [datetime.fromtimestamp(1_700_000_000, UTC)] * count


async def test_a_closed_writer_says_so(opened: Open) -> None:
    writer = await opened()
    await writer.close()
    with pytest.raises(OwnerLost, match="closed"):
        await writer.write(TOPIC, rows(1))


# ---- the log over it ---------------------------------------------------------------------------------------------


async def test_the_position_of_an_entry_is_the_offset_behind_it(broker: Broker, opened: Open) -> None:
    log = KafkaLog(ADDRESS, 0, await opened())
    first = await log.append([EntryDraft(JOB, 1, b"a"), EntryDraft(OTHER, 1, b"b")])
    second = await log.append([EntryDraft(JOB, 2, b"c")])
    assert [record.position for record in (*first, *second)] == [
        record.offset + 1 for record in broker.records
    ]
    assert [(record.job, record.seq, record.body) for record in second] == [(JOB, 2, b"c")]


@pytest.mark.parametrize("drafts", [[(JOB, 2)], [(JOB, 1)], [(OTHER, 1), (JOB, 2)], [(OTHER, 1), (OTHER, 1)]])
async def test_of_an_append_with_a_taken_number_nothing_reaches_the_brokers(
    broker: Broker, opened: Open, drafts: list[tuple[str, int]]
) -> None:
    log = KafkaLog(ADDRESS, 0, await opened())
    await log.append([EntryDraft(JOB, 1, b"a"), EntryDraft(JOB, 2, b"b")])
    before = list(broker.calls)
    with pytest.raises(SeqConflict):
        await log.append([EntryDraft(job, seq, b"x") for job, seq in drafts])  # type: ignore[arg-type]
    assert broker.calls == before


async def test_an_entry_that_no_record_can_hold_does_not_end_the_writer(broker: Broker, opened: Open) -> None:
    log = KafkaLog(ADDRESS, 0, await opened())
    with pytest.raises(StoreUnusable, match="a record of"):
        await log.append([EntryDraft(JOB, 1, b"x" * RECORD_LIMIT)])
    assert broker.calls == []
    await log.append([EntryDraft(JOB, 1, b"small")])
    assert values(broker) == [b"small"]


async def test_an_append_whose_caller_is_cancelled_is_made_all_the_same(broker: Broker, opened: Open) -> None:
    log = KafkaLog(ADDRESS, 0, await opened())
    appending = asyncio.create_task(log.append([EntryDraft(JOB, 1, b"a")]))
    await asyncio.sleep(0)
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending
    await log.append([EntryDraft(JOB, 2, b"b")])
    assert values(broker) == [b"a", b"b"]


async def test_a_log_whose_writer_was_fenced_appends_nothing(broker: Broker, opened: Open) -> None:
    zombie, successor = [KafkaLog(ADDRESS, 0, await opened()) for _ in range(2)]
    with pytest.raises(OwnerLost):
        await zombie.append([EntryDraft(JOB, 1, b"of a zombie")])
    await successor.append([EntryDraft(JOB, 1, b"of the owner")])
    assert values(broker) == [b"of the owner"]
