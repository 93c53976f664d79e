"""What every PublicStream has to do, on every adapter: the sentences of `publishing/public_stream.py`, one by one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from jobledger.publishing import projected, stretches
from jobledger.publishing.cursors import LogPlace
from jobledger.publishing.projected import Naming, ProjectedStream
from jobledger.publishing.public_stream import PlacedEvent, PublicStream
from projectors.contract.envelope import structured
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft, EventLog
from statemachine.log.sqlite import SqliteLog
from tests.contract.lives import PUBLICATION
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


@pytest.fixture(params=["memory", "sqlite", pytest.param("kafka", marks=pytest.mark.integration)])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventLog]:
    match request.param:
        case "memory":
            made: EventLog = MemoryLog()
        case "sqlite":
            made = await SqliteLog.open(tmp_path / "store.db")
        case _:
            made = await KafkaLog.open(request.getfixturevalue("ledger_topics"), 1)
    yield made
    await made.close()


def stream_of(*logs: EventLog, bells: Bells | None = None) -> PublicStream:
    async def named() -> Naming:
        return Naming(ID, PUBLICATION)

    return ProjectedStream(Partitions(logs), named, (bells or Bells()).listening)


def stories(count: int = 3) -> list[Story]:
    return [
        Story(workers(2), name=f"job-{number}", uid=f"aaaa-{number:04}").submit().all_pods("Running")
        for number in range(count)
    ]


async def write(log: EventLog, *written: Story) -> None:
    """Their entries, one of each job after the other."""
    longest = max(len(story.bodies) for story in written)
    for seq in range(1, longest + 1):
        await log.append(
            [
                EntryDraft(story.uid, seq, story.bodies[seq - 1])
                for story in written
                if len(story.bodies) >= seq
            ]
        )


async def everything(stream: PublicStream, after: LogPlace) -> list[PlacedEvent]:
    events: list[PlacedEvent] = []
    while not (portion := await stream.read(0, after)).at_end:
        events += portion.events
        after = portion.place
    return events


def lines(events: Sequence[PlacedEvent]) -> list[bytes]:
    return [placed.line for placed in events]


def recorded(placed: PlacedEvent) -> str:
    return str(placed.event.attributes["recordedtime"])


async def test_from_the_earliest_place_on_it_gives_all_events_in_log_order(log: EventLog) -> None:
    written = stories()
    await write(log, *written)
    stream = stream_of(log)
    given = await everything(stream, (await stream.earliest())[0])
    expected = {structured(event) for story in written for event in of_story(story)}
    assert len(given) == len(expected)
    assert set(lines(given)) == expected
    for story in written:
        of_job = [placed.line for placed in given if placed.event.attributes["partitionkey"] == story.uid]
        assert of_job == [structured(event) for event in of_story(story)]


async def test_from_every_place_on_it_gives_the_rest(log: EventLog) -> None:
    await write(log, *stories())
    stream = stream_of(log)
    whole = await everything(stream, LogPlace())
    for number, placed in enumerate(whole, 1):
        assert lines(await everything(stream_of(log), placed.place)) == lines(whole[number:])
        assert lines(await everything(stream, placed.place)) == lines(whole[number:])


async def test_at_the_end_there_is_nothing_until_the_log_grows(log: EventLog) -> None:
    old, new = stories(2)
    await write(log, old)
    stream = stream_of(log)
    (end,) = await stream.ends()
    portion = await stream.read(0, end)
    assert (portion.events, portion.place, portion.at_end) == ((), end, True)
    await write(log, new)
    assert lines(await everything(stream, end)) == [structured(event) for event in of_story(new)]


async def test_many_readers_at_once_get_the_same(log: EventLog) -> None:
    await write(log, *stories(10))
    stream = stream_of(log)
    whole = lines(await everything(stream_of(log), LogPlace()))
    given = await asyncio.gather(*(everything(stream, LogPlace()) for _ in range(8)))
    assert all(lines(events) == whole for events in given)


async def test_with_little_memory_slow_and_quick_readers_get_the_same(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projected, "_BUDGET", 1)
    monkeypatch.setattr(stretches, "_AT_ONCE", 2)
    await write(log, *stories(6))
    stream = stream_of(log)
    whole = await everything(stream_of(log), LogPlace())
    for number in (0, 3, len(whole) // 2, 5):
        assert lines(await everything(stream, whole[number].place)) == lines(whole[number + 1 :])
    slow: list[PlacedEvent] = []
    after = LogPlace()
    while not (portion := await stream.read(0, after)).at_end:
        slow += portion.events
        after = portion.place
        await everything(stream, LogPlace())
    assert lines(slow) == lines(whole)


async def test_a_reader_who_leaves_costs_the_others_nothing(log: EventLog) -> None:
    await write(log, *stories(10))
    stream = stream_of(log)
    whole = lines(await everything(stream_of(log), LogPlace()))
    for waited in range(6):
        leaving = asyncio.ensure_future(everything(stream, LogPlace()))
        for _ in range(waited):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert lines(await everything(stream, LogPlace())) == whole


async def test_since_a_time_it_gives_what_was_recorded_then_or_later(log: EventLog) -> None:
    early = Story(workers(1), uid="aaaa-1111").submit()
    late = Story(workers(1), uid="bbbb-2222").at(60).submit().at(90).all_pods("Running")
    await write(log, early)
    await write(log, late)
    stream = stream_of(log)
    whole = await everything(stream, LogPlace())
    for at in {recorded(placed) for placed in whole}:
        (place,) = await stream.since(datetime.fromisoformat(at))
        expected = [placed.line for placed in whole if recorded(placed) >= at]
        assert lines(await everything(stream, place)) == expected
    (late_place,) = await stream.since(datetime.fromisoformat("2099-01-01T00:00:00Z"))
    assert await everything(stream, late_place) == []


async def test_its_ledger_is_the_beginning_of_the_id(log: EventLog) -> None:
    assert await stream_of(log).ledger() == "0a1b2c3d"


async def test_it_says_that_it_grows(log: EventLog) -> None:
    bells = Bells()
    with stream_of(log, bells=bells).growing() as grown:
        assert not grown.is_set()
        for listener in bells.listeners:
            listener(object())
        assert grown.is_set()
    assert not bells.listeners
