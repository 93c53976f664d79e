"""What waits to be decided: many are added at a time, and many are taken, for hardly more than one costs."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Backlog(Generic[T]):
    """Items in the order in which they were added. From `limit` items on, who adds waits until some are taken."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[T] = deque()
        self._added, self._freed = asyncio.Event(), asyncio.Event()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._items)

    @property
    def room(self) -> int:
        """How many can be added without going beyond the limit."""
        return max(0, self._limit - len(self._items))

    async def add(self, items: Iterable[T]) -> None:
        """All of `items` wait, also those beyond the limit; not before there is room for one."""
        while not self.room:
            self._freed.clear()
            await self._freed.wait()
        self._items.extend(items)
        self._added.set()

    async def some(self) -> None:
        """At least one waits."""
        while not self._items:
            self._added.clear()
            await self._added.wait()

    def take(self, most: int) -> list[T]:
        """The oldest, at most so many; they wait no more."""
        taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
        self._freed.set()
        return taken

    def clear(self) -> None:
        """Nothing waits."""
        self._items.clear()
        self._freed.set()
