"""What the feed does with what its group deals out, at the edges of its life."""

import asyncio

import pytest
from aiokafka import ConsumerRecord, TopicPartition

from statemachine.engine.kafka.aiokafka_feed import AiokafkaFeed, _Dealt, runs
from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.commits import Commits
from statemachine.engine.kafka.offsets import Offsets
from statemachine.engine.kafka.processor import ProcessorContext
from statemachine.log.kafka.address import Address
from statemachine.log.port import EventLog
from tests.support.scenario import START
from tests.support.simulated import Deadlock, LoopClock, on_simulated_time, run_simulated

ADDRESS = Address(("127.0.0.1:1",))


async def _no_log(_: int) -> EventLog:
    raise AssertionError("no log is opened")


@on_simulated_time
async def test_what_is_dealt_to_a_feed_that_has_ended_is_left_to_others() -> None:
    """It leaves the group a moment later; aiokafka logs as an error whatever comes out of a listener."""
    assignment = Assignment(ProcessorContext(_no_log, LoopClock(START), lambda _: 0))

    async def no_commit(_: object) -> None:
        raise AssertionError("nothing is committed")

    commits = Commits(assignment, "jobledger.observations", no_commit)
    async with asyncio.TaskGroup() as tasks:
        dealt = _Dealt(AiokafkaFeed(ADDRESS, assignment), commits, Offsets(ADDRESS), tasks)
    await dealt.on_partitions_assigned([TopicPartition("jobledger.observations", 0)])
    assert not assignment.processors


def test_a_feed_without_partitions_sleeps_until_it_gets_some() -> None:
    async def main() -> None:
        assignment = Assignment(ProcessorContext(_no_log, LoopClock(START), lambda _: 0))
        await AiokafkaFeed(ADDRESS, assignment)._fetch(None)

    with pytest.raises(Deadlock):  # it waits for no timer
        run_simulated(main(), 1)


def test_records_become_posts_with_the_place_of_the_first_and_anew_behind_a_hole() -> None:
    records = [
        ConsumerRecord("seen", 0, offset, 0, 0, b"job-1", b"%d" % offset, None, 5, 1, ())
        for offset in (4, 5, 8)
    ]
    made = [(first, [post.body for post in posts]) for first, posts in runs(records)]
    assert made == [(5, [b"4", b"5"]), (9, [b"8"])]
    assert list(runs([])) == []
