"""The sink of a topic in Kafka, on the model of brokers: events and position together, whatever befalls publishers.

The same on real brokers: `tests/integration/kafka/test_publishing.py`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from projectors.contract.binding import Mode
from projectors.sinks.kafka import KafkaSink, check_partitions
from statemachine.errors import ConfigError, OwnerLost
from statemachine.log.kafka import clients
from statemachine.log.kafka.publishing import Target
from tests.support.kafka_stage import (
    PARTITIONS,
    Stage,
    one_commit_arriving_twice,
    one_commit_unanswered,
    staged,
)
from tests.support.published_lives import at, batches, left_open, lines_of, published

ENTRIES = published(0, PARTITIONS, 6)
SIZE = 7


@asynccontextmanager
async def opened(stage: Stage, mode: Mode = "binary") -> AsyncIterator[KafkaSink]:
    """A publisher, until the block is left."""
    sink = await KafkaSink.open("kafka", Target.of(stage.address), PARTITIONS, mode)
    try:
        yield sink
    finally:
        await sink.close()


async def feed(sink: KafkaSink) -> None:
    """The sink has everything of partition 0."""
    position = await sink.position(0)
    for batch in batches(ENTRIES, SIZE, position.position if position else 0):
        await sink.deliver(batch)


@staged
async def test_events_and_position_go_on_where_the_publisher_before_was(stage: Stage) -> None:
    first, *_ = batches(ENTRIES, SIZE)
    async with opened(stage) as sink:
        assert await sink.position(0) is None
        await sink.deliver(first)
        await sink.deliver(first._replace(events=(), upto=at(first.upto.position + 1)))
    async with opened(stage) as sink:
        assert await sink.position(0) == at(first.upto.position + 1)
        await sink.position(1)
    assert await stage.lines() == lines_of(ENTRIES[:SIZE])
    assert await stage.lines(1) == []


@pytest.mark.parametrize("mode", ["binary", "structured"])
def test_a_topic_has_the_events_of_the_log_once(mode: Mode) -> None:
    @staged
    async def fed(stage: Stage) -> None:
        async with opened(stage, mode) as sink:
            await feed(sink)
            await feed(sink)
        assert await stage.lines() == lines_of(ENTRIES)

    fed()


@staged
async def test_of_two_publishers_the_first_stops(stage: Stage) -> None:
    first, second, *_ = batches(ENTRIES, SIZE)
    async with opened(stage) as one, opened(stage) as other:
        await one.position(0)
        await one.deliver(first)
        await other.position(0)
        await other.deliver(second)
        with pytest.raises(OwnerLost, match="another publisher has partition 0"):
            await one.deliver(second)
    assert await stage.lines() == lines_of(ENTRIES[: 2 * SIZE])


@staged
async def test_a_publisher_that_was_fenced_for_its_silence_goes_on(stage: Stage) -> None:
    first, second, *_ = batches(ENTRIES, SIZE)
    async with opened(stage) as sink:
        await sink.position(0)
        await sink.deliver(first)
        fencing = clients.producer(stage.address, f"{stage.address.topic('cloudevents')}-0")
        await fencing.start()
        await fencing.stop()
        await sink.deliver(second)
    assert await stage.lines() == lines_of(ENTRIES[: 2 * SIZE])


@staged
async def test_a_position_behind_what_another_sink_left_open_is_waited_for(stage: Stage) -> None:
    first, second, *_ = batches(ENTRIES, SIZE)
    async with opened(stage) as sink:
        await sink.position(0)
        await sink.deliver(first)
        async with left_open(stage.address, 20_000):
            await sink.deliver(second)
    async with opened(stage) as sink:
        assert await sink.position(0) == second.upto
        await feed(sink)
    assert await stage.lines() == lines_of(ENTRIES)


@pytest.mark.parametrize("takes_effect", [False, True])
def test_a_commit_whose_answer_is_lost_is_not_repeated(takes_effect: bool) -> None:
    @staged
    async def fed(stage: Stage) -> None:
        async with opened(stage) as sink:
            await sink.position(0)
            with one_commit_unanswered(takes_effect=takes_effect):
                for batch in batches(ENTRIES, SIZE):
                    await sink.deliver(batch)
        assert await stage.lines() == lines_of(ENTRIES)

    fed()


@staged
async def test_a_commit_that_arrives_twice_ends_no_half_of_the_next_batch(stage: Stage) -> None:
    async with opened(stage) as sink:
        await sink.position(0)
        with one_commit_arriving_twice():
            for batch in batches(ENTRIES, SIZE):
                await sink.deliver(batch)
    assert await stage.lines() == lines_of(ENTRIES)


@staged
async def test_brokers_that_are_away_are_waited_for_at_growing_pauses(stage: Stage) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 7:
            stage.brokers.come_back()
        await asyncio.sleep(seconds)

    async with opened(stage) as sink:
        sink.sleep = sleep
        stage.brokers.go_away()
        await feed(sink)
    assert pauses[:7] == [0.2, 0.5, 1.0, 2.0, 5.0, 5.0, 5.0]
    assert await stage.lines() == lines_of(ENTRIES)


@staged
async def test_a_topic_with_other_partitions_or_none_is_refused(stage: Stage) -> None:
    target = Target.of(stage.address)
    await check_partitions(target, PARTITIONS)
    with pytest.raises(ConfigError, match="has 2 partitions, and the log 3"):
        await check_partitions(target, 3)
    with pytest.raises(ConfigError, match="does not exist"):
        await check_partitions(Target.of(stage.address, "nowhere"), PARTITIONS)
