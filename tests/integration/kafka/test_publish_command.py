"""`jobledger events publish --to kafka:` and `verify --in kafka:`, as an operator uses them."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from jobledger.publishing.cursors import Cursor, LogPlace, TopicPlace, short_id
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.identity import known_identity
from statemachine.log.kafka.reading import Partition
from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from tests.contract.lives import lives
from tests.harness import Kafka, program
from tests.harness.fixtures import LEDGER_PARTITIONS, ledger_topics_on
from tests.support.published_lives import topic_lines

pytestmark = pytest.mark.integration

Stored = tuple[bytes, bytes, Sequence[tuple[str, bytes]]]
"""Key, value and headers of a record."""


def events(*words: str) -> tuple[int, str, str]:
    done = program.run("events", *words)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of some recorded lives."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"

    async def write() -> None:
        log = await SqliteLog.open(path)
        by_job = {life.records[0].job: life.records for life in lives()}
        for records in [*by_job.values()][:12]:
            await log.append([EntryDraft(record.job, record.seq, record.body) for record in records])
        await log.close()

    asyncio.run(write())
    return path


@pytest.fixture(scope="module")
def ledger(kafka: Kafka, store: Path) -> Iterator[Address]:
    """The same in Kafka, published to its own topic."""
    with ledger_topics_on(kafka) as address:
        copied = program.run("log", "copy", f"sqlite://{store}", str(address))
        assert copied.returncode == 0, copied.stderr
        code, said, wrong = events("publish", "--to", "kafka:", "--once", "--log", str(address))
        assert (code, wrong) == (0, "")
        assert "events more in topic" in said
        yield address


@pytest.fixture
def topic(ledger: Address) -> Iterator[str]:
    """A topic of the caller's own."""
    name = f"{ledger.prefix}-own"
    asyncio.run(_made(ledger, name, LEDGER_PARTITIONS))
    yield name
    asyncio.run(_deleted(ledger, name))


def url(address: Address, topic: str) -> str:
    return f"kafka://{','.join(address.servers)}/{topic}"


def test_a_ledger_is_published_once_and_verified(ledger: Address) -> None:
    again = events("publish", "--to", "kafka:", "--once", "--log", str(ledger))
    assert again[:2] == (0, f"0 events more in topic {ledger.topic('cloudevents')} at {ledger.servers[0]}\n")
    code, said, wrong = events("verify", "--in", "kafka:", "--log", str(ledger))
    assert wrong == ""
    assert code == 0
    assert said.startswith("ok: ")


def test_the_whole_log_goes_to_a_topic_of_the_callers_and_the_live_one_goes_on_behind_it(
    ledger: Address, topic: str
) -> None:
    where = url(ledger, topic)
    code, said, wrong = events("publish", "--to", where, "--once", "--log", str(ledger))
    assert (code, wrong) == (0, "")
    ends = [asyncio.run(_end(ledger, number)) for number in range(LEDGER_PARTITIONS)]
    _, hint, head, *rows = said.splitlines()
    assert hint == f"the next events are in {ledger.topic('cloudevents')}:"
    assert [*map(str.split, [head, *rows])] == [
        ["PARTITION", "OFFSET"],
        *([str(number), str(end)] for number, end in enumerate(ends)),
    ]
    for number in range(LEDGER_PARTITIONS):
        own = asyncio.run(topic_lines(ledger, topic, number))
        assert own == asyncio.run(topic_lines(ledger, ledger.topic("cloudevents"), number))
    assert events("publish", "--to", where, "--once", "--log", str(ledger))[1].startswith("0 events more")
    assert events("verify", "--in", where, "--log", str(ledger))[0] == 0


def test_a_topic_of_the_callers_begins_behind_a_cursor_of_the_log_and_is_verified_from_there(
    ledger: Address, topic: str
) -> None:
    where, log = url(ledger, topic), ("--log", str(ledger))
    live = [
        asyncio.run(_records(ledger, ledger.topic("cloudevents"), number))
        for number in range(LEDGER_PARTITIONS)
    ]
    first, *others = [records[len(records) // 2] for records in live]
    places = (LogPlace(_position(first), _index(first)), *(LogPlace(_position(other)) for other in others))
    cursor = str(Cursor(_short_id(ledger), places))
    code, said, wrong = events("publish", "--to", where, "--once", "--from", cursor, *log)
    assert (code, wrong) == (0, "")
    for number, (records, place) in enumerate(zip(live, places, strict=True)):
        behind = [record for record in records if _is_behind(record, place)]
        assert 0 < len(behind) < len(records)
        assert asyncio.run(_records(ledger, topic, number)) == behind
    for more in (("--from", cursor), ()):
        assert events("publish", "--to", where, "--once", *more, *log)[1].startswith("0 events more")
    assert events("verify", "--in", where, "--from", cursor, *log)[0] == 0
    code, _, wrong = events("verify", "--in", where, *log)
    assert code == 1
    assert {line.split()[1] for line in wrong.splitlines()} == {"missing:"}
    later = str(Cursor(_short_id(ledger), tuple(LogPlace(_position(records[-1])) for records in live)))
    _, hint, _, *rows = said.splitlines()
    assert hint == f"the next events are in {ledger.topic('cloudevents')}:"
    assert [int(row.split()[1]) for row in rows] == [
        asyncio.run(_end(ledger, n)) for n in range(LEDGER_PARTITIONS)
    ]
    assert events("publish", "--to", where, "--once", "--from", later, *log)[0] == 0, "it has all up to there"


def test_a_topic_that_ends_before_the_cursor_gets_nothing_as_there_would_be_a_gap(
    ledger: Address, topic: str
) -> None:
    first, *_, last = asyncio.run(_records(ledger, ledger.topic("cloudevents"), 0))
    asyncio.run(_write(ledger, topic, [first]))
    ends = (LogPlace(_position(last)), *[LogPlace()] * (LEDGER_PARTITIONS - 1))
    cursor = str(Cursor(_short_id(ledger), ends))
    words = ("publish", "--to", url(ledger, topic), "--once", "--log", str(ledger))
    code, said, wrong = events(*words, "--from", cursor)
    assert (code, said) == (2, "")
    assert f"partition 0 of {topic} ends with the event {_id(first)}, which stands before the place" in wrong
    assert asyncio.run(_records(ledger, topic, 0)) == [first]
    assert events(*words)[0] == 0
    assert events("verify", "--in", url(ledger, topic), "--log", str(ledger))[0] == 0


def test_what_follows_a_cursor_of_the_live_topic_is_written_again_from_its_entry_on(
    ledger: Address, topic: str
) -> None:
    """As for a consumer whose place in the live topic was removed by retention: no gap, one entry again."""
    live = [
        asyncio.run(_records(ledger, ledger.topic("cloudevents"), number))
        for number in range(LEDGER_PARTITIONS)
    ]
    middles = [len(records) // 2 for records in live]
    entries = [_position(records[middle]) for records, middle in zip(live, middles, strict=True)]
    places = tuple(TopicPlace(middle + 1, entry) for middle, entry in zip(middles, entries, strict=True))
    cursor = str(Cursor(_short_id(ledger), places))
    words = ("publish", "--to", url(ledger, topic), "--once", "--log", str(ledger), "--from", cursor)
    assert events(*words)[0] == 0
    for number, (records, entry) in enumerate(zip(live, entries, strict=True)):
        expected = [record for record in records if _position(record) >= entry]
        assert asyncio.run(_records(ledger, topic, number)) == expected


def test_an_event_is_shown_by_its_id_as_it_was_published(ledger: Address) -> None:
    published = asyncio.run(topic_lines(ledger, ledger.topic("cloudevents"), 1))
    for line in (published[0], published[-1]):
        shown = events("failed", "show", json.loads(line)["id"], "--log", str(ledger))
        assert shown == (0, line.decode() + "\n", "")
    code, _, wrong = events("failed", "show", "nobody/1/0", "--log", str(ledger))
    assert code == 2
    assert "the log gives no event nobody/1/0" in wrong


def test_what_was_done_to_a_topic_by_hand_is_named(ledger: Address, topic: str) -> None:
    first, second, third, fourth, *rest = asyncio.run(_records(ledger, ledger.topic("cloudevents")))
    changed = (fourth[0], fourth[1].replace(b"}", b',"x":1}', 1), fourth[2])
    headers = dict(first[2]) | {"ce_id": b"u/1/0", "ce_partitionkey": b"u"}
    extra, damaged = (b"u", b"{}", [*headers.items()]), (b"k", b"{}", [("content-type", b"text/plain")])
    swapped = [rest[1], rest[0]]
    assert rest[0][0] == rest[1][0], "they are of one job"
    asyncio.run(_write(ledger, topic, [second, third, third, changed, extra, damaged, *swapped, *rest[2:]]))
    code, said, wrong = events("verify", "--in", url(ledger, topic), "--log", str(ledger))
    assert code == 1
    assert "differences: " in said
    for sentence in (
        f"missing: {_id(first)}",
        f"duplicate: {_id(third)} in partition 0, offset 2",
        f"different: {_id(fourth)} in partition 0, offset 3",
        "extra: u/1/0 in partition 0, offset 4",
        "damaged: partition 0, offset 5",
        f"out of order: {_id(rest[1])} in partition 0, offset 6",
    ):
        assert f"jobledger: {sentence}\n" in wrong


def test_what_cannot_be_is_refused_in_a_sentence(ledger: Address, store: Path, topic: str) -> None:
    kafka_log, file_log = ("--log", str(ledger)), ("--store", str(store))
    for words, sentence in (
        (("publish", "--to", "kafka:", *file_log), "--to kafka: is the topic of a log in Kafka"),
        (("publish", "--to", "kafka://nowhere/x", *kafka_log), "--to needs kafka:, or kafka://HOST:PORT"),
        (("publish", "--to", url(ledger, ""), *kafka_log), "--to needs kafka:, or kafka://HOST:PORT"),
        (("publish", "--to", url(ledger, topic), "--once", *file_log), "partitions, and the log 1"),
        (("publish", "--to", url(ledger, "none"), "--once", *kafka_log), "does not exist"),
        (("publish", "--to", "kafka:", "--name", "x", *kafka_log), "takes no options of web hooks"),
        (
            ("publish", "--to", "kafka:", "--from", "2026-01-01T00:00:00Z", *kafka_log),
            "`jobledger events sinks reset kafka --to beginning|end|CURSOR` says where it goes on",
        ),
        (("publish", "--to", "kafka:", "--from", "end", *kafka_log), "is another place whenever"),
        (
            ("publish", "--to", url(ledger, topic), "--from", "1-ffffffff-1_1", *kafka_log),
            "nobody can begin at 1-ffffffff-1_1: the cursor is of another ledger",
        ),
        (
            ("publish", "--to", url(ledger, ledger.topic("positions")), *kafka_log),
            "belongs to a ledger",
        ),
        (("verify", "--in", "kafka:", *file_log), "--in kafka: is the topic of a log in Kafka"),
    ):
        code, said, wrong = events(*words)
        assert (code, said) == (2, ""), wrong
        assert sentence in wrong
        assert "Traceback" not in wrong


def _id(record: Stored) -> str:
    return dict(record[2])["ce_id"].decode()


def _position(record: Stored) -> int:
    return int(dict(record[2])["jobledger-position"])


def _index(record: Stored) -> int:
    return int(_id(record).rpartition("/")[2])


def _is_behind(record: Stored, place: LogPlace) -> bool:
    return (_position(record), _index(record)) > (
        place.position,
        1 << 30 if place.event is None else place.event,
    )


def _short_id(address: Address) -> str:
    identity = asyncio.run(known_identity(address))
    assert identity is not None
    return short_id(identity.id)


async def _end(address: Address, number: int) -> int:
    partition = Partition(address, address.topic("cloudevents"), number)
    end = await partition.end()
    await partition.close()
    return end


async def _records(address: Address, topic: str, number: int = 0) -> list[Stored]:
    """Key, value and headers of what is in the partition."""
    partition = Partition(address, topic, number)
    records: list[Any] = [
        (record.key, record.value, record.headers)
        async for batch in partition.read(0, await partition.end())
        for record in batch
    ]
    await partition.close()
    return records


async def _write(address: Address, topic: str, records: Sequence[Stored]) -> None:
    async with AIOKafkaProducer(**address.options()) as producer:
        for key, value, headers in records:
            await producer.send_and_wait(topic, value, key, 0, headers=list(headers))


async def _made(address: Address, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(**address.options())
    await admin.start()
    await admin.create_topics([NewTopic(topic, partitions, 1)])
    async with asyncio.timeout(60):
        while topic not in await admin.list_topics():  # noqa: ASYNC110 - brokers set no event
            await asyncio.sleep(0.05)
    await admin.close()


async def _deleted(address: Address, topic: str) -> None:
    admin = AIOKafkaAdminClient(**address.options())
    await admin.start()
    await admin.delete_topics([topic])
    async with asyncio.timeout(60):
        while topic in await admin.list_topics():  # noqa: ASYNC110 - brokers set no event
            await asyncio.sleep(0.05)
    await admin.close()
