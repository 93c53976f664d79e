"""The log in a real Kafka: two writers, brokers that die, sleep and come back, topics that others have spoilt."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.consumer.fetcher import Fetcher
from msgspec.structs import replace

from statemachine.errors import LogError, LogUnavailable, OwnerLost, SeqConflict, StoreUnusable
from statemachine.ids import JobUid, Position
from statemachine.log.kafka import clients
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import RECORD_LIMIT
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.port import DeadLetter, EntryDraft, EventLog, Record, Snapshot
from statemachine.log.reader import Reader
from tests.harness.broker import Kafka
from tests.harness.fixtures import ledger_topics_on
from tests.support.logs import JOB, OTHER, START, history, records
from tests.support.seeds import chance

pytestmark = pytest.mark.integration

PARTITION = 1

Open = Callable[..., Awaitable[KafkaLog]]


@pytest.fixture
async def opening() -> AsyncIterator[Callable[[Address], Open]]:
    """Opens logs and closes what the test has left open."""
    made: list[KafkaLog] = []

    def at(address: Address) -> Open:
        async def again(**options: Any) -> KafkaLog:
            made.append(await KafkaLog.open(address, PARTITION, **options))
            return made[-1]

        return again

    yield at
    for log in made:
        await log.close()


@pytest.fixture
def again(ledger_topics: Address, opening: Callable[[Address], Open]) -> Open:
    """Opens the log of the test once more, as another process would."""
    return opening(ledger_topics)


@asynccontextmanager
async def raw(address: Address, **options: Any) -> AsyncIterator[Any]:
    """A producer of somebody who knows nothing of us."""
    producer = AIOKafkaProducer(**address.options(), **options)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@asynccontextmanager
async def admin(address: Address) -> AsyncIterator[Any]:
    client = AIOKafkaAdminClient(**address.options())
    await client.start()
    try:
        yield client
    finally:
        await client.close()


def numbered(first: int, last: int, job: JobUid = JOB) -> list[EntryDraft]:
    return [EntryDraft(job, seq, b"%d" % seq) for seq in range(first, last + 1)]


def seqs(records: Sequence[Record]) -> list[int]:
    return [record.seq for record in records]


async def first_of(log: EventLog, count: int, after: Position = 0) -> list[Record]:
    """The first records that a follower gets, asking again whenever the log cannot be reached."""
    records: list[Record] = []
    while True:
        with suppress(LogUnavailable):
            async for batch, *_ in log.follow(records[-1].position if records else after):
                records += batch
                if len(records) >= count:
                    return records
        await asyncio.sleep(0.1)


# ---- writers ----


async def test_what_was_appended_is_there_for_the_next_owner_and_for_readers(again: Open) -> None:
    first = await again()
    given = await first.append(history(5))
    await first.close()
    second, reader = await again(), await again(read_only=True)
    assert await records(second) == await records(reader) == list(given)


async def test_a_writer_is_confirmed_until_another_has_opened_the_partition(again: Open) -> None:
    older = await again()
    given = list(await older.append(numbered(1, 2)))
    await older.confirm_writer()
    given += await older.append(numbered(3, 3))
    newer = await again()
    with pytest.raises(OwnerLost, match="another process writes partition 1"):
        await older.confirm_writer()
    await newer.confirm_writer()
    assert await records(newer) == given


async def test_an_older_writer_is_fenced_and_what_it_sends_is_in_nobodys_reading(again: Open) -> None:
    older = await again()
    given = list(await older.append(numbered(1, 2)))
    newer = await again()
    with pytest.raises(OwnerLost):
        await older.append(numbered(3, 4))
    given += await newer.append(numbered(3, 3))
    with pytest.raises(OwnerLost, match="another process writes partition 1"):
        await older.append(numbered(5, 5))
    reader = await again(read_only=True)
    assert await records(newer) == await records(reader) == await records(older) == given


async def test_owners_who_take_over_from_each_other_all_the_time_leave_one_history(again: Open) -> None:
    drafts = history(120)
    losses = 0
    choices = chance(1)

    async def own() -> None:
        nonlocal losses
        while True:
            log, reader = await again(), Reader()
            try:
                await reader.recover(log)
                while (seq := reader.tracked(JOB).seq) < len(drafts):
                    for record in await log.append(drafts[seq : seq + 3]):
                        assert reader.accept(record)
                return
            except OwnerLost:
                losses += 1
            finally:
                await log.close()
            await asyncio.sleep(choices.uniform(0, 1))

    await asyncio.wait_for(asyncio.gather(own(), own(), own()), 240)
    late = Reader()
    async for _ in late.catch_up(await again()):
        pass
    assert (late.tracked(JOB).seq, late.skipped) == (len(drafts), 0)
    assert losses > 0


async def test_writers_of_two_partitions_do_not_disturb_each_other(ledger_topics: Address) -> None:
    logs = [await KafkaLog.open(ledger_topics, number) for number in (0, 1)]
    for one in logs:
        await one.append(numbered(1, 3))
    assert [seqs(await records(log)) for log in logs] == [[1, 2, 3]] * 2
    for one in logs:
        await one.close()


async def test_what_a_writer_left_open_is_aborted_by_the_next(ledger_topics: Address, again: Open) -> None:
    topic = ledger_topics.topic("events")
    async with raw(ledger_topics, transactional_id=f"{ledger_topics.prefix}-{PARTITION}") as left:
        await left.begin_transaction()
        await left.send_and_wait(topic, b"half", b"job", PARTITION)
        reader = await again(read_only=True)
        assert await records(reader) == []
        log = await again()
        given = await log.append(numbered(1, 1))
        assert await records(log) == await records(reader) == list(given)


async def test_readers_do_not_see_what_is_not_committed_yet(ledger_topics: Address, again: Open) -> None:
    log = await again()
    given = list(await log.append(numbered(1, 1)))
    async with raw(ledger_topics, transactional_id="somebody-else") as open_one:
        await open_one.begin_transaction()
        await open_one.send_and_wait(ledger_topics.topic("events"), b"x", b"job", PARTITION)
        reader = await again(read_only=True)
        assert await records(log) == await records(reader) == given
        end = await reader.end()
        await open_one.commit_transaction()
        assert [record.seq for record in await first_of(reader, 1, end)] == [0]


async def test_a_reader_cannot_write(again: Open) -> None:
    reader = await again(read_only=True)
    assert not reader.is_exclusive
    with pytest.raises(StoreUnusable, match="opened for reading"):
        await reader.append(numbered(1, 1))
    with pytest.raises(StoreUnusable, match="opened for reading"):
        await reader.save_snapshots(1, [])


async def test_a_reader_keeps_checkpoints_and_dead_letters(again: Open) -> None:
    reader = await again(read_only=True)
    await reader.save_checkpoint("status", 7)
    await reader.add_dead_letter(DeadLetter(START, JOB, b"{}", "no"))
    other = await again(read_only=True)
    assert await other.checkpoint("status") == 7
    assert [letter.error for letter in await other.dead_letters()] == ["no"]


async def test_dead_letters_of_all_processes_are_counted(again: Open) -> None:
    one, other = await again(read_only=True), await again(read_only=True)
    for count in range(1, 4):
        await (one if count % 2 else other).add_dead_letter(DeadLetter(START, JOB, b"{}", "no"))
        assert await one.dead_letter_count() == count


async def test_a_cancelled_append_is_in_the_log_whole(again: Open) -> None:
    log = await again()
    for first in range(1, 40, 4):
        task = asyncio.create_task(log.append(numbered(first, first + 3)))
        await asyncio.sleep(0.002 * (first % 9))
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await log.close()
    assert seqs(await records(await again())) == list(range(1, 41))


async def test_a_closed_log_says_so(again: Open) -> None:
    log = await again()
    await log.close()
    with pytest.raises(StoreUnusable, match="closed"):
        await log.append(numbered(1, 1))
    with pytest.raises(StoreUnusable, match="closed"):
        await log.end()
    with pytest.raises(StoreUnusable, match="closed"):
        await records(log)


async def test_an_entry_that_was_only_read_is_refused_once(again: Open) -> None:
    await (await again()).append(numbered(1, 2))
    log = await again()
    await records(log)
    with pytest.raises(SeqConflict) as refused:
        await log.append(numbered(2, 2))
    assert refused.value.found == 2
    assert seqs(await log.append(numbered(2, 2))) == [2]
    with pytest.raises(SeqConflict):
        await log.append(numbered(2, 2))


# ---- a commit with unknown result ----


@pytest.mark.parametrize("took_effect", [False, True])
async def test_after_a_commit_with_unknown_result_the_log_is_opened_anew_and_knows(
    again: Open, monkeypatch: pytest.MonkeyPatch, took_effect: bool
) -> None:
    log = await again()
    await log.append(numbered(1, 1))
    commit = AIOKafkaProducer.commit_transaction

    async def silent(producer: Any) -> None:
        if took_effect:
            await commit(producer)
        raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(AIOKafkaProducer, "commit_transaction", silent)
        with pytest.raises(OwnerLost, match="not known whether"):
            await log.append(numbered(2, 3))
    with pytest.raises(OwnerLost, match="not known whether"):
        await log.append(numbered(4, 4))
    owner = await again()
    numbers = seqs(await records(owner))
    assert numbers == ([1, 2, 3] if took_effect else [1])
    await owner.append(numbered(len(numbers) + 1, 5))
    assert seqs(await first_of(await again(read_only=True), 5)) == [1, 2, 3, 4, 5]


# ---- snapshots ----


def snapshots_of(count: int, seq: int = 1, size: int = 10) -> list[Snapshot]:
    return [Snapshot(JobUid(f"job-{number}"), seq, "ab" * 32, 1, b"x" * size, seq) for number in range(count)]


async def test_snapshots_are_there_for_the_next_owner_with_all_that_they_say(again: Open) -> None:
    log = await again()
    saved = [Snapshot(JOB, 5, "ab" * 32, 2, b'{"a":1}\n\x00', 17), Snapshot(OTHER, 1, "", 0, b"")]
    await log.save_snapshots(9, saved)
    assert await (await again()).snapshots() == (9, saved)


async def test_many_snapshots_are_saved_in_several_transactions(again: Open) -> None:
    log = await again()
    await log.save_snapshots(9, snapshots_of(2500))
    await log.save_snapshots(12, snapshots_of(1, 2))
    covered, snapshots = await (await again()).snapshots()
    assert (covered, len(snapshots)) == (12, 2500)
    assert {record.seq for record in snapshots if record.job == "job-0"} == {2}


async def test_closed_jobs_are_kept_on_pages_and_have_no_records_of_their_own(again: Open) -> None:
    log = await again()
    await log.save_snapshots(9, snapshots_of(2500), 17)
    closed = [replace(snapshot, seq=3, closed=True, body=b"") for snapshot in snapshots_of(2200)]
    for start in range(0, 2200, 550):  # pages begin in the middle of a save, and go on in the next
        await log.save_snapshots(10 + start, closed[start : start + 550], 18)
    covered, snapshots, ended, source = await (await again()).saved()
    assert (covered, source) == (1660, 18)
    assert [snapshot.job for snapshot in snapshots] == [f"job-{number}" for number in range(2200, 2500)]
    assert ended == {f"job-{number}": 3 for number in range(2200)}


async def test_the_last_page_of_closed_jobs_is_filled_by_the_next_owner(again: Open) -> None:
    closed = [replace(snapshot, closed=True, body=b"") for snapshot in snapshots_of(1500)]
    for count in (3, 999, 498):
        await (await again()).save_snapshots(9, [closed.pop() for _ in range(count)])
    log = await again()
    covered, snapshots, ended, _ = await log.saved()
    assert (covered, len(snapshots), len(ended)) == (9, 0, 1500)


async def test_large_snapshots_are_saved_too(again: Open) -> None:
    log = await again()
    await log.save_snapshots(9, snapshots_of(12, size=1_000_000))
    covered, snapshots = await (await again()).snapshots()
    assert (covered, sum(len(snapshot.body) for snapshot in snapshots)) == (9, 12_000_000)


async def test_a_save_that_breaks_off_covers_no_more_than_before(
    again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await again()
    await log.save_snapshots(9, snapshots_of(10))
    commits = 0
    commit = AIOKafkaProducer.commit_transaction

    async def second_fails(producer: Any) -> None:
        nonlocal commits
        commits += 1
        if commits == 2:
            raise TimeoutError
        await commit(producer)

    with monkeypatch.context() as patched:
        patched.setattr(AIOKafkaProducer, "commit_transaction", second_fails)
        with pytest.raises(OwnerLost):
            await log.save_snapshots(20, snapshots_of(2500, 2))
    covered, snapshots = await (await again()).snapshots()
    assert (covered, len(snapshots)) == (9, 1000)


async def test_snapshots_of_which_one_is_gone_cover_nothing_until_they_are_saved_again(
    ledger_topics: Address, again: Open
) -> None:
    log = await again()
    await log.save_snapshots(9, snapshots_of(3))
    async with raw(ledger_topics) as stranger:
        await stranger.send_and_wait(ledger_topics.topic("jobs"), None, b"job-1", PARTITION)
    log = await again()
    covered, snapshots = await log.snapshots()
    assert (covered, len(snapshots)) == (0, 2)
    await log.save_snapshots(11, snapshots_of(3))
    covered, snapshots = await (await again()).snapshots()
    assert (covered, len(snapshots)) == (11, 3)


async def test_an_owner_recovers_from_snapshots_and_the_tail(again: Open) -> None:
    drafts = history(30)
    log, reader = await again(), Reader()
    await log.append(drafts[:20])
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    await log.append(drafts[20:])
    late = Reader()
    await late.recover(await again())
    assert (late.tracked(JOB).seq, late.skipped) == (30, 0)
    whole = Reader()
    async for _ in whole.catch_up(log):
        pass
    assert late.tracked(JOB) == whole.tracked(JOB)


# ---- what others have put into the topics ----


async def test_foreign_records_stop_neither_readers_nor_the_owner(
    ledger_topics: Address, again: Open
) -> None:
    log = await again()
    drafts = history(6)
    await log.append(drafts[:3])
    entry = ("type", b"entry")
    async with raw(ledger_topics, max_request_size=RECORD_LIMIT) as stranger:
        topic = ledger_topics.topic("events")
        for key, value, headers in [
            (None, b"\xff", None),
            (b"\xff\xfe", b"{}", None),
            (JOB.encode(), None, None),
            (JOB.encode(), b"not an entry", None),
            (JOB.encode(), b"{}", [entry, ("seq", b"999")]),
            (JOB.encode(), b"{}", [entry, ("seq", b"x" * 1000)]),
            (b"nobody", b"\x00" * 5_000_000, [entry, ("seq", b"1")]),
            (JOB.encode(), drafts[0].body, [entry, ("seq", b"1")]),
            (JOB.encode(), drafts[0].body.replace(b'"seq":1', b'"seq":4'), [entry, ("seq", b"4")]),
        ]:
            await stranger.send_and_wait(topic, value, key, PARTITION, headers=headers)
    log, reader = await again(), Reader()
    await reader.recover(log)
    assert (reader.tracked(JOB).seq, list(reader.quarantined)) == (3, ["nobody"])
    with pytest.raises(SeqConflict):  # somebody may have decided this already: look, and decide again
        await log.append(drafts[3:])
    assert [folded async for folded in reader.catch_up(log)] == []
    await log.append(drafts[3:])
    for reading in (log, await again(read_only=True)):
        late = Reader()
        assert len([folded async for folded in late.catch_up(reading)]) == 6
        assert (late.tracked(JOB).seq, late.skipped) == (6, 9)
    assert len(await asyncio.wait_for(first_of(log, 15), 90)) == 15


async def test_foreign_records_among_snapshots_cost_time_and_nothing_else(
    ledger_topics: Address, again: Open
) -> None:
    log = await again()
    await log.append(history(3))
    reader = Reader()
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    async with raw(ledger_topics) as stranger:
        topic = ledger_topics.topic("jobs")
        for key in (b"nobody", b"\xff", JOB.encode(), b" covered"):
            await stranger.send_and_wait(topic, b"\xff\n\xff", key, PARTITION)
    log, late = await again(), Reader()
    assert await log.snapshots() == (0, [])
    await late.recover(log)
    assert late.tracked(JOB) == reader.tracked(JOB)
    await log.save_snapshots(late.position, late.unsaved())
    assert (await (await again()).snapshots())[0] == late.position


async def test_foreign_records_among_dead_letters_are_dead_letters(
    ledger_topics: Address, again: Open
) -> None:
    log = await again()
    async with raw(ledger_topics) as stranger:
        await stranger.send_and_wait(ledger_topics.topic("dead-letters"), b"\xff", None, PARTITION)
    await log.add_dead_letter(DeadLetter(START, JOB, b"{}", "no"))
    assert [(letter.job, letter.observation) for letter in await log.dead_letters()] == [
        ("", b"\xff"),
        (JOB, b"{}"),
    ]
    assert await log.dead_letter_count() == 2


async def test_an_entry_larger_than_a_record_can_be_is_refused_and_nothing_else_stops(again: Open) -> None:
    log = await again()
    with pytest.raises(StoreUnusable, match=f"entry 2 of job {JOB} has {RECORD_LIMIT} bytes"):
        await log.append([EntryDraft(JOB, 1, b"x"), EntryDraft(JOB, 2, b"x" * RECORD_LIMIT)])
    await log.append(numbered(1, 1))
    assert seqs(await records(log)) == [1]


async def test_an_entry_as_large_as_a_record_can_be_is_read_again(again: Open) -> None:
    log = await again()
    body = bytes(range(256)) * (RECORD_LIMIT // 256 - 16)
    await log.append([EntryDraft(JOB, 1, b"x"), EntryDraft(JOB, 2, body), EntryDraft(JOB, 3, b"y")])
    records = await asyncio.wait_for(first_of(await again(read_only=True), 3), 90)
    assert [record.body for record in records] == [b"x", body, b"y"]


# ---- topics that are not there, or not whole ----


async def delete(address: Address, *names: str) -> None:
    async with admin(address) as client:
        await client.delete_topics([address.topic(name) for name in names])


async def test_a_partition_that_does_not_exist_is_refused_with_a_sentence(ledger_topics: Address) -> None:
    with pytest.raises(StoreUnusable, match=r"partition 2 of topic \S+\.events does not exist.*topics apply"):
        await KafkaLog.open(ledger_topics, 2)


async def test_a_missing_topic_is_refused_with_a_sentence(kafka: Kafka) -> None:
    nowhere = Address(tuple(kafka.servers.split(",")), prefix="nobody-made-this")
    with pytest.raises(StoreUnusable, match=r"topic nobody-made-this\.events does not exist.*topics apply"):
        await KafkaLog.open(nowhere, 0)


async def test_without_the_topic_of_snapshots_there_are_none_and_the_log_goes_on(
    ledger_topics: Address, again: Open
) -> None:
    log = await again()
    await log.append(history(3))
    await log.save_snapshots(3, [Snapshot(JOB, 3, "ab" * 32, 1, b"{}")])
    await log.close()
    await delete(ledger_topics, "jobs")
    log, reader = await again(), Reader()
    assert await log.snapshots() == (0, [])
    await reader.recover(log)
    with pytest.raises(LogUnavailable, match=r"topic \S+\.jobs does not exist"):
        await log.save_snapshots(3, reader.unsaved())
    assert seqs(await log.append(numbered(4, 4))) == [4]


async def test_a_log_whose_beginning_is_gone_gives_what_is_left(ledger_topics: Address, again: Open) -> None:
    log = await again()
    given = [(await log.append(numbered(seq, seq)))[0] for seq in range(1, 6)]
    async with admin(ledger_topics) as client:
        place = TopicPartition(ledger_topics.topic("events"), PARTITION)
        await client.delete_records({place: RecordsToDelete(before_offset=given[2].position - 1)})
    assert await records(log) == given[2:]
    assert await asyncio.wait_for(first_of(await again(read_only=True), 3), 90) == given[2:]
    assert seqs(await log.append(numbered(6, 6))) == [6]


async def made_again(address: Address, name: str) -> None:
    """The topic was deleted, and another of its name is there."""
    topic = address.topic(name)
    await delete(address, name)
    async with admin(address) as client:

        async def is_gone() -> bool:
            return topic not in await client.list_topics()

        async def is_made() -> bool:
            return not (await client.create_topics([NewTopic(topic, 2, 1)])).topic_errors[0][1]

        await soon(is_gone)
        await soon(is_made)


async def soon(condition: Callable[[], Awaitable[bool]]) -> None:
    """It has become true."""
    async with asyncio.timeout(90):
        while not await condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)


async def test_a_log_that_was_emptied_under_its_readers_is_refused_with_a_sentence(
    ledger_topics: Address, again: Open
) -> None:
    log = await again()
    await log.append(history(4))
    reader = Reader()
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    await log.close()
    await made_again(ledger_topics, "events")
    log = await again()
    with pytest.raises(StoreUnusable, match=r"ends at \d+, and \d+ had been read: it was emptied"):
        await Reader().recover(log)
    with pytest.raises(StoreUnusable, match="emptied"):
        await first_of(log, 1, reader.position)


async def test_a_topic_deleted_under_a_reader_is_reported_in_a_sentence(
    ledger_topics: Address, again: Open
) -> None:
    log = await again(read_only=True)
    assert await records(log) == []
    await delete(ledger_topics, "events")

    async def is_answered() -> bool:
        return await log.end() < 0

    with pytest.raises(LogError, match=r"topic \S+\.events"):
        await soon(is_answered)


# ---- a consumer that lives and fetches nothing ----


async def test_a_consumer_that_fetches_nothing_is_thrown_away_and_the_next_one_reads(
    again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, reader = await again(), await again(read_only=True)
    given = await log.append(numbered(1, 2))

    async def nothing(*_: Any) -> bool:
        await asyncio.sleep(0.2)
        return False

    async def hears() -> None:
        async for batch, *_ in reader.follow():
            assert not batch

    with monkeypatch.context() as patched:
        patched.setattr(Fetcher, "_proc_fetch_request", nothing)
        with pytest.raises(LogUnavailable, match="a consumer got nothing"):
            await asyncio.wait_for(hears(), 90)
    assert await first_of(reader, 2) == list(given)


# ---- brokers that are away ----


@pytest.fixture
def brittle(killable_kafka: Kafka) -> Kafka:
    return killable_kafka


@pytest.fixture
def elsewhere(brittle: Kafka) -> Iterator[Address]:
    with ledger_topics_on(brittle) as address:
        yield address


async def test_without_brokers_opening_fails_with_a_sentence(tmp_path: Path) -> None:
    nowhere = Address(("127.0.0.1:1", "127.0.0.1:2"))
    for read_only in (False, True):
        with pytest.raises(LogUnavailable, match=r"Kafka at kafka://127\.0\.0\.1:1,127\.0\.0\.1:2: cannot"):
            async with asyncio.timeout(90):
                await KafkaLog.open(nowhere, 0, read_only=read_only)


async def test_a_broker_that_is_killed_and_comes_back_loses_nothing(
    brittle: Kafka, elsewhere: Address, opening: Callable[[Address], Open]
) -> None:
    again = opening(elsewhere)
    log, reader = await again(), await again(read_only=True)
    following = asyncio.create_task(first_of(reader, 300))
    acknowledged, seq = 0, 0
    for _ in range(2):
        for _ in range(25):
            acknowledged = (await log.append(numbered(seq + 1, seq + 4)))[-1].seq
            seq += 4
        brittle.kill()
        under_way = asyncio.create_task(log.append(numbered(seq + 1, seq + 4)))
        await asyncio.to_thread(brittle.start)
        try:
            await under_way
        except OwnerLost:
            log = await again()
        seq = max(seqs(await records(log)))
        assert seq >= acknowledged
        assert seq % 4 == 0
    await log.append(numbered(seq + 1, 300))
    followed = await asyncio.wait_for(following, 150)
    assert seqs(followed) == list(range(1, 301))
    assert await records(log) == followed


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_of_three_brokers_any_may_be_killed_at_any_time(
    killable_kafkas: Kafka, opening: Callable[[Address], Open]
) -> None:
    three = killable_kafkas
    with ledger_topics_on(three) as address:
        again = opening(address)
        log = await again()
        following = asyncio.create_task(first_of(await again(read_only=True), 90))
        seq = 0
        for node in (1, 2, 3):
            three.kill(node)
            until = seq + 30
            while seq < until:
                try:
                    seq = (await log.append(numbered(seq + 1, seq + 3)))[-1].seq
                except (OwnerLost, LogUnavailable):
                    await log.close()
                    log = await again()
                    seq = max(seqs(await records(log)), default=0)
            await asyncio.to_thread(three.start)
        assert seqs(await asyncio.wait_for(following, 150)) == list(range(1, 91))
        await log.close()


async def test_what_is_open_while_a_broker_is_away_for_too_long_is_settled_by_the_next_owner(
    brittle: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that starts loses sight of one or the other transaction whose time is over, most of the times."""
    monkeypatch.setattr(clients, "_TRANSACTION", 5_000)

    async def silent(_: Any) -> None:
        raise TimeoutError

    async def open_all(address: Address) -> list[KafkaLog]:
        return await asyncio.gather(*(KafkaLog.open(address, number) for number in range(8)))

    with ledger_topics_on(brittle, 8) as address:
        logs = await open_all(address)
        with monkeypatch.context() as patched:
            patched.setattr(AIOKafkaProducer, "commit_transaction", silent)
            unknown = await asyncio.gather(
                *(log.append(numbered(1, 3)) for log in logs), return_exceptions=True
            )
        assert [type(failure) for failure in unknown] == [OwnerLost] * 8
        await asyncio.gather(*(log.close() for log in logs))
        brittle.kill()
        await asyncio.to_thread(brittle.start)
        for log in await open_all(address):
            numbers = seqs(await records(log))
            assert numbers in ([], [1, 2, 3])
            await log.append(numbered(len(numbers) + 1, 4))
            assert seqs(await records(log)) == [1, 2, 3, 4]
            await log.close()


@pytest.mark.slow
async def test_while_the_broker_is_away_callers_hear_so_and_afterwards_all_goes_on(
    brittle: Kafka, elsewhere: Address, opening: Callable[[Address], Open]
) -> None:
    again = opening(elsewhere)
    log, reader = await again(), await again(read_only=True)
    await log.append(numbered(1, 2))
    assert seqs(await first_of(reader, 2)) == [1, 2]
    brittle.kill()
    try:
        calls = (
            reader.end(),
            records(reader),
            reader.checkpoint("status"),
            reader.dead_letters(),
            reader.add_dead_letter(DeadLetter(START, JOB, b"{}", "no")),
            again(),
            log.append(numbered(3, 3)),
        )
        heard = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 90)
        assert [type(answer) for answer in heard] == [LogUnavailable] * 6 + [OwnerLost]
    finally:
        await asyncio.to_thread(brittle.start)
    log = await again()
    await log.append(numbered(3, 3))
    assert seqs(await first_of(reader, 3)) == [1, 2, 3]
    await reader.add_dead_letter(DeadLetter(START, JOB, b"{}", "no"))
    await reader.save_checkpoint("status", 3)


async def test_a_broker_that_sleeps_for_a_while_delays_an_append(
    brittle: Kafka, elsewhere: Address, opening: Callable[[Address], Open]
) -> None:
    log = await opening(elsewhere)()
    await log.append(numbered(1, 1))
    brittle.freeze()
    try:
        appending = asyncio.create_task(log.append(numbered(2, 3)))
        done, _ = await asyncio.wait({appending}, timeout=3)
        assert not done
    finally:
        brittle.resume()
    await asyncio.wait_for(appending, 90)
    assert seqs(await records(log)) == [1, 2, 3]


async def once_there(again: Open) -> KafkaLog:
    """A broker that has slept is none to clients until it has reported to its controller that it lives."""
    async with asyncio.timeout(90):
        while True:
            try:
                return await again()
            except LogUnavailable:
                await asyncio.sleep(0.2)


async def test_a_broker_that_sleeps_too_long_is_an_error_of_owner_and_followers(
    brittle: Kafka, elsewhere: Address, opening: Callable[[Address], Open]
) -> None:
    before = asyncio.all_tasks()
    again = opening(elsewhere)
    log, reader = await again(), await again(read_only=True)
    await log.append(numbered(1, 1))
    await reader.save_checkpoint("status", 1)

    async def hears() -> None:
        async for _ in reader.follow():
            pass

    following = asyncio.create_task(hears())
    await asyncio.sleep(1.5)
    brittle.freeze()
    try:
        appending = asyncio.create_task(log.append(numbered(2, 3)))
        keeping = asyncio.create_task(reader.save_checkpoint("status", 2))
        with pytest.raises(LogUnavailable):
            await asyncio.wait_for(following, 90)
        with pytest.raises(OwnerLost):
            await asyncio.wait_for(appending, 90)
        with pytest.raises(LogUnavailable):
            await keeping
        await asyncio.wait_for(asyncio.gather(log.close(), reader.close()), 60)
        assert asyncio.all_tasks() == before
    finally:
        brittle.resume()
    owner = await once_there(again)
    reader = await again(read_only=True)
    numbers = seqs(await records(owner))
    assert numbers in ([1], [1, 2, 3])
    await owner.append(numbered(len(numbers) + 1, 4))
    assert seqs(await asyncio.wait_for(first_of(reader, 4), 90)) == [1, 2, 3, 4]
    assert await records(reader) == await records(owner)
