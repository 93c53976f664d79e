"""How the entries of a log are put into batches for a sink."""

import asyncio
import gc
from collections.abc import Callable

import pytest

from projectors.contract.stream import PublishedEntry, Publisher
from projectors.sinks import feeding
from projectors.sinks.feeding import Feeder
from projectors.sinks.port import Batch
from statemachine.errors import ConfigError, LogUnavailable
from statemachine.log.port import EntryDraft, Record
from tests.contract.lives import PUBLICATION, lives
from tests.support.memory_log import MemoryLog


class Gathering:
    """A sink that keeps its batches."""

    name = "gathering"

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    async def deliver(self, batch: Batch) -> None:
        self.batches.append(batch)

    async def close(self) -> None:
        """Nothing is open."""


class Slow(Gathering):
    """A receiver that answers when it is said to, or fails; `begun` is set when it has a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.answers = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None
        self.broken_off: Exception | None = None
        self.at_once = self.cancelled = 0

    async def deliver(self, batch: Batch) -> None:
        self.at_once += 1
        assert self.at_once == 1, "one batch at a time"
        self.begun.set()
        try:
            await self.answers.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            if self.broken_off is not None:
                raise self.broken_off from None
            raise
        finally:
            self.at_once -= 1
        if self.error is not None:
            raise self.error
        self.batches.append(batch)


def fed() -> list[Batch]:
    """The batches of a recorded life."""
    records = max((life.records for life in lives()[:100]), key=len)

    async def work() -> list[Batch]:
        log, sink = MemoryLog(), Gathering()
        await log.append([EntryDraft(record.job, record.seq, record.body) for record in records])
        await Feeder(log, 0, sink, PUBLICATION).advance()
        return sink.batches

    return asyncio.run(work())


def test_a_batch_is_full_at_a_size_and_no_entry_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = fed()
    monkeypatch.setattr(feeding, "_FULL", 3000)
    parts = fed()
    assert len(parts) > 2
    assert [event for batch in parts for event in batch.events] == list(whole.events)
    for batch in parts[:-1]:
        last = batch.events[-1].position
        assert sum(len(event.data) for event in batch.events) >= 3000
        assert sum(len(event.data) for event in batch.events if event.position < last) < 3000
    places = [{event.position for event in batch.events} for batch in parts]
    assert sum(map(len, places)) == len(set().union(*places))
    assert parts[-1].upto == whole.upto


async def until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not look():  # noqa: ASYNC110 - a log and a sink set no event
            await asyncio.sleep(0)


async def slowly(monkeypatch: pytest.MonkeyPatch) -> tuple[Slow, Feeder, Callable[[], int]]:
    """A receiver that has not answered yet, its feeder, and how many entries were projected for it so far."""
    monkeypatch.setattr(feeding, "_MOST", 5)
    count = 0
    take = Publisher.take

    def counted(publisher: Publisher, record: Record) -> PublishedEntry | None:
        nonlocal count
        count += 1
        return take(publisher, record)

    monkeypatch.setattr(Publisher, "take", counted)
    records = max((life.records for life in lives()[:100]), key=len)
    assert len(records) > 20
    log, sink = MemoryLog(), Slow()
    await log.append([EntryDraft(record.job, record.seq, record.body) for record in records])
    return sink, Feeder(log, 0, sink, PUBLICATION), lambda: count


async def test_the_next_batch_is_made_while_one_is_delivered_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink, feeder, count = await slowly(monkeypatch)
    work = asyncio.create_task(feeder.advance())
    await until(lambda: sink.begun.is_set() and count() == 10)
    for _ in range(100):
        await asyncio.sleep(0)
    assert (count(), feeder.reached, sink.batches) == (10, 0, [])
    sink.answers.set()
    await work
    ids = [event.attributes["id"] for batch in sink.batches for event in batch.events]
    monkeypatch.undo()
    assert ids == [event.attributes["id"] for batch in await asyncio.to_thread(fed) for event in batch.events]


async def test_a_delivery_that_fails_ends_the_work_though_the_next_batch_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink, feeder, count = await slowly(monkeypatch)
    sink.error = ConfigError("it cannot be written")
    work = asyncio.create_task(feeder.advance())
    await until(lambda: sink.begun.is_set() and count() == 10)
    sink.answers.set()
    with pytest.raises(ConfigError, match="it cannot be written"):
        await work
    sink.error = None
    await feeder.advance()
    assert [batch.upto.position for batch in sink.batches][:2] == [5, 10]


async def test_work_that_is_cancelled_leaves_no_delivery_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    sink, feeder, count = await slowly(monkeypatch)
    work = asyncio.create_task(feeder.advance())
    await until(lambda: sink.begun.is_set() and count() == 10)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (sink.cancelled, sink.at_once, sink.batches) == (1, 0, [])
    sink.answers.set()
    await feeder.advance()
    assert sink.batches[0].upto.position == 5


@pytest.mark.parametrize("times", [1, 2])
async def test_a_delivery_that_fails_as_it_is_broken_off_is_logged_by_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, times: int
) -> None:
    """A client that is broken off may say that it got no answer; who stops has nothing to do with that any more."""
    monkeypatch.setattr(feeding, "_TURN", 1)
    sink, feeder, count = await slowly(monkeypatch)
    sink.broken_off = LogUnavailable("no answer in time")

    async def stopped() -> bool:
        work = asyncio.create_task(feeder.advance())
        await until(lambda: sink.begun.is_set() and count() == 7)  # the next batch is being made
        for _ in range(times):
            work.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([work])
        return work.cancelled()

    assert await stopped()
    await until(lambda: sink.cancelled == 1)
    gc.collect()  # asyncio complains of a task once nothing refers to it
    assert caplog.records == []


async def test_a_delivery_and_a_log_that_fail_at_once_are_one_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(feeding, "_TURN", 1)
    sink, feeder, count = await slowly(monkeypatch)
    take = Publisher.take

    def failing(publisher: Publisher, record: Record) -> PublishedEntry | None:
        if count() == 9:
            raise LogUnavailable("the log is away")
        return take(publisher, record)

    monkeypatch.setattr(Publisher, "take", failing)
    sink.error = ConfigError("it cannot be written")
    sink.answers.set()
    with pytest.raises(LogUnavailable, match="the log is away"):
        await feeder.advance()
    gc.collect()
    assert caplog.records == []
