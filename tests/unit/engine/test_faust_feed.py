"""What Faust makes of a fetch by our order of it, on its own objects; no broker is needed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import faust
import pytest
from aiokafka import ConsumerRecord
from faust.types import TP

from statemachine.engine.kafka.faust_feed import WholeFetches


def record(partition: int, offset: int) -> ConsumerRecord[bytes, bytes]:
    return ConsumerRecord("seen", partition, offset, 0, 0, b"job", b"%d" % offset, None, 3, 1, ())


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Any]:
    made = faust.App(
        "engine",
        broker="kafka://nowhere.invalid:9092",
        autodiscover=False,
        datadir=tmp_path,
        ConsumerScheduler=WholeFetches,
    )
    made.finalize()
    yield made
    consumer: Any = made.consumer
    consumer._thread.thread_loop.close()


async def test_a_fetch_passes_faust_as_a_message_for_each_partition_with_the_records_unchanged(
    app: Any,
) -> None:
    topic = app.topic("seen", value_type=bytes, value_serializer="raw", acks=False)
    fetched = {TP("seen", 0): [record(0, 4), record(0, 5)], TP("seen", 1): [record(1, 9)], TP("seen", 2): []}
    events = [
        await topic.decode(app.consumer._to_message(part, event))
        for part, event in app.consumer.scheduler.iterate(fetched)
    ]
    assert [event.value for event in events] == [fetched[TP("seen", 0)], fetched[TP("seen", 1)]]
    assert [event.message.tp for event in events] == [TP("seen", 0), TP("seen", 1)]


async def test_such_a_message_stands_where_its_last_record_does(app: Any) -> None:
    """Faust drops what stands before the last message that it has brought."""
    part = TP("seen", 0)
    ((_, whole),) = WholeFetches().iterate({part: [record(0, 4), record(0, 5)]})
    message = app.consumer._to_message(part, whole)
    assert (message.partition, message.offset) == (0, 5)
