"""Snapshots in Kafka under a key: what somebody else has written to their topic is not used, the log is."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaProducer
from msgspec.structs import replace

from statemachine.engine.step import Delivery, Owner
from statemachine.ids import JobUid
from statemachine.log.codec import decode_state, encode_state
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import COVERED, Row, mac_of, page_row, snapshot_of, snapshot_row, with_mac
from statemachine.log.port import Snapshot
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from statemachine.phases import Phase
from statemachine.state import changed
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock

pytestmark = pytest.mark.integration

KEY = b"k" * 32
DONE, LIVE, GONE = JobUid("done"), JobUid("live"), JobUid("gone")


def life(uid: JobUid) -> Story:
    return Story(workers(2), uid=uid).submit().at(5).all_pods("Running")


def causes(story: Story) -> Sequence[Observation]:
    return [entry.cause for entry in story.entries]


def succeeded() -> Story:
    return life(DONE).at(9).pod("worker-0", "Succeeded")


def closed() -> Story:
    return life(GONE).delete().gone("worker-0").gone("worker-1")


async def decided(address: Address, key: bytes | None, *batches: Sequence[Observation]) -> Reader:
    """An engine took the batches, and saved the states after each."""
    log = await KafkaLog.open(address, 0, key=key)
    try:
        reader = Reader(keeps=0)
        await reader.recover(log)
        owner = Owner(log, reader, LoopClock(START))
        for batch in batches:
            await owner.take([Delivery(observation) for observation in batch])
            snapshots = reader.unsaved()
            await log.save_snapshots(reader.position, snapshots, reader.place)
            reader.saved(snapshots)
        return reader
    finally:
        await log.close()


class Start(NamedTuple):
    """What a process knows when it has begun, and how many snapshots it did not use."""

    reader: Reader
    refused: int


async def started(address: Address, key: bytes | None = KEY) -> Start:
    log = await KafkaLog.open(address, 0, read_only=True, key=key)
    try:
        reader = Reader(keeps=0)
        await reader.recover(log)
        return Start(reader, log.refused_snapshots)
    finally:
        await log.close()


async def recovered(address: Address, key: bytes | None = KEY) -> Reader:
    return (await started(address, key)).reader


@pytest.fixture
async def ledger(ledger_topics: Address) -> Address:
    """A job that has succeeded after it was saved while it ran, one that lives, one that is closed."""
    early = causes(life(DONE))
    late = [*causes(succeeded())[len(early) :], *causes(life(LIVE)), *causes(closed())]
    await decided(ledger_topics, KEY, early, late)
    return ledger_topics


async def stored(address: Address) -> AsyncIterator[Any]:
    """Every record that was ever written to the topic of snapshots."""
    topic = Partition(address, address.topic("jobs"), 0)
    try:
        async for batch in topic.read(0, await topic.end()):
            for message in batch:
                yield message
    finally:
        await topic.close()


async def under(address: Address, key: bytes) -> list[Any]:
    return [name async for name in stored(address) if name.key == key]


async def write(address: Address, *rows: Row) -> None:
    """As somebody does who has the right to write to the topic, and no key."""
    async with AIOKafkaProducer(**address.options(), enable_idempotence=True) as producer:
        for row in rows:
            await producer.send_and_wait(
                address.topic("jobs"), row.value, key=row.key, partition=0, headers=list(row.headers)
            )


def believed(reader: Reader) -> dict[str, object]:
    jobs = {job: reader.tracked(job) for job in sorted(reader.jobs)}
    return {
        "open": {job: (tracked.state, tracked.seq, tracked.head) for job, tracked in jobs.items()},
        "closed": reader.forgotten,
    }


async def running_again(address: Address) -> Sequence[Row]:
    """The job that has succeeded runs, under the MAC that its snapshot had."""
    last = (await under(address, DONE.encode()))[-1]
    snapshot = snapshot_of(last)
    assert snapshot is not None
    state = changed(decode_state(snapshot.body), phase=Phase.RUNNING)
    return [with_mac(snapshot_row(replace(snapshot, body=encode_state(state))), mac_of(last))]


async def a_page_with_a_job_that_lives(address: Address) -> Sequence[Row]:
    return [page_row(0, {GONE: len(closed().entries), LIVE: 3})]


async def put_back(address: Address) -> Sequence[Row]:
    """What its engine saved of the job when it ran, MAC and all."""
    first = (await under(address, DONE.encode()))[0]
    return [Row(first.key, first.value, first.headers)]


async def put_back_with_what_was_covered(address: Address) -> Sequence[Row]:
    first = (await under(address, COVERED))[0]
    return [*await put_back(address), Row(first.key, first.value, first.headers)]


async def deleted(_: Address) -> Sequence[Row]:
    return [Row(DONE.encode(), None)]


@pytest.mark.parametrize(
    ("forge", "refused"),
    [
        (running_again, 1),
        (a_page_with_a_job_that_lives, 1),
        (put_back, 1),
        (put_back_with_what_was_covered, 0),
        (deleted, 0),
    ],
)
async def test_what_was_altered_is_not_used_and_the_log_is_folded(
    ledger: Address, forge: Any, refused: int
) -> None:
    honest, none = await started(ledger)
    assert none == 0
    await write(ledger, *await forge(ledger))
    reader, count = await started(ledger)
    assert believed(reader) == believed(honest)
    assert reader.tracked(DONE).state.phase is Phase.SUCCEEDED
    assert count == refused


async def test_an_altered_snapshot_is_believed_without_the_key(ledger: Address) -> None:
    await write(ledger, *await running_again(ledger))
    assert (await recovered(ledger, None)).tracked(DONE).state.phase is Phase.RUNNING


async def test_a_partitions_snapshots_do_not_hold_in_another(ledger: Address) -> None:
    log = await KafkaLog.open(ledger, 1, read_only=True, key=KEY)
    try:
        records = [Row(name.key, name.value, name.headers) async for name in stored(ledger)]
        async with AIOKafkaProducer(**ledger.options(), enable_idempotence=True) as producer:
            for record in records:
                headers = list(record.headers)
                await producer.send_and_wait(
                    ledger.topic("jobs"), record.value, key=record.key, partition=1, headers=headers
                )
        saved = await log.saved()
        assert (saved.covered, saved.snapshots, dict(saved.closed)) == (0, [], {})
        assert log.refused_snapshots == 3
    finally:
        await log.close()


async def test_what_an_older_release_saved_is_not_used_and_sealed_by_the_next_save(
    ledger_topics: Address,
) -> None:
    await decided(ledger_topics, None, causes(succeeded()), causes(closed()))
    reader, refused = await started(ledger_topics)
    assert refused == 2
    assert reader.forgotten.keys() == {GONE}
    engine = await decided(ledger_topics, KEY, causes(life(LIVE)))
    again, refused = await started(ledger_topics)
    assert refused == 0
    assert believed(again) == believed(engine)


async def test_an_older_release_reads_what_is_sealed(ledger: Address) -> None:
    assert believed(await recovered(ledger, None)) == believed(await recovered(ledger))


async def test_what_was_refused_is_gone_after_the_next_save(ledger: Address) -> None:
    await write(
        ledger, *await running_again(ledger), snapshot_row(Snapshot(JobUid("no-job"), 4, "head", 1, b"{}"))
    )
    await decided(ledger, KEY, causes(life(JobUid("new"))))
    assert (await started(ledger)).refused == 0
    assert (await under(ledger, b"no-job"))[-1].value is None
