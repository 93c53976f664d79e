"""The model's own parts that no broker is compared with: compaction, and processes that stand still or are killed."""

import asyncio

import pytest
from aiokafka import TopicPartition

from statemachine.log.kafka.records import Row
from tests.support.kafka_model.partitions import ModelPartition, Writing
from tests.support.processes import Process, ProcessLoop
from tests.support.simulated import run_simulated

WRITER = Writing(1, 0, "writer")


def test_compaction_keeps_the_last_committed_record_of_a_key_at_its_offset() -> None:
    partition = ModelPartition(TopicPartition("jobs", 0))
    for batch, (key, value, committed) in enumerate(
        [(b"a", b"1", True), (b"b", b"1", True), (b"a", b"2", True), (b"b", b"2", False)]
    ):
        partition.append([Row(key, value)], batch, 0, WRITER, transactional=True)
        partition.mark(WRITER, committed=committed)
    before = partition.end
    partition.compact()
    messages, position = partition.read(0, 100, committed=True)
    assert [(message.offset, message.key, message.value) for message in messages] == [
        (2, b"b", b"1"),
        (4, b"a", b"2"),
    ]
    assert position == partition.end == before


def test_compaction_leaves_alone_what_stands_behind_an_open_transaction() -> None:
    partition = ModelPartition(TopicPartition("jobs", 0))
    partition.append([Row(b"a", b"1")], 1, 0, WRITER, transactional=True)
    partition.mark(WRITER, committed=True)
    partition.append([Row(b"a", b"2")], 2, 0, WRITER, transactional=True)
    partition.compact()
    assert [message.value for message in partition.read(0, 100, committed=True)[0]] == [b"1"]
    partition.mark(WRITER, committed=True)
    partition.compact()
    assert [message.value for message in partition.read(0, 100, committed=True)[0]] == [b"2"]


def test_a_batch_that_is_sent_again_is_appended_once() -> None:
    partition = ModelPartition(TopicPartition("events", 0))
    first = partition.append([Row(b"a", b"1")], 7, 0, transactional=False)
    assert partition.append([Row(b"a", b"1")], 7, 0, transactional=False) == first
    assert partition.end == 1


async def _count(ticks: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(1)
        ticks.append(loop.time())


def test_a_process_that_stands_still_does_nothing_and_goes_on_late() -> None:
    async def main() -> list[float]:
        ticks: list[float] = []
        process = Process("one")
        process.start(_count(ticks))
        await asyncio.sleep(2.5)
        process.freeze()
        await asyncio.sleep(7)
        process.resume()
        await asyncio.sleep(1.7)
        return ticks

    assert run_simulated(main(), 1, ProcessLoop) == pytest.approx([1, 2, 9.5, 10.5])


def test_a_time_out_that_was_left_while_a_process_stood_still_does_not_come_afterwards() -> None:
    """Its timer was due meanwhile, behind what ended the wait."""

    async def wait(answer: "asyncio.Future[str]", said: list[str]) -> None:
        async with asyncio.timeout(5):
            said.append(await answer)
        await asyncio.sleep(1)
        said.append("went on")

    async def main() -> list[str]:
        said: list[str] = []
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        process = Process("one")
        task = process.start(wait(answer, said))
        await asyncio.sleep(1)
        process.freeze()
        answer.set_result("answered")
        await asyncio.sleep(10)
        process.resume()
        await asyncio.wait([task])
        return said

    assert run_simulated(main(), 1, ProcessLoop) == ["answered", "went on"]


def test_a_process_that_is_killed_does_nothing_any_more_not_even_clean_up() -> None:
    async def clean(said: list[str]) -> None:
        try:
            await asyncio.sleep(5)
        finally:
            said.append("cleaned up")

    async def main() -> list[str]:
        said: list[str] = []
        process = Process("one")
        process.start(clean(said))
        await asyncio.sleep(1)
        process.kill()
        process.resume()
        await asyncio.sleep(60)
        before = list(said)
        await process.bury()
        return before

    assert run_simulated(main(), 1, ProcessLoop) == []
