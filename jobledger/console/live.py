"""Tells open pages that there is something new to see: server-sent events, one for everything.

Pages show the read model, so it is that which is looked at: also where another process brings it on. One look serves
every page that is open.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from jobledger.api.streams import HEARTBEAT
from jobledger.console.frame import HEADERS, Console, Route
from statemachine.errors import JobledgerError

EVERY: Final = 0.5
"""Seconds between two looks, and so at least between two events."""


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
        seen = -1
        try:
            if self._looking is None:
                self._looking = asyncio.create_task(self._look(), name="console live")
            while True:
                async with self._grown:
                    while self.position == seen:
                        await self._grown.wait()
                    seen = self.position
                yield seen
        finally:
            self._listeners -= 1
            if not self._listeners and self._looking is not None:
                self._looking.cancel()
                self._looking, self.position = None, -1

    async def _look(self) -> None:
        while True:
            try:
                found = await (await self._console.ready()).positions()
            except JobledgerError:  # whoever reads the pages is told there
                found = self.position
            if found != self.position:
                async with self._grown:
                    self.position = found
                    self._grown.notify_all()
            await asyncio.sleep(EVERY)


def routes(console: Console) -> APIRouter:
    """`/live`."""
    router = APIRouter(route_class=Route)
    beat = Beat(console)

    @router.get("/live")
    async def live() -> Response:
        """`changed` as soon as it is open, and at every change of the read model."""

        async def body() -> AsyncIterator[str]:
            async for position in console.closing.until(beat.changes(), HEARTBEAT):
                yield ": alive\n\n" if position is None else f"event: changed\ndata: {position}\n\n"

        headers = {**HEADERS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(body(), media_type="text/event-stream", headers=headers)

    return router
