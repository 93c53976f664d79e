"""What jobledger relies on of Kafka, statement by statement: it holds of brokers and of the model alike."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from aiokafka import OffsetAndMetadata, TopicPartition
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    InvalidProducerEpoch,
    OffsetOutOfRangeError,
    ProducerFenced,
    for_code,
)
from aiokafka.protocol.transaction import EndTxnRequest

from statemachine.log.kafka import clients, failures
from tests.ports.kafka_contract import Stage, on_real_brokers, on_stage, on_the_model, until, values
from tests.support.kafka_model.installed import installed
from tests.support.kafka_model.producer import ModelProducer

FENCED = (ProducerFenced, InvalidProducerEpoch, *failures.FAILURES)
"""How a fenced producer fails: the first time by its own name, later as one that has failed."""


@pytest.fixture(params=["model", pytest.param("real", marks=pytest.mark.integration)])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "model":
        with installed():
            yield on_the_model()
    else:
        yield on_real_brokers(request.getfixturevalue("ledger_topics"))


async def write(writer: Any, tp: TopicPartition, *texts: bytes) -> list[int]:
    """One transaction; the offsets of its records."""
    await writer.begin_transaction()
    offsets = await send(writer, tp, *texts)
    await writer.commit_transaction()
    return offsets


async def send(writer: Any, tp: TopicPartition, *texts: bytes) -> list[int]:
    """One batch; the offsets of its records."""
    batch = writer.create_batch()
    for text in texts:
        batch.append(timestamp=None, key=b"key", value=text, headers=[("name", text)])
    first = (await (await writer.send_batch(batch, tp.topic, partition=tp.partition))).offset
    return list(range(first, first + len(texts)))


# ---- records and transactions ------------------------------------------------------------------------------------


@on_stage
async def test_a_confirmed_record_is_read_as_it_was_sent_at_the_offset_that_was_given(stage: Stage) -> None:
    sender, tp = await stage.sender(), stage.events
    said = await sender.send_and_wait(tp.topic, b"value", b"key", tp.partition, headers=[("name", b"text")])
    reader = await stage.reader(tp)
    (message,) = await anything(reader, tp)
    assert (message.key, message.value, list(message.headers)) == (b"key", b"value", [("name", b"text")])
    assert (message.offset, message.timestamp) == (said.offset, said.timestamp)
    assert said.timestamp_type == 1, "the time is the brokers'"


@on_stage
async def test_records_without_transactions_have_no_gaps(stage: Stage) -> None:
    sender, tp = await stage.sender(), stage.events
    said = [await sender.send_and_wait(tp.topic, b"%d" % number, b"key", tp.partition) for number in range(5)]
    assert [record.offset for record in said] == [0, 1, 2, 3, 4]


@on_stage
async def test_a_transaction_ends_with_a_marker_so_that_offsets_have_a_gap(stage: Stage) -> None:
    writer, tp = await stage.writer(), stage.events
    first, second = await write(writer, tp, b"1", b"2"), await write(writer, tp, b"3")
    assert (first, second) == ([0, 1], [3])
    reader = await stage.reader(tp)
    await until(lambda: ends_at(reader, tp, 5))


async def ends_at(reader: Any, tp: TopicPartition, offset: int) -> bool:
    return bool((await reader.end_offsets([tp]))[tp] == offset)


@on_stage
async def test_read_committed_hides_an_open_transaction_and_ends_before_it(stage: Stage) -> None:
    writer, tp = await stage.writer(), stage.events
    await writer.begin_transaction()
    await send(writer, tp, b"open")
    reader, dirty = await stage.reader(tp), await stage.reader(tp, isolation="read_uncommitted")
    assert await values(reader, tp) == []
    assert await ends_at(reader, tp, 0)
    assert await values(dirty, tp) == [b"open"]
    await writer.commit_transaction()
    await until(lambda: ends_at(reader, tp, 2))
    assert await values(reader, tp) == [b"open"]


@on_stage
async def test_what_stands_behind_an_open_transaction_cannot_be_read_before_that_ends(stage: Stage) -> None:
    one, other, tp = await stage.writer("one"), await stage.writer("other"), stage.events
    await one.begin_transaction()
    await send(one, tp, b"first")
    await write(other, tp, b"second")
    reader = await stage.reader(tp)
    assert await values(reader, tp) == []
    await one.commit_transaction()
    await until(lambda: ends_at(reader, tp, 4))
    assert await values(reader, tp) == [b"first", b"second"]


@on_stage
async def test_an_aborted_transaction_is_never_read_and_leaves_a_gap(stage: Stage) -> None:
    writer, tp = await stage.writer(), stage.events
    await writer.begin_transaction()
    await send(writer, tp, b"aborted")
    await writer.abort_transaction()
    assert await write(writer, tp, b"committed") == [2]
    reader = await stage.reader(tp)
    await until(lambda: ends_at(reader, tp, 4))
    assert await values(reader, tp) == [b"committed"]


@on_stage
async def test_a_transaction_of_two_topics_is_in_both_or_in_none(stage: Stage) -> None:
    writer, here, there = await stage.writer(), stage.events, stage.snapshots
    for text, commits in ((b"aborted", False), (b"committed", True)):
        await writer.begin_transaction()
        await send(writer, here, text)
        await send(writer, there, text)
        await (writer.commit_transaction() if commits else writer.abort_transaction())
    reader = await stage.reader(here, there)
    for tp in (here, there):
        await until(lambda tp=tp: ends_at(reader, tp, 4))  # type: ignore[misc]
        assert await values(reader, tp) == [b"committed"]


@on_stage
async def test_a_transaction_of_no_records_can_be_committed(stage: Stage) -> None:
    writer, tp = await stage.writer(), stage.events
    await writer.begin_transaction()
    writer._txn_manager.maybe_add_partition_to_txn(tp)
    await writer.commit_transaction()
    reader = await stage.reader(tp)
    await until(lambda: ends_at(reader, tp, 1))
    assert await values(reader, tp) == []


# ---- fencing -----------------------------------------------------------------------------------------------------


@on_stage
async def test_the_send_of_a_fenced_writer_is_refused(stage: Stage) -> None:
    old, tp = await stage.writer(), stage.events
    await write(old, tp, b"old")
    new = await stage.writer()
    with pytest.raises(FENCED):
        await write(old, tp, b"zombie")
    await write(new, tp, b"new")
    reader = await stage.reader(tp)
    await until(lambda: reads(reader, tp, b"old", b"new"))


async def reads(reader: Any, tp: TopicPartition, *wanted: bytes) -> bool:
    return await values(reader, tp) == list(wanted)


@on_stage
async def test_the_commit_of_a_fenced_writer_is_refused_and_what_it_had_sent_is_aborted(stage: Stage) -> None:
    old, tp = await stage.writer(), stage.events
    await old.begin_transaction()
    await send(old, tp, b"zombie")
    new = await stage.writer()
    with pytest.raises(FENCED):
        await old.commit_transaction()
    await write(new, tp, b"new")
    reader = await stage.reader(tp)
    await until(lambda: reads(reader, tp, b"new"))


@on_stage
async def test_more_of_a_transaction_that_was_open_at_the_fencing_is_refused(stage: Stage) -> None:
    old, tp = await stage.writer(), stage.events
    await old.begin_transaction()
    await send(old, tp, b"zombie")
    new = await stage.writer()
    with pytest.raises(FENCED):
        await send(old, tp, b"zombie")
    await write(new, tp, b"new")
    reader = await stage.reader(tp)
    await until(lambda: reads(reader, tp, b"new"))


@on_stage
async def test_a_new_writer_frees_what_stood_behind_an_open_transaction_of_the_old(stage: Stage) -> None:
    old, other, tp = await stage.writer(), await stage.writer("other"), stage.events
    await old.begin_transaction()
    await send(old, tp, b"left open")
    await write(other, tp, b"behind it")
    reader = await stage.reader(tp)
    assert await values(reader, tp) == []
    await stage.writer()
    await until(lambda: reads(reader, tp, b"behind it"))


@on_stage
async def test_what_was_confirmed_before_a_takeover_stays(stage: Stage) -> None:
    tp = stage.events
    for number in range(4):
        await write(await stage.writer(), tp, b"%d" % number)
    reader = await stage.reader(tp)
    await until(lambda: reads(reader, tp, b"0", b"1", b"2", b"3"))


@on_stage
async def test_writers_of_other_ids_are_not_fenced(stage: Stage) -> None:
    one, tp = await stage.writer("one"), stage.events
    await one.begin_transaction()
    await send(one, tp, b"one")
    await stage.writer("other")
    await one.commit_transaction()
    reader = await stage.reader(tp)
    await until(lambda: reads(reader, tp, b"one"))


@on_stage
async def test_a_producer_without_transactions_is_fenced_by_nobody(stage: Stage) -> None:
    one, tp = await stage.sender(), stage.events
    await stage.sender()
    await stage.writer()
    assert (await one.send_and_wait(tp.topic, b"one", b"key", tp.partition)).offset == 0


# ---- unknown outcomes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [0.0, 0.001, 0.004])
@on_stage
async def test_a_commit_whose_reply_is_lost_is_all_or_nothing_once_another_writes(
    stage: Stage, after: float
) -> None:
    tp = stage.events
    writer = await stage.writer()
    await writer.begin_transaction()
    await send(writer, tp, b"1", b"2")
    commit = asyncio.ensure_future(writer.commit_transaction())
    await asyncio.sleep(after)
    await clients.cut_off(writer)
    commit.cancel()
    await asyncio.wait([commit])
    await write(await stage.writer(), tp, b"3")
    reader = await stage.reader(tp)

    async def is_settled() -> bool:
        return (await values(reader, tp))[-1:] == [b"3"]

    await until(is_settled)
    assert await values(reader, tp) in ([b"3"], [b"1", b"2", b"3"])


@on_stage
async def test_a_commit_that_arrives_once_more_ends_what_is_open_by_then_unless_another_writes(
    stage: Stage,
) -> None:
    tp, writer = stage.events, await stage.writer()
    reader = await stage.reader(tp)
    await write(writer, tp, b"whole")
    late = commit_of(writer)
    await until(lambda: reads(reader, tp, b"whole"))
    await writer.begin_transaction()
    await send(writer, tp, b"half")
    assert await values(reader, tp) == [b"whole"]
    await late()
    await until(lambda: reads(reader, tp, b"whole", b"half"))

    late = commit_of(writer)
    other = await stage.writer()
    await other.begin_transaction()
    await send(other, tp, b"another's")
    with pytest.raises(FENCED):
        await late()
    assert await values(reader, tp) == [b"whole", b"half"]
    await other.commit_transaction()


def commit_of(writer: Any) -> Callable[[], Awaitable[None]]:
    """Sends what the writer, as it is now, would send to commit a transaction."""
    if isinstance(writer, ModelProducer):
        transactions, id_ = writer.client.brokers.transactions, writer._id
        assert id_ is not None
        ended = partial(transactions.end, id_, writer._writing, commit=True)
        return lambda: writer.client.request(ended)
    manager = writer._txn_manager
    request = EndTxnRequest(
        transactional_id=manager.transactional_id,
        producer_id=manager.producer_id,
        producer_epoch=manager.producer_epoch,
        transaction_result=True,
    )

    async def late() -> None:
        node = await writer._sender._find_coordinator(CoordinationType.TRANSACTION, manager.transactional_id)
        answer = await writer.client.send(node, request, group=ConnectionGroup.COORDINATION)
        if answer.error_code:
            raise for_code(answer.error_code)()

    return late


@on_stage
async def test_what_a_writer_that_is_gone_left_open_is_aborted_when_its_time_is_over(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_TRANSACTION", 1_000)
    gone, other, tp = await stage.writer("gone"), await stage.writer("other"), stage.events
    await gone.begin_transaction()
    await send(gone, tp, b"left open")
    await clients.cut_off(gone)
    await write(other, tp, b"behind it")
    reader = await stage.reader(tp)
    assert await values(reader, tp) == []
    await until(lambda: reads(reader, tp, b"behind it"))


# ---- offsets of groups -------------------------------------------------------------------------------------------


@on_stage
async def test_offsets_in_a_transaction_hold_if_its_records_do(stage: Stage) -> None:
    writer, tp = await stage.writer(), stage.events
    group = f"{stage.address.prefix}.group"
    reader = await stage.reader(tp, group="group")
    for upto, commits in ((3, False), (7, True)):
        await writer.begin_transaction()
        await send(writer, tp, b"%d" % upto)
        await writer.send_offsets_to_transaction({tp: OffsetAndMetadata(upto, "")}, group)
        assert await reader.committed(tp) is None
        await (writer.commit_transaction() if commits else writer.abort_transaction())
    await until(lambda: committed_is(reader, tp, 7))
    await until(lambda: reads(reader, tp, b"7"))


async def committed_is(reader: Any, tp: TopicPartition, offset: int) -> bool:
    return bool(await reader.committed(tp) == offset)


@on_stage
async def test_a_reader_s_place_is_kept_in_its_group_alone_without_its_being_a_member(stage: Stage) -> None:
    tp = stage.events
    one, other = await stage.reader(tp, group="one"), await stage.reader(tp, group="other")
    assert await one.committed(tp) is None
    await one.commit({tp: 5})
    assert await one.committed(tp) == 5
    assert await other.committed(tp) is None
    assert await (await stage.reader(tp, group="one")).committed(tp) == 5


@on_stage
async def test_a_place_behind_the_end_is_an_error(stage: Stage) -> None:
    reader = await stage.reader(stage.events)
    reader.seek(stage.events, 9)
    with pytest.raises(OffsetOutOfRangeError):
        await anything(reader, stage.events)


async def anything(reader: Any, tp: TopicPartition) -> list[Any]:
    """What comes first of a partition."""
    while not (messages := await reader.getmany(tp, timeout_ms=50)):
        pass
    return list(messages[tp])


# ---- members of groups -------------------------------------------------------------------------------------------


@on_stage
async def test_a_group_deals_every_partition_to_one_member_and_a_share_that_is_left_to_another(
    stage: Stage,
) -> None:
    one = await stage.member()
    await until(lambda: one.share == {0, 1})
    other = await stage.member()
    await until(lambda: len(one.share) == len(other.share) == 1)
    assert one.share | other.share == {0, 1}
    await other.consumer.stop()
    await until(lambda: one.share == {0, 1})


@on_stage
async def test_a_member_that_was_put_out_still_holds_its_share_and_cannot_commit_it(stage: Stage) -> None:
    zombie = await stage.member()
    await until(lambda: zombie.share == {0, 1})
    zombie.attentive.clear()
    other = await stage.member()
    await until(lambda: other.share == {0, 1})
    assert {tp.partition for tp in zombie.consumer.assignment()} == {0, 1}
    tp = TopicPartition(stage.observations, 0)
    with pytest.raises(CommitFailedError):
        await zombie.consumer.commit({tp: OffsetAndMetadata(7, "")})
    await other.consumer.commit({tp: OffsetAndMetadata(3, "")})
    assert await other.consumer.committed(tp) == 3
    zombie.attentive.set()
    await until(lambda: len(zombie.share) == len(other.share) == 1)


@on_stage
async def test_a_member_gets_nothing_while_its_group_deals_out_anew(stage: Stage) -> None:
    member, sender = await stage.member(), await stage.sender()
    await until(lambda: member.share == {0, 1})
    member.attentive.clear()
    other = await stage.member()
    await until(lambda: other.share == {0, 1})
    for number in (0, 1):
        await sender.send_and_wait(stage.observations, b"news", b"key", number)
    parts = [TopicPartition(stage.observations, number) for number in (0, 1)]
    getting = asyncio.ensure_future(member.consumer.getmany(*parts, timeout_ms=5000))
    done, _ = await asyncio.wait([getting], timeout=0.5)
    assert not done
    member.attentive.set()
    (messages,) = (await getting).values()
    assert {message.partition for message in messages} == member.share


@on_stage
async def test_a_member_goes_on_where_its_group_is(stage: Stage) -> None:
    sender = await stage.sender()
    for number in range(4):
        await sender.send_and_wait(stage.observations, b"%d" % number, b"key", 0)
    tp = TopicPartition(stage.observations, 0)
    one = await stage.member()
    await until(lambda: one.share == {0, 1})
    await one.consumer.commit({tp: OffsetAndMetadata(2, "")})
    await one.consumer.stop()
    other = await stage.member()
    await until(lambda: other.share == {0, 1})
    assert [message.value for message in await anything(other.consumer, tp)] == [b"2", b"3"]


@on_stage
async def test_a_partition_that_is_not_dealt_to_a_member_gives_and_takes_nothing(stage: Stage) -> None:
    member = await stage.member()
    await until(lambda: member.share == {0, 1})
    other = TopicPartition(stage.observations, 7)
    assert not await member.consumer.getmany(other, timeout_ms=50)
    with pytest.raises(IllegalStateError):
        await member.consumer.commit({other: OffsetAndMetadata(1, "")})


@on_stage
async def test_a_partition_that_is_taken_while_a_transaction_is_open_has_the_entries_of_the_next_owner_alone(
    stage: Stage,
) -> None:
    """A processor decides, its member is put out, and the next owner opens the partition's log before it commits."""
    zombie, tp = await stage.member(), stage.events
    await until(lambda: zombie.share == {0, 1})
    old = await stage.writer("0")
    await old.begin_transaction()
    await send(old, tp, b"decided by the zombie")
    zombie.attentive.clear()
    other = await stage.member()
    await until(lambda: other.share == {0, 1})
    new = await stage.writer("0")
    with pytest.raises(FENCED):
        await old.commit_transaction()
    await write(new, tp, b"decided by the next")
    reader = await stage.reader(tp)
    await until(lambda: reads(reader, tp, b"decided by the next"))
    zombie.attentive.set()
