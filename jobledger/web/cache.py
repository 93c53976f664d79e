"""Answers that hold for a short while: bounded, and asked for once however many wait for the same one."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Keeps at most `most` answers, each for as many seconds as `keep` says of it.

    An answer's age counts from when it was asked for, so nothing older than that is ever given. Failures are
    not kept. `clock` is monotonic.
    """

    def __init__(
        self, keep: Callable[[V], float], most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keep, self._most, self._clock = keep, most, clock
        self._answers: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._asking: dict[K, asyncio.Task[V]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer for `key`, as kept, or from `ask`. Raises what that raises."""
        kept = self._answers.get(key)
        if kept is not None:
            until, answer = kept
            if self._clock() < until:
                self._answers.move_to_end(key)
                return answer
            del self._answers[key]
        task = self._asking.get(key)
        if task is None:
            # a task of its own: the first caller may go away while others still wait
            task = self._asking[key] = asyncio.create_task(self._asked(key, ask), name="cache")
            task.add_done_callback(lambda done: self._over(key, done))
        return await asyncio.shield(task)

    async def _asked(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        begun = self._clock()
        answer = await ask()
        self._answers[key] = (begun + self._keep(answer), answer)
        while len(self._answers) > self._most:
            self._answers.popitem(last=False)
        return answer

    def _over(self, key: K, task: "asyncio.Task[V]") -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()  # those who waited have it; with nobody left it is nobody's business
