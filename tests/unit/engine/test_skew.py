"""A clock that is off is known from what others stamp, and fires no timers."""

import asyncio
from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest

from statemachine.engine.embedded import Engine
from statemachine.engine.skew import LIMIT, ClockCheck, difference
from statemachine.engine.step import Owner
from statemachine.engine.timers import Timers
from statemachine.log.reader import Reader
from statemachine.observations import TimerFired
from statemachine.phases import Phase
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, UID, Story, workers
from tests.support.simulated import LoopClock, run_simulated

SECOND, HOUR, NONE = timedelta(seconds=1), timedelta(hours=1), timedelta()


@pytest.mark.parametrize(
    ("sent", "took", "theirs", "skew"),
    [
        pytest.param(NONE, SECOND, NONE, NONE, id="within the exchange it may be right"),
        pytest.param(HOUR, SECOND, NONE, HOUR - SECOND, id="an hour ahead"),
        pytest.param(-HOUR, SECOND, NONE, -HOUR + SECOND, id="an hour behind"),
        pytest.param(0.9 * SECOND, NONE, NONE, NONE, id="a second that has begun"),
        pytest.param(NONE, HOUR, NONE, NONE, id="stopped for an hour before the answer was read"),
        pytest.param(NONE, HOUR, HOUR, NONE, id="stopped for an hour before it was sent"),
    ],
)
def test_a_sample_says_no_more_than_it_can(
    sent: timedelta, took: timedelta, theirs: timedelta, skew: timedelta
) -> None:
    assert difference(START + sent, took, START + theirs, SECOND) == skew


class Bent:
    """The machine's clock, ahead of the true time by `ahead`."""

    def __init__(self, ahead: timedelta = NONE) -> None:
        self.true, self.ahead = LoopClock(START), ahead

    def now(self) -> datetime:
        return self.true.now() + self.ahead


class Scene:
    """Timers over a bent clock; a log that stamps what it is given, which takes it a while."""

    def __init__(self, clock: Bent) -> None:
        self.clock, self.check = clock, ClockCheck(clock)
        self.fired: list[datetime] = []
        self.asked, self.is_there = 0, True
        self.timers = Timers(clock, self._sink, self.check, self.exchange)

    async def _sink(self, _: TimerFired) -> None:
        self.fired.append(self.clock.true.now())

    async def exchange(self) -> None:
        self.asked += 1
        sent = self.check.begin()
        await asyncio.sleep(0.05)
        if self.is_there:
            self.check.note(sent, self.clock.true.now())

    async def within(self, seconds: float) -> None:
        """Timers work for a while."""
        task = asyncio.create_task(self.timers.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_deadline_is_not_enforced_early_by_a_clock_that_is_an_hour_ahead() -> None:
    async def main() -> None:
        scene = Scene(Bent(HOUR))
        scene.timers.sync(UID, {"deadline": START + timedelta(minutes=30)}, {})
        await scene.within(1700)
        assert (scene.fired, scene.check.trouble.split(":")[0]) == (
            [],
            "the clock of this machine is 3600 s ahead",
        )
        scene.clock.ahead = NONE
        await scene.within(300)
        (at,) = scene.fired
        assert START + timedelta(minutes=30) <= at < START + timedelta(minutes=31)

    run_simulated(main(), seed=1)


def test_a_job_lives_until_its_deadline_by_the_true_time_where_the_clock_of_its_engine_is_an_hour_ahead() -> (
    None
):
    async def main() -> None:
        clock = Bent()
        check = ClockCheck(clock)
        log, reader = MemoryLog(), Reader()
        engine = Engine(log, Owner(log, reader, clock), clock, check)
        await engine.start()
        check.note(check.begin(), clock.true.now())
        story = Story(workers(1, runPolicy={"activeDeadlineSeconds": 1800})).submit()
        task = asyncio.create_task(engine.run())
        for entry in story.entries:
            await engine.observe(entry.cause)
        await engine.finish()
        clock.ahead = HOUR
        await asyncio.sleep(1700)
        assert not reader.tracked(UID).state.is_final
        clock.ahead = NONE
        await asyncio.sleep(200)
        assert reader.tracked(UID).state.phase is Phase.FAILED
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_simulated(main(), seed=1)


@pytest.mark.parametrize("jump", [HOUR, -HOUR, timedelta(seconds=6)])
def test_a_clock_that_jumps_after_it_was_right_fires_nothing_until_it_is_right_again(jump: timedelta) -> None:
    async def main() -> None:
        scene = Scene(Bent())
        await scene.exchange()
        assert scene.check.trouble == ""
        scene.clock.ahead = jump
        assert scene.check.trouble != ""
        assert abs(scene.check.ahead - jump) < SECOND
        scene.timers.sync(UID, {"deadline": START - 2 * HOUR}, {})
        await scene.within(60)
        assert scene.fired == []
        scene.clock.ahead = NONE
        await scene.within(60)
        assert len(scene.fired) == 1

    run_simulated(main(), seed=1)


def test_an_idle_log_is_asked_for_the_time_before_the_first_timer_and_not_again() -> None:
    async def main() -> None:
        scene = Scene(Bent())
        for number in range(3):
            scene.timers.sync(UID, {f"t{number}": START + timedelta(minutes=number)}, {})
        await scene.within(600)
        assert (len(scene.fired), scene.asked) == (3, 1)

    run_simulated(main(), seed=1)


def test_nothing_is_fired_before_anybody_confirms_the_time() -> None:
    async def main() -> None:
        scene = Scene(Bent())
        scene.is_there = False
        scene.timers.sync(UID, {"deadline": START}, {})
        await scene.within(60)
        assert scene.fired == []
        assert scene.check.trouble == ""
        assert 30 < scene.asked <= 60, "a clock that nobody confirms is checked about once a second"
        scene.is_there = True
        await scene.within(60)
        assert len(scene.fired) == 1

    run_simulated(main(), seed=1)


def test_a_clock_that_is_off_by_little_counts_as_right() -> None:
    async def main() -> None:
        scene = Scene(Bent(LIMIT - SECOND))
        await scene.exchange()
        assert scene.check.is_trusted

    run_simulated(main(), seed=1)


def test_an_answer_that_comes_late_does_not_replace_a_newer_one() -> None:
    async def main() -> None:
        scene = Scene(Bent(HOUR))
        old = scene.check.begin()
        await asyncio.sleep(1)
        scene.clock.ahead = NONE
        await scene.exchange()
        scene.check.note(old, scene.clock.true.now())
        assert scene.check.is_trusted

    run_simulated(main(), seed=1)


def test_an_answer_that_took_hours_does_not_excuse_a_clock_that_is_behind() -> None:
    async def main() -> None:
        scene = Scene(Bent(-HOUR))
        slow = scene.check.begin()
        stamped = scene.clock.true.now()
        await asyncio.sleep(1)
        quick = scene.check.begin()
        scene.check.note(quick, scene.clock.true.now())
        assert not scene.check.is_trusted
        await asyncio.sleep(7200)
        scene.check.note(slow, stamped)
        assert not scene.check.is_trusted

    run_simulated(main(), seed=1)


def test_the_date_of_an_answer_is_read_and_any_other_text_is_not() -> None:
    from k8s_bridge.apiserver.api import date_of

    assert date_of({"Date": format_datetime(START, usegmt=True)}) == START.replace(microsecond=0)
    assert date_of({"Date": "yesterday"}) is None
    assert date_of({}) is None
