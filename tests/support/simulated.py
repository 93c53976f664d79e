"""An asyncio loop on simulated time: sleeping costs nothing, and the same program takes the same steps.

The selector never waits. When nothing is ready it puts the loop's clock forward to the next timer; when there
is no timer either, nothing can ever happen again, and `Deadlock` says so. With `LoopClock` as clock a whole
controller runs hours of its life in milliseconds.
"""

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_NO_EVENTS: list[tuple[selectors.SelectorKey, int]] = []


class Deadlock(Exception):
    """Every task waits for another one; no timer is left."""


class _NeverWaits(selectors.SelectSelector):
    """Knows the loop's own pipe, as it must, and looks at nothing."""

    loop: "SimulatedLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """No file is ever ready; time is."""
        if timeout is None:
            raise Deadlock("nothing is left to do, and the program has not ended")
        if timeout > 0:
            self.loop.passed += timeout
        return _NO_EVENTS


class SimulatedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock starts at 0 and moves only when nothing else does."""

    def __init__(self) -> None:
        self.passed = 0.0
        """Seconds since the start."""
        selector = _NeverWaits()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """The loop's clock, in seconds."""
        return self.passed


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


def on_simulated_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """A test that runs to its end on simulated time."""

    @wraps(test)
    def run(*arguments: P.args, **fixtures: P.kwargs) -> T:
        return run_simulated(test(*arguments, **fixtures), seed=1)

    return run
