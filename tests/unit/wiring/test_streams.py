"""Stream projectors of partitions that come and go."""

import asyncio
from functools import partial

from jobledger.wiring.roles import Role
from jobledger.wiring.streams import Followed, Streams
from projectors.leisure import Patience, Rush
from statemachine.engine.clock import WallClock
from statemachine.errors import JobledgerError, LogUnavailable, ViewUnavailable
from statemachine.log.partitions import Partitions
from statemachine.log.reader import Reader
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.simulated import run_simulated


class View:
    """Counts what is asked of it."""

    name = "view"

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def advance(self) -> None:
        self.calls.append("advance")

    def forget(self) -> None:
        self.calls.append("forget")


class Growing:
    """A log that is seven entries long, at first."""

    end = 7


def test_a_view_is_brought_on_while_it_is_ours_and_forgotten_when_it_is_somebody_elses() -> None:
    async def story() -> None:
        view, mine = View(), {"is": False}
        views = Streams([Followed(view, lambda: 7, lambda: mine["is"])])
        loops = [asyncio.create_task(loop) for _, loop in views.loops()]
        await asyncio.sleep(0)
        assert view.calls == ["forget"]
        assert views.lags() == {}
        mine["is"] = True
        views.shared()
        await asyncio.sleep(0)
        assert view.calls == ["forget", "advance"]
        assert views.lags() == {"view": 0}
        mine["is"] = False
        views.shared()
        await asyncio.sleep(0)
        assert view.calls == ["forget", "advance", "forget"]
        for loop in loops:
            loop.cancel()

    run_simulated(story(), 1)


def test_a_log_that_grows_while_a_view_is_brought_on_is_read_once_more() -> None:
    class Slow(View):
        async def advance(self) -> None:
            await super().advance()
            await asyncio.sleep(1)

    async def story() -> None:
        view = Slow()
        views = Streams([Followed(view, lambda: 7, lambda: True)])
        loops = [asyncio.create_task(loop) for _, loop in views.loops()]
        await asyncio.sleep(0.5)
        views.grown()
        await asyncio.sleep(10)
        assert view.calls == ["advance", "advance"]
        for loop in loops:
            loop.cancel()

    run_simulated(story(), 1)


def test_only_the_view_whose_log_has_grown_is_brought_on_and_every_one_is_looked_at_now_and_then() -> None:
    async def story() -> None:
        grows, rests, log = View(), View(), Growing()
        views = Streams(
            [Followed(grows, lambda: log.end, lambda: True), Followed(rests, lambda: 7, lambda: True)]
        )
        loops = [asyncio.create_task(loop) for _, loop in views.loops()]
        await asyncio.sleep(1)
        log.end += 1
        views.grown()
        await asyncio.sleep(1)
        assert (len(grows.calls), len(rests.calls)) == (2, 1)
        views.grown()
        await asyncio.sleep(1)
        assert (len(grows.calls), len(rests.calls)) == (2, 1)
        await asyncio.sleep(30)
        assert (len(grows.calls), len(rests.calls)) == (3, 2), "a database may have been put back"
        for loop in loops:
            loop.cancel()

    run_simulated(story(), 1)


def test_a_view_that_nobody_waits_for_goes_on_at_its_pace_and_catches_up_at_once() -> None:
    async def story() -> None:
        view, mine, rush, log = View(), {"is": True}, Rush(), Growing()
        pace = partial(rush.over, Patience(10, crowded=10))
        views = Streams([Followed(view, lambda: log.end, lambda: mine["is"], pace)])
        rush.write()
        loops = [asyncio.create_task(loop) for _, loop in views.loops()]
        await asyncio.sleep(0.9)
        assert view.calls == []
        await views.catch_up()
        assert view.calls == ["advance"]
        await asyncio.sleep(0.2)
        assert view.calls == ["advance", "advance"]
        rush.write()
        log.end += 1
        views.grown()
        await asyncio.sleep(0.5)
        mine["is"] = False
        await asyncio.sleep(10)
        assert view.calls == ["advance", "advance", "forget"], "it became another's while it waited"
        rush.write()
        views.shared()
        await asyncio.sleep(0)
        assert view.calls[3:] == ["forget"], "what is another's is not waited for"
        for loop in loops:
            loop.cancel()

    run_simulated(story(), 1)


def test_who_only_catches_up_does_not_wait_for_a_database_but_for_a_log() -> None:
    class Away(View):
        def __init__(self, *errors: JobledgerError) -> None:
            super().__init__()
            self.errors = list(errors)

        async def advance(self) -> None:
            await super().advance()
            if self.errors:
                raise self.errors.pop(0)

    async def story() -> None:
        database = Away(*[ViewUnavailable("the database is away")] * 1000)
        log = Away(*[LogUnavailable("the log is away")] * 3)
        views = Streams([Followed(store, lambda: 7, lambda: True) for store in (database, log)])
        async with asyncio.timeout(60):
            await views.catch_up()
        assert (len(database.calls), len(log.calls)) == (1, 4)

    run_simulated(story(), 1)


async def test_a_view_that_goes_on_beside_a_reader_is_given_the_one_of_its_partition() -> None:
    class Beside(View):
        reader: Reader | None = None

        def stand_beside(self, reader: Reader) -> None:
            self.reader = reader

    views = [Beside(), Beside()]
    partitions = Partitions([MemoryLog(), MemoryLog()])
    controller_of(
        partitions,
        MemoryCluster(),
        WallClock(),
        [[view] for view in views],
        roles=frozenset({Role.PROJECTORS}),
    )
    readers = [view.reader for view in views]
    assert None not in readers
    assert readers[0] is not readers[1]
