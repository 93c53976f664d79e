"""An asyncio loop on simulated time: sleeping costs nothing, and the same program takes the same steps.

Nothing waits. When nothing is ready the loop's clock is put forward to the next timer; when there is no timer either,
nothing can ever happen again, and `Deadlock` says so. With `LoopClock` as clock a whole controller runs hours of its
life in milliseconds.
"""

import asyncio
import random
import selectors
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, copy_context
from datetime import datetime, timedelta
from functools import wraps
from heapq import heappop, heappush
from itertools import count, repeat
from typing import Any, ParamSpec, TypeVar, TypeVarTuple, Unpack
from unittest.mock import patch

P = ParamSpec("P")
T = TypeVar("T")
_Arguments = TypeVarTuple("_Arguments")


class LoopClock:
    """Follows the running loop's time from `start` on: with a simulated loop, simulated time."""

    def __init__(self, start: datetime) -> None:
        self._start = start

    def now(self) -> datetime:
        """`start` plus what the loop's clock shows, to the microsecond."""
        return self._start + timedelta(microseconds=round(asyncio.get_running_loop().time() * 1e6))


class Deadlock(Exception):
    """Every task waits for another one; no timer is left."""


def _nothing() -> None:
    """In the place of a callback that was cancelled."""


class _Call(asyncio.TimerHandle):
    """A callback that is ready, or planned: a handle without what asyncio keeps for debugging."""

    __slots__ = ()

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._when = when
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = copy_context() if context is None else context
        self._cancelled = False
        self._scheduled = False
        self._repr = self._source_traceback = None

    def cancel(self) -> None:
        """It does not run any more; a timer is passed over when its turn comes."""
        self._cancelled = True
        self._callback, self._args = _nothing, ()


class SimulatedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock starts at 0 and moves only when nothing else does.

    It steps by itself, and asks no selector: most of what a turn of asyncio's own loop costs is for files, which are
    never ready here, for comparing timers in Python, and for debugging.
    """

    _ready: deque[asyncio.Handle]
    _stopping: bool

    get_debug = bool
    """Never: each future asks, and this answers without a frame of Python."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self.passed = 0.0
        """Seconds since the start."""
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        """A heap; timers of the same moment in the order in which they were asked for."""
        self._numbers = count()

    def time(self) -> float:
        """The loop's clock, in seconds."""
        return self.passed

    def call_soon(
        self,
        callback: Callable[[Unpack[_Arguments]], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """See the base class."""
        if self.is_closed():
            raise RuntimeError("the simulated loop is closed")
        call = _Call(self.passed, callback, args, self, context)
        self._ready.append(call)
        return call

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Arguments]], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """See the base class."""
        timer = _Call(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[_Arguments]], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """See the base class."""
        when = self.passed + delay
        timer = _Call(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def _run_once(self) -> None:
        """Turns as the base class has them, until the loop is stopped: it asks for one after the other.

        In each runs what is ready then, after the timers that are due have joined it.
        """
        ready, timers, run = self._ready, self._timers, self._run
        while True:
            if not ready and not self._stopping:
                self.passed = max(self.passed, self._next_timer())
            passed = self.passed
            while timers and timers[0][0] <= passed:
                ready.append(heappop(timers)[2])
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle._cancelled:
                    run(handle)
            if self._stopping:
                return

    def _run(self, handle: asyncio.Handle) -> None:
        handle._run()

    def _next_timer(self) -> float:
        """When the next timer fires that nobody has cancelled."""
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heappop(timers)
        if not timers:
            raise Deadlock("nothing is left to do, and the program has not ended")
        return timers[0][0]


def passing(seconds: float) -> asyncio.Future[None]:
    """Done so many seconds from now: awaited like a sleep, for less."""
    loop = asyncio.get_running_loop()
    passed: asyncio.Future[None] = loop.create_future()
    loop.call_later(seconds, _pass, passed)
    return passed


def _pass(waited_for: asyncio.Future[None]) -> None:
    if not waited_for.done():
        waited_for.set_result(None)


def run_simulated(
    coro: Coroutine[Any, Any, T], seed: int, loop: Callable[[], SimulatedLoop] = SimulatedLoop
) -> T:
    """What `coro` returns, run to its end on simulated time; the module `random` starts from `seed`.

    Raises:
        Deadlock: nothing is left to do, and `coro` has not returned.
    """
    before = random.getstate()
    random.seed(seed)
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(coro)
    finally:
        random.setstate(before)


@contextmanager
def one_loop() -> Iterator[None]:
    """No other loop runs meanwhile, in any thread: who asks which one runs gets the answer without a system call.

    asyncio asks for the number of the process each time, in case it is a child's: two thousand times a world.
    """
    answer = repeat(asyncio.get_running_loop()).__next__
    with (
        patch.object(asyncio, "get_running_loop", answer),
        patch.object(events, "get_running_loop", answer),
        patch.object(events, "_get_running_loop", answer),
    ):
        yield


def on_simulated_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """A test that runs to its end on simulated time."""

    @wraps(test)
    def run(*arguments: P.args, **fixtures: P.kwargs) -> T:
        return run_simulated(test(*arguments, **fixtures), seed=1)

    return run
