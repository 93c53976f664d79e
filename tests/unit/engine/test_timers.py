"""Timers fire when they are due, once, and not when they are no longer wanted."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from statemachine.engine.timers import Timers
from statemachine.observations import TimerFired
from tests.support.scenario import START, UID
from tests.support.simulated import LoopClock, run_simulated

DUE = START + timedelta(seconds=30)


def fired(use: Callable[[Timers], Awaitable[None]]) -> list[TimerFired]:
    """What fires within ten minutes of simulated time."""

    async def main() -> list[TimerFired]:
        observations: list[TimerFired] = []

        async def sink(observation: TimerFired) -> None:
            observations.append(observation)

        timers = Timers(LoopClock(START), sink)
        task = asyncio.create_task(timers.run())
        await use(timers)
        await asyncio.sleep(600)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return observations

    return run_simulated(main(), seed=1)


def test_a_timer_fires_once_when_it_is_due() -> None:
    async def use(timers: Timers) -> None:
        timers.sync(UID, {"deadline": DUE}, {})

    assert [(observation.timer, observation.due_at, observation.at >= DUE) for observation in fired(use)] == [
        ("deadline", DUE, True)
    ]


def test_a_cleared_timer_does_not_fire() -> None:
    async def use(timers: Timers) -> None:
        timers.sync(UID, {"deadline": DUE}, {})
        timers.sync(UID, {}, {"deadline": DUE})

    assert fired(use) == []


def test_a_moved_timer_fires_at_its_new_time_only() -> None:
    later = DUE + timedelta(seconds=60)

    async def use(timers: Timers) -> None:
        timers.sync(UID, {"deadline": DUE}, {})
        timers.sync(UID, {"deadline": later}, {"deadline": DUE})

    assert [observation.due_at for observation in fired(use)] == [later]


def test_a_timer_of_the_past_fires_at_once() -> None:
    async def use(timers: Timers) -> None:
        timers.sync(UID, {"retry": START - timedelta(days=1)}, {})

    observations = fired(use)
    assert [observation.timer for observation in observations] == ["retry"]
    assert observations[0].at - START < timedelta(seconds=1)


def test_a_timer_that_is_set_while_nothing_is_due_fires_when_it_is() -> None:
    async def use(timers: Timers) -> None:
        timers.sync(UID, {"deadline": START + timedelta(hours=1)}, {})
        await asyncio.sleep(1)
        timers.sync(UID, {"retry": START + timedelta(seconds=5)}, {})

    (observation,) = fired(use)
    assert observation.at - START < timedelta(seconds=5.1)


def test_timers_follow_a_clock_that_jumps_ahead_within_half_a_minute() -> None:
    class Jumping(LoopClock):
        jump = timedelta()

        def now(self) -> datetime:
            return super().now() + self.jump

    async def main() -> None:
        clock, late = Jumping(START), asyncio.Event()

        async def sink(_: TimerFired) -> None:
            late.set()

        timers = Timers(clock, sink)
        timers.sync(UID, {"deadline": START + timedelta(hours=1)}, {})
        task = asyncio.create_task(timers.run())
        await asyncio.sleep(40)
        clock.jump = timedelta(hours=1)
        async with asyncio.timeout(31):
            await late.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_simulated(main(), seed=1)
