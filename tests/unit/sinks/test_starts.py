"""A sink that has nothing yet begins where it is said to, once; one that has something goes on."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from projectors.contract.envelope import structured
from projectors.contract.page import index_of
from projectors.contract.stream import Publisher
from projectors.sinks.feeding import Feeder, Start, Starting
from projectors.sinks.file import FileSink
from projectors.sinks.port import Batch
from statemachine.errors import ConfigError
from statemachine.ids import JobUid, Position
from statemachine.log.port import EntryDraft
from statemachine.log.positions import Positions
from statemachine.log.sqlite_positions import SqlitePositionRecords
from statemachine.log.store import SqliteStore
from tests.contract.lives import PUBLICATION
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.support.unindexed_log import records


class Gathering:
    """A sink that keeps the lines of what it gets, and fails if it is said to."""

    name = "pager"

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.fails = False

    async def deliver(self, batch: Batch) -> None:
        if self.fails:
            raise ConfigError("it cannot be written")
        self.lines += map(structured, batch.events)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
async def positions(tmp_path: Path) -> AsyncIterator[Positions]:
    store = await SqliteStore.open(tmp_path / "ledger.db")
    yield Positions(await SqlitePositionRecords.open(store))
    await store.close()


@pytest.fixture
async def log() -> MemoryLog:
    made = MemoryLog()
    for number in range(4):
        await more(made, number)
    return made


async def more(log: MemoryLog, number: int) -> None:
    story = Story(workers(2), uid=f"u-{number}").submit().all_pods("Running").delete()
    await log.append([EntryDraft(JobUid(story.uid), seq, body) for seq, body in enumerate(story.bodies, 1)])


async def behind(log: MemoryLog, position: Position, passed: int | None = None) -> Sequence[bytes]:
    """What the log gives behind the position, and of the entry right behind it only what is behind an event."""
    publisher = Publisher(PUBLICATION)
    return [
        structured(event)
        for record in await records(log)
        if (published := publisher.take(record)) is not None and record.position > position
        for event in published.events
        if passed is None or record.position > position + 1 or index_of(event) > passed
    ]


def at(*starts: Start) -> Starting:
    """Begins at the first of them, when it is asked again at the next, as the end of a log does."""
    left = list(starts)

    async def begin() -> Start:
        return left.pop(0)

    return begin


async def test_a_start_in_the_middle_of_an_entry_gives_the_rest_of_it(log: MemoryLog) -> None:
    events = [event for event in await behind(log, 0) if b"u-2/1/" in event]
    assert len(events) > 2, "the entry that admits the job has several"
    position = (
        next(record.position for record in await records(log) if (record.job, record.seq) == ("u-2", 1)) - 1
    )
    for passed in range(3):
        sink = Gathering()
        await Feeder(log, 0, sink, PUBLICATION, start=at(Start(position, passed))).advance()
        assert sink.lines == await behind(log, position, passed)
    assert len(await behind(log, position, 0)) < len(await behind(log, position))


async def test_where_a_name_begins_is_kept_before_anything_is_delivered(
    log: MemoryLog, positions: Positions
) -> None:
    end, sink = await log.end(), Gathering()
    await Feeder(log, 0, sink, PUBLICATION, positions=positions, start=at(Start(end))).advance()
    assert sink.lines == []
    await more(log, 4)
    later = at(Start(await log.end()))
    await Feeder(log, 0, sink, PUBLICATION, positions=positions, start=later).advance()
    assert sink.lines == await behind(log, end) != []


async def test_also_the_beginning_of_a_log_that_was_empty_is_kept(positions: Positions) -> None:
    log, sink = MemoryLog(), Gathering()
    await Feeder(log, 0, sink, PUBLICATION, positions=positions, start=at(Start())).advance()
    await more(log, 0)
    later = at(Start(await log.end()))
    await Feeder(log, 0, sink, PUBLICATION, positions=positions, start=later).advance()
    assert sink.lines == await behind(log, 0) != []


async def test_a_name_that_is_known_does_not_look_for_its_start(log: MemoryLog, positions: Positions) -> None:
    sink = Gathering()
    await Feeder(log, 0, sink, PUBLICATION, positions=positions, start=at(Start(3))).advance()
    first = list(sink.lines)
    await more(log, 4)
    await Feeder(log, 0, sink, PUBLICATION, positions=positions, start=at()).advance()
    assert [first, sink.lines] == [first, await behind(log, 3)]


async def test_a_delivery_that_fails_is_repeated_from_the_same_start(log: MemoryLog) -> None:
    sink = Gathering()
    feeder = Feeder(log, 0, sink, PUBLICATION, start=at(Start(3, 0)))
    sink.fails = True
    with pytest.raises(ConfigError):
        await feeder.advance()
    sink.fails = False
    await feeder.advance()
    assert sink.lines == await behind(log, 3, 0)


def files(folder: Path) -> FileSink:
    return FileSink.open(folder, 1, lambda _: 0)


async def test_files_that_begin_in_the_middle_go_on_behind_their_last_line(
    log: MemoryLog, tmp_path: Path
) -> None:
    for number in (4, 5):
        sink = files(tmp_path)
        await Feeder(log, 0, sink, PUBLICATION, start=at(Start(3, 0))).advance()
        await sink.close()
        await more(log, number)
    assert (tmp_path / "events-1.jsonl").read_bytes().splitlines() != await behind(log, 3, 0)
    sink = files(tmp_path)
    await Feeder(log, 0, sink, PUBLICATION).advance()
    await sink.close()
    assert (tmp_path / "events-1.jsonl").read_bytes().splitlines() == await behind(log, 3, 0)


async def test_files_that_end_before_the_start_are_refused_as_something_would_be_missing(
    log: MemoryLog, tmp_path: Path
) -> None:
    sink = files(tmp_path)
    await Feeder(log, 0, sink, PUBLICATION).advance()
    before = (tmp_path / "events-1.jsonl").read_bytes()
    end = await log.end()
    await more(log, 4)
    await sink.close()
    sink = files(tmp_path)
    with pytest.raises(
        ConfigError, match="stands before the place to begin at: what is between them would be missing"
    ):
        await Feeder(log, 0, sink, PUBLICATION, start=at(Start(await log.end() - 1))).advance()
    assert (tmp_path / "events-1.jsonl").read_bytes() == before
    await Feeder(log, 0, sink, PUBLICATION, start=at(Start(end))).advance()
    await sink.close()
    assert (tmp_path / "events-1.jsonl").read_bytes().splitlines() == await behind(log, 0)
