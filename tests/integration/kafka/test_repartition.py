"""Another number of partitions: `jobledger log copy` between two ledgers in Kafka, and an engine that goes on."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest

from statemachine.engine.kafka.worker import Worker
from statemachine.ids import JobUid
from statemachine.log.codec import decode
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.port import DeadLetter, Record
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from tests.harness import Kafka
from tests.harness.fixtures import ledger_topics_on
from tests.integration.kafka.engine_process import Still
from tests.integration.kafka.test_copy import cli
from tests.support.logs import records
from tests.support.scenario import START, Story, workers

pytestmark = pytest.mark.integration

OLD, NEW = 2, 3
JOBS = [JobUid(f"job-{number}") for number in range(24)]


def lives() -> list[list[Observation]]:
    """What is observed of each job one after the other; each observation makes an entry."""
    story = Story(workers(2), uid="model").submit().at(5).all_pods("Running")
    story.at(9).pod("worker-0", "Succeeded").delete().gone("worker-0").gone("worker-1")
    observations = [entry.cause for entry in story.entries]
    return [[observation.changed(job=job) for observation in observations] for job in JOBS]


@pytest.fixture
def ledgers(kafka: Kafka) -> Iterator[tuple[Address, Address]]:
    with ledger_topics_on(kafka, OLD) as old, ledger_topics_on(kafka, NEW) as new:
        yield old, new


async def put(address: Address, observations: Sequence[Observation]) -> None:
    outbox = await KafkaOutbox.open(address)
    await outbox.put(observations)
    await outbox.close()


@asynccontextmanager
async def logs(address: Address, count: int) -> AsyncIterator[list[KafkaLog]]:
    logs = [await KafkaLog.open(address, number, read_only=True) for number in range(count)]
    try:
        yield logs
    finally:
        for log in logs:
            await log.close()


async def read(address: Address, count: int) -> list[list[Record]]:
    async with logs(address, count) as opened:
        return [await records(log) for log in opened]


async def decided(address: Address, count: int, entries: int) -> list[list[Record]]:
    """The records of each partition, once an engine has decided so many; it has left the group then."""
    working = asyncio.create_task(Worker(address, "aiokafka", Still(), session=6.0).run())
    try:
        async with asyncio.timeout(90):
            while sum(map(len, records := await read(address, count))) < entries:
                assert not working.done(), working.exception()
                await asyncio.sleep(0.2)
    finally:
        working.cancel()
        await asyncio.wait([working])
    return records


def by_job(partitions: Sequence[Sequence[Record]]) -> dict[JobUid, list[tuple[int, bytes]]]:
    bodies: dict[JobUid, list[tuple[int, bytes]]] = {}
    for one in (record for partition in partitions for record in partition):
        bodies.setdefault(one.job, []).append((one.seq, one.body))
    return bodies


async def test_a_ledger_goes_on_with_another_number_of_partitions(ledgers: tuple[Address, Address]) -> None:
    old, new = ledgers
    begun = 2
    await put(old, [observation for life in lives() for observation in life[:begun]])
    before = await decided(old, OLD, begun * len(JOBS))
    async with logs(old, OLD) as opened:
        await opened[1].add_dead_letter(DeadLetter(START, JOBS[0], b"\xff", "unreadable"))
    copied = await asyncio.to_thread(cli, "log", "copy", str(old), str(new))
    said = f"the same in both: {len(JOBS)} jobs, {begun * len(JOBS)} entries"
    assert copied == (0, f"{said}, and 1 dead letter\n", "")

    after = await read(new, NEW)
    assert by_job(after) == by_job(before)
    assert max(decode(record.body).source for record in after[0]) > 0, "the bytes still name the old places"
    for number, partition in enumerate(after):
        assert {partition_of(record.job, NEW) for record in partition} == {number}
    async with logs(new, NEW) as opened:
        letters = [list(await log.dead_letters()) for log in opened]
        assert [letter.error for letter in letters[partition_of(JOBS[0], NEW)]] == ["unreadable"]
        for log in opened:
            assert await log.checkpoint("kube-events") == await log.end()
            reader = Reader()
            await reader.recover(log)
            assert {reader.tracked(job).source for job in reader.jobs} == {0}
            assert reader.quarantined == {}

    # more comes than the old topic had, before anybody decides: none may pass for a repeat because of its place
    rest = [observation for life in lives() for observation in life[begun:]]
    await put(new, rest)
    finished = await decided(new, NEW, sum(map(len, lives())))
    assert {job: len(entries) for job, entries in by_job(finished).items()} == {
        job: len(life) for job, life in zip(JOBS, lives(), strict=True)
    }


async def test_what_nobody_has_decided_keeps_a_ledger_from_being_copied(
    ledgers: tuple[Address, Address],
) -> None:
    old, new = ledgers
    await put(old, [life[0] for life in lives()])
    code, said, wrong = await asyncio.to_thread(cli, "log", "copy", str(old), str(new))
    assert (code, said) == (3, "")
    assert wrong.startswith(f"jobledger: {old} holds what is not decided yet")
    assert f"(observations: {len(JOBS)})" in wrong
    assert f"`jobledger controller --roles engine --log {old}`" in wrong
    assert await read(new, NEW) == [[], [], []]
    await decided(old, OLD, len(JOBS))
    assert (await asyncio.to_thread(cli, "log", "copy", str(old), str(new)))[0] == 0
