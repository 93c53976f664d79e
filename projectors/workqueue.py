"""A keyed, coalescing work queue with back-off, as client-go's: the engine of every level projector.

One worker at a time visits a key; a key added during its visit is visited once more. A
visit that fails comes back after a delay that doubles; the others do not wait for it.

After a start every key is added, and hardly any needs a visit: those stand behind the others, so that what happens
meanwhile does not wait for all of them.
"""

import asyncio
import logging
import random
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Final

from statemachine.backoff import backoff
from statemachine.engine.source import Pulse
from statemachine.errors import ClusterUnavailable, JobledgerError
from statemachine.ids import JobUid

log = logging.getLogger(__name__)

_FIRST_DELAY: Final = 0.05
_LONGEST_DELAY: Final = 30.0

_SHARE: Final = 4
"""Every so many visits one goes to a key behind, while others are ready, too: it may need one as badly."""


class WorkQueue:
    """Visits keys. `name` is for logs; `jitter` spreads retries (seeded in simulations)."""

    def __init__(
        self,
        name: str,
        visit: Callable[[JobUid], Awaitable[float | None]],
        workers: int,
        jitter: random.Random,
    ) -> None:
        self._name = name
        self._visit = visit
        self._workers = workers
        self._jitter = jitter
        self._ready: deque[JobUid] = deque()
        self._behind: OrderedDict[JobUid, None] = OrderedDict()
        self._passed = 0
        """Keys that were taken, in a row, while others were behind."""
        self._queued: set[JobUid] = set()
        self._busy: set[JobUid] = set()
        self._again: set[JobUid] = set()
        self._failures: dict[JobUid, int] = {}
        self._later: dict[JobUid, asyncio.TimerHandle] = {}
        self._pending = asyncio.Semaphore(0)
        self._ending = asyncio.Event()
        self._at_rest = asyncio.Event()
        self._done = 0
        self.visits = 0
        self.failures = 0

    def add(self, key: JobUid, *, behind: bool = False) -> None:
        """`key` will be visited soon, once for any number of calls; `behind` those that any call wants before it."""
        if key in self._busy:
            self._again.add(key)
        elif key in self._queued:
            if not behind and key in self._behind:
                del self._behind[key]
                self._ready.append(key)
        else:
            self._queued.add(key)
            if behind:
                self._behind[key] = None
            else:
                self._ready.append(key)
            self._pending.release()

    def _next(self) -> JobUid:
        """The key to be visited now; there is one."""
        if self._ready and (not self._behind or self._passed < _SHARE - 1):
            self._passed = self._passed + 1 if self._behind else 0
            return self._ready.popleft()
        self._passed = 0
        return self._behind.popitem(last=False)[0]

    def add_after(self, key: JobUid, delay: float) -> None:
        """`key` will be visited in `delay` seconds, or earlier if an earlier call asked for that."""
        loop = asyncio.get_running_loop()
        timer = self._later.get(key)
        if timer is not None and timer.when() <= loop.time() + delay:
            return
        if timer is not None:
            timer.cancel()
        self._later[key] = loop.call_later(delay, self._due, key)

    def _due(self, key: JobUid) -> None:
        self._later.pop(key, None)
        self.add(key)

    @property
    def depth(self) -> int:
        """How many keys wait for a visit."""
        return len(self._queued)

    def pulse(self) -> Pulse:
        """The visits done, and whether one is under way: for checks of progress."""
        return Pulse(self._done, bool(self._busy))

    async def finish(self) -> None:
        """No visit is under way, and none will begin."""
        self._ending.set()
        if self._busy:
            await self._at_rest.wait()

    async def run(self) -> None:
        """Visits, for ever."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(self._workers):
                    tasks.create_task(self._work(), name=f"{self._name}-{number}")
        finally:
            for handle in self._later.values():
                handle.cancel()

    async def _work(self) -> None:
        while True:
            await self._pending.acquire()
            if self._ending.is_set():
                continue
            key = self._next()
            self._queued.discard(key)
            self._busy.add(key)
            try:
                await self._visit_one(key)
            finally:
                self._busy.discard(key)
                self._done += 1
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)
                if self._ending.is_set() and not self._busy:
                    self._at_rest.set()

    async def _visit_one(self, key: JobUid) -> None:
        self.visits += 1
        try:
            delay = await self._visit(key)
        except JobledgerError as error:
            self._failed(key, error)
            return
        except Exception:
            log.exception("a visit failed", extra={"action": "visit", "projector": self._name, "job": key})
            self._failed(key, None)
            return
        self._failures.pop(key, None)
        if delay is not None:
            self.add_after(key, delay)

    def _failed(self, key: JobUid, error: JobledgerError | None) -> None:
        self.failures += 1
        count = self._failures[key] = self._failures.get(key, 0) + 1
        delay = backoff(count, first=_FIRST_DELAY, most=_LONGEST_DELAY, chance=self._jitter.random)
        if isinstance(error, ClusterUnavailable) and error.retry_after is not None:
            delay = max(delay, error.retry_after)
        if error is not None:
            fields = {
                "action": "retry",
                "projector": self._name,
                "job": key,
                "error": str(error),
                "delay": delay,
            }
            log.warning("a write did not succeed, it will be tried again", extra=fields)
        self.add_after(key, delay)
