"""A sink that goes on in the middle of a log gets the bytes that it would have got from the beginning on."""

from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import TypeVar

import pytest

from projectors.contract.envelope import structured
from projectors.contract.page import PublicEvent
from projectors.contract.stream import Publisher
from projectors.sinks.feeding import Feeder, Start, Starting
from projectors.sinks.port import Batch
from projectors.sinks.resuming import PublicTail, beginning
from statemachine.errors import ConfigError, LogUnavailable
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.port import EntryDraft, Record
from tests.contract.lives import PUBLICATION
from tests.support.marked_log import Marked
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.support.seeds import chance
from tests.support.unindexed_log import Unindexed, records, saved

Published = Sequence[tuple[Position, bytes]]
AnyLog = TypeVar("AnyLog", bound=MemoryLog)


def stories() -> list[Story]:
    return [
        Story(workers(1 + number % 3), uid=f"u-{number}").submit().all_pods("Running").delete()
        for number in range(12)
    ]


async def grown(log: AnyLog, seed: int) -> AnyLog:
    """Lives of twelve jobs, mixed at random."""
    random, lives = chance(seed), [list(enumerate(story.bodies, 1)) for story in stories()]
    while any(lives):
        number = random.choice([number for number, life in enumerate(lives) if life])
        seq, body = lives[number].pop(0)
        await log.append([EntryDraft(JobUid(f"u-{number}"), seq, body)])
    return log


async def expected(log: MemoryLog) -> Published:
    publisher = Publisher(PUBLICATION)
    return [
        (record.position, structured(event))
        for record in await records(log)
        if (published := publisher.take(record)) is not None
        for event in published.events
    ]


async def published(tail: PublicTail) -> Published:
    return [
        (entry.position, structured(event))
        async for entry in tail.more()
        if entry is not None
        for event in entry.events
    ]


async def test_every_position_of_a_log_with_an_index_gives_the_rest_of_the_bytes() -> None:
    log = await grown(MemoryLog(), 1)
    whole = await expected(log)
    for position in range(await log.end() + 1):
        rest = await published(PublicTail(log, PUBLICATION, beginning(PUBLICATION, position)))
        assert rest == [line for line in whole if line[0] > position], position


@pytest.mark.parametrize("seed", range(8))
async def test_every_position_of_a_log_with_snapshots_gives_the_rest_of_the_bytes(seed: int) -> None:
    log = await grown(Unindexed(), seed)
    whole = await expected(log)
    end = await log.end()
    await saved(log, chance(seed).randrange(1, end + 1))
    for position in range(end + 1):
        rest = await published(PublicTail(log, PUBLICATION, beginning(PUBLICATION, position)))
        assert rest == [line for line in whole if line[0] > position], position


async def test_snapshots_that_are_old_enough_save_the_read_from_the_beginning() -> None:
    log = await grown(Unindexed(), 3)
    end = await log.end()
    await saved(log, end // 2)
    log.scans = 0
    tail = PublicTail(log, PUBLICATION, beginning(PUBLICATION, end // 2 + 5))
    assert await published(tail)
    assert log.scans == 0
    await saved(log, end)
    log.scans = 0
    await published(PublicTail(log, PUBLICATION, beginning(PUBLICATION, end // 2)))
    assert log.scans == 1


class Sunk:
    """A sink that keeps what it got, and fails as often as it is said to."""

    name = "sunk"

    def __init__(self, fails: int = 0) -> None:
        self.batches: list[Batch] = []
        self.fails = fails

    async def deliver(self, batch: Batch) -> None:
        if self.fails:
            self.fails -= 1
            raise ConfigError("it cannot be written")
        self.batches.append(batch)

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def events(self) -> list[PublicEvent]:
        return [event for batch in self.batches for event in batch.events]


def starting(start: Start) -> Starting:
    async def begin() -> Start:
        return start

    return begin


async def test_what_was_in_hand_when_delivery_failed_is_delivered_next() -> None:
    log = await grown(MemoryLog(), 4)
    sink = Sunk(fails=2)
    feeder = Feeder(log, 0, sink, PUBLICATION)
    for _ in range(2):
        with pytest.raises(ConfigError):
            await feeder.advance()
    await feeder.advance()
    assert [structured(event) for event in sink.events] == [line for _, line in await expected(log)]
    assert feeder.reached == await log.end()


async def test_marks_of_transactions_alone_are_passed_and_not_delivered() -> None:
    log = await grown(Marked(), 5)
    sink = Sunk()
    feeder = Feeder(log, 0, sink, PUBLICATION)
    await feeder.advance()
    delivered = len(sink.batches)
    log.marks = 3
    await feeder.advance()
    assert (feeder.reached, len(sink.batches)) == (await log.end(), delivered)
    heir = Feeder(log, 0, sink, PUBLICATION, start=starting(Start(sink.batches[-1].upto.position)))
    await heir.advance()
    assert (heir.reached, len(sink.batches)) == (await log.end(), delivered)


async def test_a_position_behind_the_end_of_the_log_is_one_of_another_log() -> None:
    with pytest.raises(ConfigError, match="it was fed from another log"):
        await Feeder(MemoryLog(), 0, Sunk(), PUBLICATION, start=starting(Start(7))).advance()


# ---- jobs that are held ------------------------------------------------------------------------------------------


async def test_a_held_job_is_published_by_a_release_that_can_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first release cannot read an entry's cause; the next one can, and the job's order is kept."""
    from projectors.contract import stream
    from statemachine.log.codec import decode_events
    from statemachine.log.entry import Entry, EntryEvents
    from statemachine.log.life import decode_most

    log = await grown(MemoryLog(), 5)
    whole = await expected(log)
    stranger = [record for record in await records(log) if record.job == "u-3"][1]

    def older(body: bytes) -> Entry | EntryEvents:
        if body == stranger.body:
            return decode_events(body)
        return decode_most(body)

    first = Sunk()
    with monkeypatch.context() as patch:
        patch.setattr(stream, "decode_most", older)
        await Feeder(log, 0, first, PUBLICATION).advance()
    at = first.batches[-1].upto
    assert at.held == {"u-3": 2}

    tail = PublicTail(log, PUBLICATION, at)
    rest = await published(tail)
    got = [(0, structured(event)) for event in first.events] + list(rest)
    assert sorted(line for _, line in got) == sorted(line for _, line in whole)
    of_job = [line for _, line in got if b'"partitionkey":"u-3"' in line]
    assert of_job == [line for _, line in whole if b'"partitionkey":"u-3"' in line]
    assert tail.upto.held == {}


async def test_a_release_of_held_jobs_that_was_cut_off_goes_on_where_it_was() -> None:
    log = await grown(MemoryLog(), 6)
    whole = [line for _, line in await expected(log) if b'"partitionkey":"u-3"' in line]
    at = beginning(PUBLICATION, await log.end())._replace(held={JobUid("u-3"): 1})
    got: list[bytes] = []
    starts = 0
    while at.held:
        tail = PublicTail(log, PUBLICATION, at)
        starts += 1
        async for entry in tail.more():
            got += [structured(event) for event in (entry.events if entry is not None else ())]
            at = tail.upto
            break
    assert got == whole
    assert starts > 3


async def test_a_log_that_goes_away_half_way_is_read_on_later() -> None:
    class Away(MemoryLog):
        is_away = True

        async def scan(
            self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
        ) -> AsyncIterator[Sequence[Record]]:
            async for batch in super().scan(after, job=job, after_seq=after_seq):
                yield batch[:20] if self.is_away else batch
                if self.is_away:
                    raise LogUnavailable("away")

    log = Away()
    await grown(log, 7)
    sink = Sunk()
    feeder = Feeder(log, 0, sink, PUBLICATION)
    with pytest.raises(LogUnavailable):
        await feeder.advance()
    log.is_away = False
    await feeder.advance()
    got = [event.attributes["id"] for event in sink.events]
    assert len(got) == len(set(got)) == len(await expected(log))
    assert all(len(list(batches)) == 1 for _, batches in groupby(sink.batches, key=lambda batch: batch.upto))
