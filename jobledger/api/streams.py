"""Answers without an end: what replicas write, and jobs as they change. They end when the server does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Send

from jobledger.api.answers import line_of
from statemachine.errors import ClusterError

_log = logging.getLogger(__name__)

T = TypeVar("T")

HEARTBEAT: Final = 10.0
"""Seconds after which a silent watch says that it is alive."""


class Closing:
    """Says to streams that the server is about to end."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def close(self) -> None:
        """All streams end."""
        self._event.set()

    async def until(self, items: AsyncIterator[T], heartbeat: float | None = None) -> AsyncIterator[T | None]:
        """`items`, and None after every `heartbeat` seconds without one, until they or the server end."""
        closing = asyncio.ensure_future(self._event.wait())
        item: asyncio.Future[T] | None = None
        try:
            while True:
                item = item or asyncio.ensure_future(anext(items))
                await asyncio.wait((item, closing), timeout=heartbeat, return_when=asyncio.FIRST_COMPLETED)
                if item.done():
                    try:
                        yield item.result()
                    except StopAsyncIteration:
                        return
                    item = None
                elif closing.done():
                    return
                else:
                    yield None
        finally:
            await _dropped(closing, item)
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()


async def _dropped(*waiting: asyncio.Future[Any] | None) -> None:
    for each in waiting:
        if each is not None:
            each.cancel()
    await asyncio.gather(*(each for each in waiting if each is not None), return_exceptions=True)


class _Breakable(StreamingResponse):
    """Breaks off where its source does: an answer that ended there would pass for the whole."""

    async def stream_response(self, send: Send) -> None:
        """See StreamingResponse. What has no end yet is not finished: the server closes the connection."""
        try:
            await super().stream_response(send)
        except ClusterError as error:
            _log.warning("a log breaks off while it is read: %s", error)


def log_response(
    closing: Closing,
    pieces: AsyncIterator[bytes],
    *,
    media_type: str = "text/plain; charset=utf-8",
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    """What a container writes, as it writes it."""

    async def body() -> AsyncIterator[bytes]:
        async for piece in closing.until(pieces):
            if piece:
                yield piece

    return _Breakable(body(), media_type=media_type, headers=headers)


async def begun(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A stream of which the first piece has been looked at."""
    yield first
    async for piece in rest:
        yield piece


def watch_response(
    changes: AsyncIterator[tuple[str, dict[str, Any]]], closing: Closing, request: Request
) -> StreamingResponse:
    """Jobs as they change: an object a line, or server-sent events for those who accept them."""
    events = "text/event-stream" in request.headers.get("accept", "")

    async def body() -> AsyncIterator[str]:
        async for item in closing.until(changes, HEARTBEAT):
            type_, job = item or ("HEARTBEAT", {})
            line = line_of({"type": type_, "object": job})
            yield f"event: {type_.lower()}\ndata: {line}\n\n" if events else f"{line}\n"

    media_type = "text/event-stream" if events else "application/x-ndjson"
    return StreamingResponse(body(), media_type=media_type, headers={"Cache-Control": "no-store"})
