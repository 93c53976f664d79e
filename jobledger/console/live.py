"""What open pages listen to: that the read model has grown; and how many may listen.

Pages show the read model, so it is that which is looked at: also where another process brings it on. One look serves
every page that is open.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Final, TypeVar

from starlette.requests import Request

from jobledger.console import session
from jobledger.console.frame import Console, user
from jobledger.program.errors import TooManyListeners
from statemachine.errors import JobledgerError

T = TypeVar("T")

EVERY: Final = 0.5
"""Seconds between two looks, and so at least between two events."""

_AHEAD: Final = 16
"""Items that a merged stream holds for a reader that is slower."""


class Beat:
    """How far the read model is, looked up while anybody wants to know."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._listeners = 0
        self._looking: asyncio.Task[None] | None = None
        self._grown = asyncio.Condition()
        self.position = -1

    async def changes(self) -> AsyncIterator[int]:
        """The sum of all positions, as it is and whenever it has grown."""
        self._listeners += 1
        last = -1
        try:
            if self._looking is None:
                self._looking = asyncio.create_task(self._look(), name="console live")
            while True:
                async with self._grown:
                    while self.position == last:
                        await self._grown.wait()
                    last = self.position
                yield last
        finally:
            self._listeners -= 1
            if not self._listeners and self._looking is not None:
                self._looking.cancel()
                self._looking, self.position = None, -1

    async def _look(self) -> None:
        while True:
            try:
                position = await (await self._console.ready()).positions()
            except JobledgerError:  # the pages say so themselves
                position = self.position
            if position != self.position:
                async with self._grown:
                    self.position = position
                    self._grown.notify_all()
            await asyncio.sleep(EVERY)


class Listeners:
    """Who listens: `most` streams in all, `most_of_one` of one user, or of one browser where users have no names."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._open: Counter[str] = Counter()

    def admit(self, request: Request) -> Callable[[], None]:
        """One stream more; what is returned takes it off again. Raises TooManyListeners."""
        name = user(request)
        key = f"user {name}" if name else f"session {request.cookies.get(session.COOKIE, '')}"
        if self._open[key] >= self._most_of_one:
            raise TooManyListeners(
                f"{name or 'this browser'} has {self._most_of_one} streams open, as many as one may have; close "
                "pages in other browsers, or raise the setting console.listeners_per_user"
            )
        if self._open.total() >= self._most:
            raise TooManyListeners(
                f"{self._most} streams are open, as many as this server holds; try again later, "
                "or raise the setting console.listeners"
            )
        self._open[key] += 1

        def leave() -> None:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

        return leave


async def merged(*sources: AsyncIterator[T]) -> AsyncIterator[T]:
    """The items of all sources as they come, until all have ended. Raises what a source raises."""
    queue: asyncio.Queue[T | Exception | None] = asyncio.Queue(_AHEAD)

    async def pump(source: AsyncIterator[T]) -> None:
        try:
            async with aclosing(source):  # type: ignore[type-var]
                async for item in source:
                    await queue.put(item)
        except Exception as error:  # noqa: BLE001 - the reader raises it
            await queue.put(error)
        else:
            await queue.put(None)

    tasks = [asyncio.create_task(pump(source), name="console stream") for source in sources]
    open_ = len(tasks)
    try:
        while open_:
            item = await queue.get()
            if isinstance(item, Exception):
                raise item
            if item is None:
                open_ -= 1
            else:
                yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
