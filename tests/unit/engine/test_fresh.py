"""`fresh` of the engine: what was observed before it was asked is in the log when it answers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from statemachine.engine.clock import WallClock
from statemachine.engine.embedded import Engine
from statemachine.engine.step import Delivery, Owner
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid
from statemachine.log.port import EntryDraft, Record
from statemachine.log.reader import Reader
from tests.support.memory_log import MemoryLog
from tests.support.scenario import UID, Story, workers

JOB = JobUid(UID)


class SlowLog(MemoryLog):
    """A log whose entries are in it long before their writer learns of it; or that cannot be written."""

    def __init__(self) -> None:
        super().__init__()
        self.answers, self.written, self.is_down = asyncio.Event(), asyncio.Event(), False

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        if self.is_down:
            self.written.set()
            raise LogUnavailable("the log does not answer")
        records = await super().append(drafts)
        self.written.set()
        await self.answers.wait()
        return records


@asynccontextmanager
async def engine(log: SlowLog) -> AsyncIterator[tuple[Engine, Reader]]:
    reader = Reader()
    engine = Engine(log, Owner(log, reader, WallClock()), WallClock())
    await engine.start()
    running = asyncio.create_task(engine.run())
    yield engine, reader
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def observed_first() -> Story:
    return Story(workers(1)).submit()


async def test_an_entry_on_its_way_into_the_log_is_waited_for() -> None:
    log = SlowLog()
    async with engine(log) as (deciding, reader):
        await deciding.observe(observed_first().entries[0].cause)
        await log.written.wait()
        asked = asyncio.create_task(deciding.fresh(JOB))
        await asyncio.sleep(0)
        assert not asked.done()
        log.answers.set()
        await asked
        assert reader.tracked(JOB).seq == 1


async def test_so_is_one_that_came_out_of_an_inbox() -> None:
    log = SlowLog()
    async with engine(log) as (deciding, reader):
        drained = asyncio.create_task(deciding.decided([Delivery(observed_first().entries[0].cause)]))
        await log.written.wait()
        asked = asyncio.create_task(deciding.fresh(JOB))
        await asyncio.sleep(0)
        assert not asked.done()
        log.answers.set()
        await asked
        assert reader.tracked(JOB).seq == 1
        assert await drained


async def test_of_what_nothing_was_observed_nothing_is_waited_for() -> None:
    log = SlowLog()
    async with engine(log) as (deciding, _):
        await deciding.observe(observed_first().entries[0].cause)
        await log.written.wait()
        await deciding.fresh(JobUid("another"))


@pytest.mark.parametrize("before", [True, False], ids=["asked while it is down", "down while it is asked"])
async def test_while_the_log_cannot_be_written_nobody_waits(before: bool) -> None:
    log = SlowLog()
    log.is_down = before
    async with engine(log) as (deciding, _):
        await deciding.observe(observed_first().entries[0].cause)
        if before:
            await log.written.wait()
        log.is_down = True
        with pytest.raises(LogUnavailable):
            await deciding.fresh(JOB)


async def test_entries_that_another_process_wrote_are_read_before_the_answer() -> None:
    """Seed 1100: a controller that was believed dead deleted the pods that its successor had asked for."""
    log = SlowLog()
    log.answers.set()
    async with engine(log) as (believed_dead, reader), engine(log) as (successor, _):
        uids: list[JobUid] = []
        believed_dead.listeners.append(lambda folded: uids.append(folded.record.job))
        await successor.observe(observed_first().entries[0].cause)
        await successor.fresh(JOB)
        assert reader.tracked(JOB).seq == 0
        await believed_dead.fresh(JOB)
        assert reader.tracked(JOB).seq == 1
        assert uids == [JOB]
