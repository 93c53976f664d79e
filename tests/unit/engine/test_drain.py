"""From the inbox into the log: acknowledged when it is durable, and what cannot be read is kept as a dead letter."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from statemachine.engine.drain import Drain
from statemachine.engine.embedded import Engine
from statemachine.engine.step import Owner
from statemachine.errors import LogUnavailable
from statemachine.log.inbox import Inbox, MemoryInbox, Post, Taken
from statemachine.log.port import EntryDraft, Record
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from tests.support.logs import JOB, records
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock, run_simulated


class FullLog(MemoryLog):
    """Takes nothing while it is full."""

    full = False

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        if self.full:
            raise LogUnavailable("no space is left")
        return await super().append(drafts)


class Illegible(MemoryInbox):
    """What is in it is not always an observation."""

    def scribble(self, body: bytes) -> None:
        self._posts.append(Post(JOB, body))


def drain(inbox: Inbox, log: MemoryLog) -> Drain:
    clock = LoopClock(START)
    return Drain(inbox, Engine(log, Owner(log, Reader(), clock), clock), log, clock)


@asynccontextmanager
async def draining(inbox: Inbox, log: MemoryLog) -> AsyncIterator[Drain]:
    made = drain(inbox, log)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.wait([running])


def observed(*numbers: int) -> list[Observation]:
    return [Story(workers(1), uid=f"u-{number}").submit().entries[0].cause for number in numbers]


def simulated(coroutine: object) -> None:
    run_simulated(coroutine, 1)  # type: ignore[arg-type]


async def jobs(log: MemoryLog) -> list[str]:
    return [record.job for record in await records(log)]


def test_what_is_put_is_decided_soon_and_leaves_the_inbox() -> None:
    async def story() -> None:
        inbox, log = MemoryInbox(), MemoryLog()
        async with draining(inbox, log):
            await asyncio.sleep(60.0)
            await inbox.put(observed(1, 2))
            await asyncio.sleep(0.051)
            assert await jobs(log) == ["u-1", "u-2"]
            assert await inbox.waiting() == 0

    simulated(story())


def test_nothing_leaves_the_inbox_before_the_log_has_taken_it() -> None:
    async def story() -> None:
        inbox, log = MemoryInbox(), FullLog()
        log.full = True
        await inbox.put(observed(1))
        async with draining(inbox, log) as drain:
            await asyncio.sleep(5.0)
            assert await inbox.waiting() == 1
            before = drain.pulse().beats
            await asyncio.sleep(5.0)
            assert drain.pulse().beats > before, "trying again is progress: a restart would not help"
            log.full = False
            await asyncio.sleep(1.0)
            assert (await jobs(log), await inbox.waiting()) == (["u-1"], 0)

    simulated(story())


def test_a_repeat_after_a_crash_between_deciding_and_acknowledging_changes_nothing() -> None:
    class Dies(MemoryInbox):
        lives = False

        async def ack(self, token: int) -> None:
            if not self.lives:
                raise asyncio.CancelledError
            await super().ack(token)

    async def story() -> None:
        inbox, log = Dies(), MemoryLog()
        await inbox.put(observed(1))
        running = asyncio.create_task(drain(inbox, log).run())
        await asyncio.wait([running])
        assert (await jobs(log), await inbox.waiting()) == (["u-1"], 1)
        inbox.lives = True
        next_engine = drain(inbox, log)
        await next_engine._engine.start()
        await next_engine.empty()
        assert (await jobs(log), await inbox.waiting()) == (["u-1"], 0)

    simulated(story())


def test_what_cannot_be_read_is_a_dead_letter_and_holds_nothing_up() -> None:
    async def story() -> None:
        inbox, log = Illegible(), MemoryLog()
        await inbox.put(observed(1))
        inbox.scribble(b'{"type":"FromTheFuture","job":"x"}')
        inbox.scribble(b"\xff")
        await inbox.put(observed(2))
        async with draining(inbox, log):
            await asyncio.sleep(1.0)
        letters = await log.dead_letters()
        assert [letter.observation for letter in letters] == [b'{"type":"FromTheFuture","job":"x"}', b"\xff"]
        assert {letter.job for letter in letters} == {JOB}
        assert (await jobs(log), await inbox.waiting()) == (["u-1", "u-2"], 0)

    simulated(story())


def test_more_than_a_batch_is_drained_without_a_pause() -> None:
    async def story() -> None:
        inbox, log = MemoryInbox(), MemoryLog()
        await inbox.put(observed(*range(1000)))
        async with draining(inbox, log):
            await asyncio.sleep(0.001)
            assert await inbox.waiting() == 0

    simulated(story())


def test_an_inbox_out_of_reach_is_looked_at_again() -> None:
    class Away(MemoryInbox):
        away = True

        async def take(self, limit: int) -> Taken:
            if self.away:
                raise LogUnavailable("the store is locked")
            return await super().take(limit)

    async def story() -> None:
        inbox, log = Away(), MemoryLog()
        await inbox.put(observed(1))
        async with draining(inbox, log):
            await asyncio.sleep(3.0)
            inbox.away = False
            await asyncio.sleep(1.0)
        assert await jobs(log) == ["u-1"]

    simulated(story())
