"""One open watch of an ObjectStore: a queue, which ends if it grows too long."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from k8s_bridge.observe import Sort, is_job, sort_of
from k8s_bridge.port import Change, Manifest, Synced
from statemachine.errors import Expired


def is_watched(manifest: Manifest) -> bool:
    """`Cluster.watch` shows the object: a job, a pod, or a child that a kind observes."""
    return sort_of(manifest) in _WATCHED


_WATCHED: Final = frozenset({Sort.JOB, Sort.POD, Sort.CHILD})

Route = Callable[[Change, Callable[[Change], None]], None]
"""Passes a change to the second argument: at once, later, or more than once."""


def straight(change: Change, put: Callable[[Change], None]) -> None:
    """Passes each change once, at once."""
    put(change)


class Watcher(AsyncIterator[Change | Synced]):
    """Changes in order; the objects in them are shared.

    A watch that is `limit` changes behind ends, as with API servers.
    """

    def __init__(
        self,
        wanted: Callable[[Manifest], bool],
        limit: int,
        forget: Callable[["Watcher"], None],
        route: Route = straight,
    ) -> None:
        self._wanted, self._limit, self._forget, self._route = wanted, limit, forget, route
        self._waiting: deque[Change | Synced] = deque()
        self._ready = asyncio.Event()
        self._listed = False
        self._open = True

    def offer(self, change: Change) -> None:
        """Queues `change` if it is wanted."""
        if self._open and self._wanted(change.object):
            if self._listed:
                self._route(change, self._put)
            else:
                self._waiting.append(change)

    def _put(self, change: Change) -> None:
        if not self._open:
            return
        if len(self._waiting) >= self._limit:
            self.expire()
        else:
            self._waiting.append(change)
            self._ready.set()

    def synced(self, at: datetime) -> None:
        """Queues `Synced`: every object that existed has been offered."""
        self._waiting = deque(sorted(self._waiting, key=_jobs_first))
        self._waiting.append(Synced(at))
        self._listed = True
        self._ready.set()

    def expire(self) -> None:
        """Drops the queue; the next step of the iteration raises Expired."""
        self._waiting.clear()
        self._close()

    def _close(self) -> None:
        if self._open:
            self._open = False
            self._forget(self)
            self._ready.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change | Synced:
        while not self._waiting:
            if not self._open:
                raise Expired("the watch is too far behind; list again")
            self._ready.clear()
            await self._ready.wait()
        return self._waiting.popleft()

    async def aclose(self) -> None:
        """Closes the watch."""
        self._waiting.clear()
        self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _jobs_first(item: Change | Synced) -> int:
    """The order of the list: a reader can use a pod only when it knows the pod's job."""
    return 0 if isinstance(item, Change) and is_job(item.object) else 1
