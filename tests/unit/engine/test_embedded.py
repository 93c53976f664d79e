"""The engine of a log in one process: what it does while the log is away, what it saves, and how much at a time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from statemachine.engine import decisions, embedded
from statemachine.engine.embedded import Engine
from statemachine.engine.step import Owner
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.port import EntryDraft, Record, Snapshot
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from statemachine.phases import Phase
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, UID, Story, workers
from tests.support.simulated import LoopClock, on_simulated_time

SUBMITTED = Story(workers(1)).submit().entries[0].cause


class Log(MemoryLog):
    """Takes nothing while it `is_down`; says how large appends were, and how often states were saved."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = self.is_unreadable = False
        self.sizes: list[int] = []
        self.saves = 0

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        self._refuse()
        self.sizes.append(len(drafts))
        return await super().append(drafts)

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        self._refuse()
        self.saves += 1
        await super().save_snapshots(position, snapshots, source)

    async def end(self) -> Position:
        if self.is_unreadable:
            raise LogUnavailable("the disk does not answer")
        return await super().end()

    def _refuse(self) -> None:
        if self.is_down:
            raise LogUnavailable("the disk is full")


def of_job(name: str) -> Observation:
    """A job is there."""
    return SUBMITTED.changed(job=JobUid(name))


@asynccontextmanager
async def running(log: Log) -> AsyncIterator[tuple[Engine, Reader]]:
    reader, clock = Reader(), LoopClock(START)
    engine = Engine(log, Owner(log, reader, clock), clock)
    await engine.start()
    task = asyncio.create_task(engine.run())
    try:
        yield engine, reader
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@on_simulated_time
async def test_what_is_observed_while_the_log_is_away_is_decided_when_it_is_back() -> None:
    log = Log()
    log.is_down = True
    async with running(log) as (engine, reader):
        await engine.observe(of_job("a"))
        await asyncio.sleep(5)
        assert (engine.log_error, await log.end()) == ("the disk is full", 0)
        log.is_down = False
        await asyncio.sleep(1)
        assert (engine.log_error, await log.end()) == ("", 1)
        assert reader.tracked(JobUid("a")).state.phase is Phase.PENDING


@on_simulated_time
async def test_nobody_who_ends_waits_for_a_log_that_is_away() -> None:
    log = Log()
    log.is_down = True
    async with running(log) as (engine, _):
        await engine.observe(of_job("a"))
        await asyncio.sleep(1)
        async with asyncio.timeout(1):
            await engine.finish()


@on_simulated_time
async def test_who_ends_waits_for_what_was_observed() -> None:
    log = Log()
    async with running(log) as (engine, _):
        await engine.observe(of_job("a"))
        await engine.finish()
        assert await log.end() == 1


@on_simulated_time
async def test_timers_that_the_log_knows_of_are_set_at_the_start() -> None:
    story, log = Story(workers(1, runPolicy={"activeDeadlineSeconds": 40})).submit(), Log()
    await log.append([EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)])
    async with running(log) as (_, reader):
        await asyncio.sleep(39)
        assert not reader.tracked(UID).state.is_final
        await asyncio.sleep(2)
        assert reader.tracked(UID).state.phase is Phase.FAILED


@on_simulated_time
async def test_what_an_owner_wrote_that_was_believed_dead_is_read_though_nothing_is_observed() -> None:
    """Seed 6334 (-k kubeflow): the entry set a timer, and only its writer, which died, knew of it."""
    story, log = Story(workers(1, runPolicy={"activeDeadlineSeconds": 40})).submit(), Log()
    async with running(log) as (younger, reader):
        phases: list[Phase] = []
        younger.listeners.append(lambda folded: phases.append(folded.state.phase))
        await log.append([EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)])
        await asyncio.sleep(31)
        assert phases == [Phase.PENDING]
        await asyncio.sleep(10)
        assert reader.tracked(UID).state.phase is Phase.FAILED


@on_simulated_time
async def test_so_is_what_was_written_while_the_log_could_not_be_read() -> None:
    story, log = Story(workers(1)).submit(), Log()
    async with running(log) as (_, reader):
        await log.append([EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)])
        log.is_unreadable = True
        await asyncio.sleep(31)
        assert reader.position == 0
        log.is_unreadable = False
        await asyncio.sleep(30)
        assert reader.position == len(story.bodies)


@on_simulated_time
async def test_an_observation_that_was_withdrawn_before_it_got_into_the_queue_is_not_waited_for() -> None:
    log, reader, clock = Log(), Reader(), LoopClock(START)
    engine = Engine(log, Owner(log, reader, clock), clock)  # that does not run, so its queue gets full
    for _ in range(embedded._QUEUE):
        await engine.observe(of_job("a"))
    late = asyncio.create_task(engine.observe(of_job("b")))
    await asyncio.sleep(0)
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    async with asyncio.timeout(1):
        await engine.fresh(JobUid("b"))


@on_simulated_time
async def test_a_crowd_is_decided_in_batches_of_bounded_size() -> None:
    log = Log()
    async with running(log) as (engine, _):
        for number in range(600):
            await engine.observe(of_job(f"u-{number}"))
        await engine.finish()
        assert log.sizes == [256, 256, 88]


def test_states_are_saved_whenever_so_many_entries_were_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "_SNAPSHOT_EVERY", 5)

    @on_simulated_time
    async def whole() -> None:
        log = Log()
        async with running(log) as (engine, _):
            for number in range(13):
                await engine.observe(of_job(f"u-{number}"))
                await engine.finish()
            assert log.saves == 2

    whole()


@on_simulated_time
async def test_states_that_the_log_did_not_take_are_saved_the_next_time() -> None:
    log = Log()
    async with running(log) as (engine, _):
        await engine.observe(of_job("a"))
        await engine.finish()
        log.is_down = True
        await engine.save()
        log.is_down = False
        await engine.save()
        _, snapshots = await log.snapshots()
        assert [snapshot.job for snapshot in snapshots] == ["a"]
