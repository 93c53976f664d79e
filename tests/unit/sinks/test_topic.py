"""The sink of a topic of somebody's own, on the model of brokers: its last event is how far it goes.

The same on real brokers: `tests/integration/kafka/test_publish_command.py`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import patch

import pytest

from projectors.sinks.topic import TopicSink
from statemachine.errors import ConfigError
from statemachine.log.kafka.publishing import Target
from tests.support.kafka_model import producer
from tests.support.kafka_stage import (
    PARTITIONS,
    Stage,
    one_commit_arriving_twice,
    one_commit_unanswered,
    staged,
)
from tests.support.published_lives import batches, lines_of, published

ENTRIES = published(0, PARTITIONS, 6)
SIZE = 7
OWN = "own"


@asynccontextmanager
async def opened(stage: Stage) -> AsyncIterator[TopicSink]:
    """A publisher, until the block is left."""
    if OWN not in stage.brokers.topics():
        stage.brokers.create(OWN, PARTITIONS, {})
    sink = await TopicSink.open(Target.of(stage.address, OWN), PARTITIONS)
    try:
        yield sink
    finally:
        await sink.close()


@staged
async def test_the_last_event_in_the_topic_is_where_the_next_publisher_goes_on(stage: Stage) -> None:
    first, second, *_ = batches(ENTRIES, SIZE)
    async with opened(stage) as sink:
        assert await sink.last(0) is None
        await sink.deliver(first)
    async with opened(stage) as sink:
        assert await sink.last(0) == first.events[-1].attributes["id"]
        await sink.deliver(second._replace(events=()))
        await sink.deliver(second)
    assert await stage.lines(0, OWN) == lines_of(ENTRIES[: 2 * SIZE])


@pytest.mark.parametrize("takes_effect", [False, True])
def test_a_commit_whose_answer_is_lost_is_not_repeated(takes_effect: bool) -> None:
    @staged
    async def fed(stage: Stage) -> None:
        async with opened(stage) as sink:
            await sink.last(0)
            with one_commit_unanswered(takes_effect=takes_effect):
                for batch in batches(ENTRIES, SIZE):
                    await sink.deliver(batch)
        assert await stage.lines(0, OWN) == lines_of(ENTRIES)

    fed()


@staged
async def test_a_commit_that_arrives_twice_ends_no_half_of_what_takes_several_requests(stage: Stage) -> None:
    async with opened(stage) as sink:
        await sink.last(0)
        with patch.object(producer, "_FULL", 2), one_commit_arriving_twice():
            for batch in batches(ENTRIES, SIZE):
                await sink.deliver(batch)
    assert await stage.lines(0, OWN) == lines_of(ENTRIES)


@staged
async def test_what_another_program_has_written_stops_the_publisher(stage: Stage) -> None:
    first, second, *_ = batches(ENTRIES, SIZE)
    async with opened(stage) as sink, opened(stage) as other:
        await sink.last(0)
        await other.last(0)
        await other.deliver(first)
        with pytest.raises(
            ConfigError, match="another program writes to partition 0 of topic own at model:9092"
        ):
            await sink.deliver(second)
