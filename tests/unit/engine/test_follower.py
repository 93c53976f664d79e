"""A process that does not decide: its states are those of the log, and what it notices reaches the inbox."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from statemachine.engine.follower import Follower
from statemachine.errors import LogUnavailable
from statemachine.ids import Position
from statemachine.log.codec import decode_observation
from statemachine.log.inbox import MemoryInbox
from statemachine.log.port import NewRecords, Record
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from tests.support.logs import JOB, OTHER, history
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.support.simulated import run_simulated


class FullInbox(MemoryInbox):
    """Takes nothing while it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.tries = 0

    async def put(self, observations: Sequence[Observation]) -> None:
        self.tries += 1
        if self.full:
            raise LogUnavailable("no space is left")
        await super().put(observations)


class CountingLog(MemoryLog):
    """Counts how often it is asked for its end."""

    ends = 0

    async def end(self) -> Position:
        self.ends += 1
        await asyncio.sleep(0.001)
        return await super().end()


class FarLog(MemoryLog):
    """Cannot be read while it is away."""

    away = False

    async def scan(self, *where: object, **which: object) -> AsyncIterator[Sequence[Record]]:
        if self.away:
            raise LogUnavailable("the log does not answer")
        async for batch in super().scan(*where, **which):  # type: ignore[arg-type]
            yield batch


@asynccontextmanager
async def following(log: MemoryLog, inbox: MemoryInbox | None = None) -> AsyncIterator[Follower]:
    follower = Follower([(log, Reader())], inbox or MemoryInbox())
    await follower.start()
    running = asyncio.create_task(follower.run())
    yield follower
    running.cancel()
    await asyncio.wait([running])


def observed(number: int) -> Observation:
    return Story(workers(1), uid=f"u-{number}").submit().entries[0].cause


def simulated(coroutine: object) -> None:
    run_simulated(coroutine, 1)  # type: ignore[arg-type]


def test_what_is_in_the_log_at_the_start_is_known_and_what_comes_later_is_announced() -> None:
    async def story() -> None:
        log, entries = MemoryLog(), []
        await log.append(history(3))
        reader = Reader()
        follower = Follower([(log, reader)], MemoryInbox())
        follower.listeners.append(lambda folded: entries.append((folded.record.job, folded.record.seq)))
        await follower.start()
        assert reader.tracked(JOB).seq == 3
        running = asyncio.create_task(follower.run())
        await log.append(history(2, OTHER))
        await asyncio.sleep(0.05)
        assert entries == [(OTHER, 1), (OTHER, 2)]
        running.cancel()

    simulated(story())


def test_a_follower_does_not_collect_what_the_engine_has_to_save() -> None:
    async def story() -> None:
        log, reader = MemoryLog(), Reader()
        await log.append(history(3))
        follower = Follower([(log, reader)], MemoryInbox())
        await follower.start()
        assert reader.unsaved() == ()
        running = asyncio.create_task(follower.run())
        await log.append(history(2, OTHER))
        await asyncio.sleep(0.05)
        assert (reader.tracked(OTHER).seq, reader.unsaved()) == (2, ())
        running.cancel()

    simulated(story())


def test_news_is_read_within_fifty_milliseconds_however_long_it_was_quiet() -> None:
    async def story() -> None:
        log = MemoryLog()
        async with following(log) as follower:
            event = asyncio.Event()
            follower.listeners.append(lambda _: event.set())
            for quiet in (0.1, 1.0, 60.0):
                await asyncio.sleep(quiet)
                event.clear()
                await log.append(
                    history(1, OTHER) if quiet == 1.0 else history(1) if quiet < 1 else history(2)[1:]
                )
                async with asyncio.timeout(0.051):
                    await event.wait()

    simulated(story())


def test_what_is_known_to_be_in_a_log_and_was_not_read_yet_is_counted_for_each() -> None:
    class Ahead(MemoryLog):
        async def follow(self, after: Position = 0) -> AsyncIterator[NewRecords]:
            for behind in (5, 3, 0):
                yield NewRecords((), after, behind)
                await asyncio.sleep(1)

    async def story() -> None:
        follower = Follower([(MemoryLog(), Reader()), (Ahead(), Reader())], MemoryInbox())
        assert follower.unread == {0: 0, 1: 0}
        running = asyncio.create_task(follower.run())
        await asyncio.sleep(0.5)
        assert follower.unread == {0: 0, 1: 5}
        await asyncio.sleep(1)
        assert follower.unread == {0: 0, 1: 3}
        await asyncio.sleep(1)
        assert follower.unread == {0: 0, 1: 0}
        running.cancel()

    simulated(story())


def test_what_is_observed_is_put_into_the_inbox_in_order() -> None:
    async def story() -> None:
        inbox = MemoryInbox()
        async with following(MemoryLog(), inbox) as follower:
            for number in range(600):
                await follower.observe(observed(number))
            await follower.finish()
            posts = (await inbox.take(1000)).posts
            assert [decode_observation(post.body) for post in posts] == [
                observed(number) for number in range(600)
            ]

    simulated(story())


def test_an_inbox_that_takes_nothing_is_tried_again_and_nothing_is_lost() -> None:
    async def story() -> None:
        inbox = FullInbox()
        inbox.full = True
        async with following(MemoryLog(), inbox) as follower:
            await follower.observe(observed(1))
            await asyncio.sleep(1.0)
            assert inbox.tries >= 3
            assert follower.log_error == "no space is left"
            assert follower.pulses()["outbox"].busy
            before = follower.pulses()["outbox"].beats
            await follower.observe(observed(2))
            inbox.full = False
            await asyncio.sleep(1.0)
            assert [decode_observation(post.body) for post in (await inbox.take(9)).posts] == [
                observed(1),
                observed(2),
            ]
            assert follower.log_error == ""
            assert follower.pulses()["outbox"].beats > before

    simulated(story())


def test_a_log_that_cannot_be_read_is_read_on_from_where_it_was() -> None:
    async def story() -> None:
        log, seqs = FarLog(), []
        async with following(log) as follower:
            follower.listeners.append(lambda folded: seqs.append(folded.record.seq))
            await log.append(history(2))
            await asyncio.sleep(0.1)
            log.away = True
            await log.append(history(4)[2:])
            await asyncio.sleep(1.0)
            assert follower.log_error == "the log does not answer"
            log.away = False
            await asyncio.sleep(1.0)
            assert (seqs, follower.log_error) == ([1, 2, 3, 4], "")

    simulated(story())


def test_finishing_waits_for_nothing_that_cannot_be_had() -> None:
    async def story() -> None:
        inbox = FullInbox()
        inbox.full = True
        async with following(MemoryLog(), inbox) as follower:
            await follower.observe(observed(1))
            await asyncio.sleep(0.5)
            async with asyncio.timeout(0.01):
                await follower.finish()

    simulated(story())


def test_a_follower_writes_nothing_into_the_log() -> None:
    async def story() -> None:
        log = MemoryLog()
        async with following(log) as follower:
            await follower.observe(observed(1))
            await asyncio.sleep(1.0)
        await follower.save()
        assert await log.end() == 0
        assert await log.snapshots() == (0, [])

    simulated(story())


def test_fresh_is_what_holds_all_that_was_in_the_log_when_it_was_asked() -> None:
    async def story() -> None:
        log = CountingLog()
        async with following(log) as follower:
            await log.append(history(3))
            seqs = []
            follower.listeners.append(lambda folded: seqs.append(folded.record.seq))
            await asyncio.gather(*[follower.fresh(JOB) for _ in range(5)])
            assert seqs == [1, 2, 3]
            await follower.fresh(JOB)
            assert log.ends == 2, "those who asked together did not share a look"

    simulated(story())


def test_nothing_is_fresh_while_the_log_cannot_be_read() -> None:
    async def story() -> None:
        log = FarLog()
        async with following(log) as follower:
            await log.append(history(3))
            log.away = True
            with pytest.raises(LogUnavailable, match="does not answer"):
                await follower.fresh(JOB)
            log.away = False
            await asyncio.sleep(0.5)
            await follower.fresh(JOB)

    simulated(story())


def test_fresh_looks_anew_whenever_it_is_asked_anew() -> None:
    async def story() -> None:
        log = MemoryLog()
        async with following(log) as follower:
            reader = follower._reads[0].reader
            for number in (1, 2, 3):
                await asyncio.sleep(1)
                await log.append(history(3)[number - 1 : number])
                await follower.fresh(JOB)
                assert reader.tracked(JOB).seq == number

    simulated(story())


def test_a_record_that_is_not_accepted_is_reported_to_who_has_to_pass_it() -> None:
    async def story() -> None:
        log, calls = MemoryLog(), []
        async with following(log) as follower:
            follower.refused_listeners.append(lambda: calls.append("refused"))
            follower.listeners.append(lambda _: calls.append("accepted"))
            await log.append([*history(2), *history(5)[4:], *history(1, OTHER)])
            await follower.fresh(JOB)
        assert calls == ["accepted", "accepted", "refused", "accepted"]

    simulated(story())
