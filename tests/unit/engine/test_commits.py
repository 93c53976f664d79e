"""What is committed of how far the partitions of a process are decided, and what becomes of failures."""

import asyncio
from collections.abc import Mapping
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, KafkaConnectionError

from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.commits import WITHIN, Commits
from statemachine.engine.kafka.processor import ProcessorContext
from statemachine.log.port import EventLog
from tests.support.scenario import START
from tests.support.simulated import LoopClock, on_simulated_time


async def _no_log(_: int) -> EventLog:
    raise AssertionError("no log is opened")


class Group:
    """Takes commits, unless it has an error, or time."""

    def __init__(self) -> None:
        self.assignment = Assignment(ProcessorContext(_no_log, LoopClock(START), lambda _: 0))
        self.commits = Commits(self.assignment, "seen", self.send)
        self.sent: list[dict[int, int]] = []
        self.error: Exception | None = None
        self.takes = 0.0

    async def send(self, offsets: Mapping[TopicPartition, Any]) -> None:
        await asyncio.sleep(self.takes)
        if self.error:
            raise self.error
        assert {part.topic for part in offsets} <= {"seen"}
        self.sent.append({part.partition: offset.offset for part, offset in offsets.items()})

    def ack(self, partition: int, place: int) -> None:
        for listener in self.assignment.ack_listeners:
            listener(partition, place)


@on_simulated_time
async def test_what_is_acknowledged_is_committed_once() -> None:
    group = Group()
    group.commits.begin([0, 1])
    group.ack(0, 7)
    await group.commits.commit()
    await group.commits.commit()
    group.ack(1, 3)
    await group.commits.commit()
    assert group.sent == [{0: 7}, {1: 3}]


@on_simulated_time
async def test_every_second_it_is_committed_by_itself() -> None:
    group = Group()
    group.commits.begin([0])
    running = asyncio.create_task(group.commits.run())
    for place in (1, 2, 3):
        group.ack(0, place)
        await asyncio.sleep(1.01)
    running.cancel()
    assert group.sent == [{0: 1}, {0: 2}, {0: 3}]


@on_simulated_time
async def test_an_offset_that_a_former_owner_set_back_is_committed_again() -> None:
    group = Group()
    group.commits.begin([0])
    running = asyncio.create_task(group.commits.run())
    group.ack(0, 7)
    await asyncio.sleep(70.0)
    running.cancel()
    assert group.sent == [{0: 7}] * 3, "at once, and after each half minute"


@on_simulated_time
async def test_of_partitions_that_are_not_dealt_out_to_us_nothing_is_committed() -> None:
    group = Group()
    group.commits.begin([0])
    group.ack(0, 7)
    group.ack(1, 9)
    group.commits.end()
    group.ack(0, 8)
    await group.commits.commit()
    assert group.sent == []


@on_simulated_time
async def test_what_could_not_be_committed_is_tried_again_the_next_time() -> None:
    group = Group()
    group.commits.begin([0])
    group.ack(0, 7)
    for error in (CommitFailedError("dealt out anew"), KafkaConnectionError("no broker")):
        group.error = error
        await group.commits.commit()
    group.error, group.takes = None, 3600.0
    before = asyncio.get_running_loop().time()
    await group.commits.commit()
    assert asyncio.get_running_loop().time() - before <= WITHIN
    group.takes = 0.0
    await group.commits.commit()
    assert group.sent == [{0: 7}]
