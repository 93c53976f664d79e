"""Wakes jobs when their timers are due.

Timers are part of the states, so a restart forgets none, and a timer that the job has cleared does not fire.
Each (job, timer, due time) fires once; the engine reads the wall clock at least every half minute, because it
may jump. If the clock is compared with another one and is off, no timer fires.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Final

from statemachine.engine.clock import Clock
from statemachine.engine.skew import ClockCheck
from statemachine.ids import JobUid
from statemachine.observations import TimerFired

_LONGEST_SLEEP: Final = 30.0

_UNTRUSTED: Final = 1.0
"""Seconds until a clock that could not be trusted is checked again while a timer is due."""


async def _nothing() -> None:
    """The comparison of a clock that is not compared."""


class Timers:
    """The timers of all jobs of one log.

    With a `check` timers fire only while the clock can be trusted; `compare` takes a sample, if it can.
    """

    def __init__(
        self,
        clock: Clock,
        sink: Callable[[TimerFired], Awaitable[None]],
        check: ClockCheck | None = None,
        compare: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self._clock = clock
        self._sink = sink
        self._check, self._compare = check, compare
        self._wanted: dict[tuple[JobUid, str], datetime] = {}
        self._heap: list[tuple[datetime, JobUid, str]] = []
        self._changed = asyncio.Event()

    def sync(self, job: JobUid, timers: Mapping[str, datetime], before: Mapping[str, datetime]) -> None:
        """Sets the timers of `job` to `timers`; so far they were `before`."""
        if timers is before:
            return
        for name in before:
            if name not in timers:
                self._wanted.pop((job, name), None)
        for name, due_at in timers.items():
            if self._wanted.get((job, name)) != due_at:
                self._wanted[job, name] = due_at
                heapq.heappush(self._heap, (due_at, job, name))
                self._changed.set()

    async def run(self) -> None:
        """Fires timers when they are due, for ever."""
        while True:
            self._changed.clear()
            while await self._is_right() and (due := self._pop_due()):
                await self._sink(due)
            wait = _LONGEST_SLEEP
            if self._is_due():
                wait = _UNTRUSTED
            elif self._heap:
                wait = min(wait, max(0.001, (self._heap[0][0] - self._clock.now()).total_seconds()))
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _is_due(self) -> bool:
        return bool(self._heap) and self._heap[0][0] <= self._clock.now()

    async def _is_right(self) -> bool:
        """The clock can be trusted, or nothing is due by it."""
        if self._check is None or not self._is_due():
            return True
        if not self._check.is_trusted:
            await self._compare()
        return self._check.is_trusted

    def _pop_due(self) -> TimerFired | None:
        now = self._clock.now()
        while self._heap and self._heap[0][0] <= now:
            due_at, job, name = heapq.heappop(self._heap)
            if self._wanted.get((job, name)) == due_at:
                return TimerFired(job=job, at=now, timer=name, due_at=due_at)
        return None
