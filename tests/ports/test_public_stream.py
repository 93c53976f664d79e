"""What every PublicStream has to do, on every adapter: the sentences of `publishing/public_stream.py`, one by one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from jobledger.program.errors import CursorRefused
from jobledger.publishing import sharing, stretches, topical
from jobledger.publishing.cursors import Cursor, Place, cursor_in
from jobledger.publishing.projected import Naming, ProjectedStream
from jobledger.publishing.public_stream import PlacedEvent, PublicStream
from jobledger.publishing.topical import TopicStream
from projectors.contract.envelope import structured
from projectors.sinks.feeding import Feeder
from projectors.sinks.kafka import KafkaSink
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.publishing import Target, last_record
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft, EventLog
from statemachine.log.sqlite import SqliteLog
from tests.contract.lives import PUBLICATION
from tests.harness.fixtures import LEDGER_PARTITIONS
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.unit.contract.made import of_story

ID = "0a1b2c3d-0000-4000-8000-000000000000"


class Bells:
    """What a log that grows says to those who listen."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[object], None]] = []

    @contextmanager
    def listening(self, listener: Callable[[object], None]) -> Iterator[None]:
        self.listeners.append(listener)
        yield
        self.listeners.remove(listener)


class Ledger:
    """A log, and streams of its public events."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.bells = Bells()

    def stream(self) -> PublicStream[Any]:
        """One that nobody else reads."""

        async def named() -> Naming:
            return Naming(ID, PUBLICATION)

        return ProjectedStream(Partitions([self.log]), named, self.bells.listening)

    async def write(self, *written: Story) -> None:
        """Their entries, one of each job after the other."""
        longest = max(len(story.bodies) for story in written)
        for seq in range(1, longest + 1):
            having = [story for story in written if len(story.bodies) >= seq]
            await self.log.append([EntryDraft(story.uid, seq, story.bodies[seq - 1]) for story in having])
        for listener in self.bells.listeners:
            listener(object())

    async def close(self) -> None:
        """Nothing is open any more."""
        await self.log.close()


class PublishedLedger(Ledger):
    """A partition of a log in Kafka, and streams of the topic that its events are published to."""

    def __init__(self, log: EventLog, target: Target) -> None:
        super().__init__(log)
        self.target = target
        self.streams: list[TopicStream] = []

    def stream(self) -> PublicStream[Any]:
        """See Ledger."""

        async def identified() -> str:
            return ID

        self.streams.append(TopicStream(self.target, identified))
        return self.streams[-1]

    async def write(self, *written: Story) -> None:
        """See Ledger; then their events are published, and can be read, which is a little later."""
        await super().write(*written)
        sink = await KafkaSink.open("kafka", self.target, LEDGER_PARTITIONS)
        await Feeder(self.log, 0, sink, PUBLICATION).advance()
        await sink.close()
        await last_record(self.target, 0)

    async def close(self) -> None:
        """See Ledger."""
        for stream in self.streams:
            await stream.close()
        await super().close()


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("kafka", marks=pytest.mark.integration),
        pytest.param("topic", marks=pytest.mark.integration),
    ]
)
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ledger]:
    match request.param:
        case "memory":
            made = Ledger(MemoryLog())
        case "sqlite":
            made = Ledger(await SqliteLog.open(tmp_path / "store.db"))
        case "kafka":
            made = Ledger(await KafkaLog.open(request.getfixturevalue("ledger_topics"), 1))
        case _:
            address = request.getfixturevalue("ledger_topics")
            made = PublishedLedger(await KafkaLog.open(address, 0), Target.of(address))
    yield made
    await made.close()


def stories(count: int = 3) -> list[Story]:
    return [
        Story(workers(2), name=f"job-{number}", uid=f"aaaa-{number:04}").submit().all_pods("Running")
        for number in range(count)
    ]


async def everything(stream: PublicStream[Any], after: Any = None) -> list[PlacedEvent[Any]]:
    """All events behind a place, by default the earliest."""
    events: list[PlacedEvent[Any]] = []
    if after is None:
        (after, *_) = await stream.earliest()
    while not (portion := await stream.read(0, after)).at_end:
        events += portion.events
        after = portion.place
    return events


def lines(events: Sequence[PlacedEvent[Any]]) -> list[bytes]:
    return [placed.line for placed in events]


def recorded(placed: PlacedEvent[Any]) -> str:
    return str(placed.event.attributes["recordedtime"])


async def test_from_the_earliest_place_on_it_gives_all_events_in_log_order(ledger: Ledger) -> None:
    written = stories()
    await ledger.write(*written)
    stream = ledger.stream()
    given = await everything(stream)
    expected = {structured(event) for story in written for event in of_story(story)}
    assert len(given) == len(expected)
    assert set(lines(given)) == expected
    for story in written:
        of_job = [placed.line for placed in given if placed.event.attributes["partitionkey"] == story.uid]
        assert of_job == [structured(event) for event in of_story(story)]


async def test_from_every_place_on_it_gives_the_rest(ledger: Ledger) -> None:
    await ledger.write(*stories())
    stream = ledger.stream()
    whole = await everything(stream)
    for number, placed in enumerate(whole, 1):
        assert lines(await everything(ledger.stream(), placed.place)) == lines(whole[number:])
        assert lines(await everything(stream, placed.place)) == lines(whole[number:])


async def test_at_the_end_there_is_nothing_until_the_log_grows(ledger: Ledger) -> None:
    old, new = stories(2)
    await ledger.write(old)
    stream = ledger.stream()
    (end, *_) = await stream.ends()
    portion = await stream.read(0, end)
    assert (portion.events, portion.place, portion.at_end) == ((), end, True)
    await ledger.write(new)
    assert lines(await everything(stream, end)) == [structured(event) for event in of_story(new)]


async def test_many_readers_at_once_get_the_same(ledger: Ledger) -> None:
    await ledger.write(*stories(10))
    stream = ledger.stream()
    whole = lines(await everything(ledger.stream()))
    given = await asyncio.gather(*(everything(stream) for _ in range(8)))
    assert all(lines(events) == whole for events in given)


async def test_with_little_memory_slow_and_quick_readers_get_the_same(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "BUDGET", 1)
    monkeypatch.setattr(stretches, "_AT_ONCE", 2)
    monkeypatch.setattr(topical, "_AT_ONCE", 5)
    await ledger.write(*stories(6))
    stream = ledger.stream()
    whole = await everything(ledger.stream())
    for number in (0, 3, len(whole) // 2, 5):
        assert lines(await everything(stream, whole[number].place)) == lines(whole[number + 1 :])
    slow: list[PlacedEvent[Any]] = []
    (after, *_) = await stream.earliest()
    while not (portion := await stream.read(0, after)).at_end:
        slow += portion.events
        after = portion.place
        await everything(stream)
    assert lines(slow) == lines(whole)


async def test_a_reader_who_leaves_costs_the_others_nothing(ledger: Ledger) -> None:
    await ledger.write(*stories(10))
    stream = ledger.stream()
    whole = lines(await everything(ledger.stream()))
    for waited in range(6):
        leaving = asyncio.ensure_future(everything(stream))
        for _ in range(waited):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert lines(await everything(stream)) == whole


async def test_since_a_time_it_gives_what_was_recorded_then_or_later(ledger: Ledger) -> None:
    early = Story(workers(1), uid="aaaa-1111").submit()
    late = Story(workers(1), uid="bbbb-2222").at(60).submit().at(90).all_pods("Running")
    await ledger.write(early)
    await ledger.write(late)
    stream = ledger.stream()
    whole = await everything(stream)
    for at in {recorded(placed) for placed in whole}:
        (place, *_) = await stream.since(datetime.fromisoformat(at))
        expected = [placed.line for placed in whole if recorded(placed) >= at]
        assert lines(await everything(stream, place)) == expected
    (late_place, *_) = await stream.since(datetime.fromisoformat("2099-01-01T00:00:00Z"))
    assert await everything(stream, late_place) == []


async def test_its_ledger_is_the_beginning_of_the_id(ledger: Ledger) -> None:
    assert await ledger.stream().ledger() == "0a1b2c3d"


async def test_it_says_that_it_grows(ledger: Ledger) -> None:
    early, late = stories(2)
    await ledger.write(early)
    stream = ledger.stream()
    (end, *_) = await stream.ends()
    with stream.growing() as grown:
        assert not grown.is_set()
        await ledger.write(late)
        async with asyncio.timeout(60):
            await grown.wait()
            assert lines(await everything(stream, end)) == [structured(event) for event in of_story(late)]


async def test_a_cursor_is_good_for_another_stream_of_the_ledger(ledger: Ledger) -> None:
    await ledger.write(*stories(2))
    whole = await everything(ledger.stream())
    for number in range(0, len(whole), 3):
        stream = ledger.stream()
        (first, *others) = await stream.earliest()
        cursor = cursor_in(str(Cursor("0a1b2c3d", (whole[number].place, *others))))
        assert cursor is not None
        (place, *_) = await stream.resumed(cursor)
        assert lines(await everything(stream, place)) == lines(whole[number + 1 :])
        assert len([first, *others]) == len(cursor.places)


async def test_a_cursor_of_another_ledger_or_of_what_is_lost_is_refused(ledger: Ledger) -> None:
    await ledger.write(*stories(1))
    stream = ledger.stream()
    ends = await stream.ends()
    beyond = [type(end)(end[0] + 1, end[1]) for end in ends]
    for cursor in (Cursor("ffffffff", tuple(ends)), Cursor("0a1b2c3d", (*ends, ends[0])), _at(beyond)):
        with pytest.raises(CursorRefused) as refused:
            await stream.resumed(cursor)
        assert refused.value.code == "cursor-of-another-ledger"
    assert list(await stream.resumed(_at(ends))) == list(ends)


def _at(places: Sequence[Place]) -> Cursor:
    return Cursor("0a1b2c3d", tuple(places))
