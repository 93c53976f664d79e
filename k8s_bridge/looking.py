"""The bridge looks at pods that a watch or a list by labels shows no more, before it reports them gone.

A user may have removed their labels. `watchers` asks for looks; these read pods by name and uid through
`Cluster.look`, a few at a time, and their results come back as answers. A failed look is tried again, and gives no
answer until then. A pod that exists without its labels is looked at periodically, as no watch shows its changes.
"""

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NamedTuple

from k8s_bridge.port import Change, Cluster, Ref, Sight, Synced
from statemachine.backoff import backoff
from statemachine.errors import ClusterError, ClusterUnavailable

_log = logging.getLogger(__name__)

AT_A_TIME: Final = 8
"""Looks at the same time. Thousands of pods may vanish at once; the process's other requests must go on."""

AGAIN: Final = 10.0
"""Seconds between two looks at a pod that exists and that no watch shows."""


class LookResult(NamedTuple):
    """The result of a look at the pod with this uid; `before`: an earlier look showed it."""

    uid: str
    sight: Sight
    before: bool


@dataclass(slots=True)
class _PodLook:
    """A pod to be looked at; `number` is its place in the queue, older places do not count any more."""

    ref: Ref
    number: int
    failures: int = 0
    was_there: bool = False


@dataclass(slots=True)
class Looks:
    """Looks at pods of the `cluster`. For a pod that exists the taker of an answer calls `again` or `drop`."""

    cluster: Cluster
    chance: Callable[[], float]
    answers: deque[LookResult] = field(default_factory=deque)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while there may be answers."""
    _looks: dict[str, _PodLook] = field(default_factory=dict)
    _due: list[tuple[float, int, str]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _added: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._looks)

    def __contains__(self, uid: str) -> bool:
        return uid in self._looks

    def add(self, uid: str, ref: Ref) -> None:
        """Schedules a look at the pod as soon as possible."""
        before = self._looks.get(uid)
        self._looks[uid] = _PodLook(ref, 0, was_there=before is not None and before.was_there)
        self._schedule(uid, 0.0)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="looks")
            self._task.add_done_callback(lambda _: self.answered.set())

    def again(self, uid: str) -> None:
        """Schedules a later look at the pod, which exists."""
        self._looks[uid].was_there = True
        self._schedule(uid, AGAIN)

    def drop(self, uid: str) -> None:
        """Ends the looks at the pod."""
        self._looks.pop(uid, None)

    def take(self) -> LookResult | None:
        """The oldest answer about a pod that is still looked at. Raises the error that ended the task."""
        while self.answers:
            answer = self.answers.popleft()
            if answer.uid in self._looks:
                return answer
        self.answered.clear()
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()
        return None

    async def close(self) -> None:
        """Ends all looks; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def _schedule(self, uid: str, after: float) -> None:
        number = self._looks[uid].number = next(self._numbers)
        heapq.heappush(self._due, (_time() + after, number, uid))
        self._added.set()

    async def _run(self) -> None:
        while self._looks:
            if batch := self._batch():
                await asyncio.gather(*(self._look(uid, number) for uid, number in batch))
                continue
            self._added.clear()
            wait = self._due[0][0] - _time() if self._due else None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._added.wait(), wait)

    def _batch(self) -> list[tuple[str, int]]:
        """Some of the pods that are due."""
        now = _time()
        batch: list[tuple[str, int]] = []
        while self._due and self._due[0][0] <= now and len(batch) < AT_A_TIME:
            _, number, uid = heapq.heappop(self._due)
            if (look := self._looks.get(uid)) is not None and look.number == number:
                batch.append((uid, number))
        return batch

    async def _look(self, uid: str, number: int) -> None:
        look = self._looks.get(uid)
        if look is None:  # dropped since the batch was made
            return
        try:
            sight = await self.cluster.look(look.ref, uid)
        except ClusterError as error:
            self._failed(uid, look, error)
            return
        look.failures = 0
        if look.number == number:
            self.answers.append(LookResult(uid, sight, look.was_there))
            self.answered.set()

    def _failed(self, uid: str, look: _PodLook, error: ClusterError) -> None:
        look.failures += 1
        if look.failures == 1:
            fields = {"action": "look-failed", "pod": str(look.ref), "error": str(error)}
            _log.warning("a pod cannot be looked at now, it will be tried again", extra=fields)
        if self._looks.get(uid) is look:
            after = error.retry_after if isinstance(error, ClusterUnavailable) else None
            self._schedule(uid, max(after or 0.0, backoff(look.failures, chance=self.chance)))


class Incoming:
    """The items of an open watch and the answers of looks, as one sequence.

    With `silence` it gives a watch up that made no progress for so many seconds: no item came, and `signs` of life
    have not changed.
    """

    def __init__(
        self,
        items: AsyncIterator[Change | Synced],
        looks: Looks,
        silence: float | None,
        signs: Callable[[], object],
    ) -> None:
        self._items, self._looks, self._silence, self._signs = items, looks, silence, signs
        self._coming: asyncio.Future[Change | Synced] | None = None
        self._heard, self._last_signs = 0.0, object()

    async def next(self) -> Change | Synced | LookResult:
        """The next item or answer. Raises what the watch raises; TimeoutError if it is silent."""
        if self._silence is None and not self._looks and self._coming is None:
            return await anext(self._items)
        if self._coming is None:
            self._coming = asyncio.ensure_future(anext(self._items))
            self._alive()
        while True:
            if self._coming.done():
                coming, self._coming = self._coming, None
                return coming.result()
            if (answer := self._looks.take()) is not None:
                return answer
            await self._wait(self._coming)

    async def close(self) -> None:
        """Stops waiting for the watch."""
        if self._coming is None:
            return
        if not self._coming.done():
            self._coming.cancel()
            await asyncio.wait({self._coming})
        if not self._coming.cancelled():
            self._coming.exception()  # otherwise asyncio logs that it was never retrieved

    async def _wait(self, coming: asyncio.Future[Change | Synced]) -> None:
        """Waits until an item or an answer may have come. Raises TimeoutError."""
        answered: asyncio.Future[Any] = asyncio.ensure_future(self._looks.answered.wait())
        either: set[asyncio.Future[Any]] = {coming, answered}
        left = None if self._silence is None else self._heard + self._silence - _time()
        try:
            await asyncio.wait(either, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answered.cancel()
        if self._silence is not None and _time() >= self._heard + self._silence and not coming.done():
            if self._signs() == self._last_signs:
                raise SilentWatch(f"the watch was silent for {self._silence:g} s")
            self._alive()

    def _alive(self) -> None:
        self._heard, self._last_signs = _time(), self._signs()


def _time() -> float:
    return asyncio.get_running_loop().time()


class SilentWatch(TimeoutError):
    """An open watch made no progress."""
