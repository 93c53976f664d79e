"""Answers without an end: what replicas write, and jobs as they change. They end when the server does."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Send

from jobledger.program.errors import NoRight, Unauthenticated
from jobledger.web.problems import answer_to
from jobledger.web.responses import line_of
from jobledger.web.rights import Still
from statemachine.errors import ClusterError, ClusterUnavailable

_log = logging.getLogger(__name__)

T = TypeVar("T")

HEARTBEAT: Final = 10.0
"""Seconds after which a silent watch says that it is alive."""


RECHECK: Final = 2.0
"""Seconds between two looks at the rights of a caller. The answers are kept for 10 s (`reviews`), for all of their
streams together."""

PATIENCE: Final = 60.0
"""Seconds that a stream goes on while nobody can say whether it may."""


class Closing:
    """Says to streams that the server is about to end, or that the listener may not listen any more."""

    def __init__(self, recheck: float = RECHECK) -> None:
        self._event = asyncio.Event()
        self._recheck = recheck

    def close(self) -> None:
        """All streams end."""
        self._event.set()

    async def until(
        self, items: AsyncIterator[T], heartbeat: float | None = None, *, still: Still
    ) -> AsyncIterator[T | None]:
        """`items`, and None after every `heartbeat` seconds without one, until they or the server end.

        Raises what `still` raises, which is asked again and again.
        """
        closing = asyncio.ensure_future(self._event.wait())
        refused = asyncio.ensure_future(self._refusal(still))
        item: asyncio.Future[T] | None = None
        try:
            while True:
                item = item or asyncio.ensure_future(anext(items))
                waited = (item, closing, refused)
                await asyncio.wait(waited, timeout=heartbeat, return_when=asyncio.FIRST_COMPLETED)
                if refused.done():  # before anything that has come meanwhile
                    raise refused.result()
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
            await _dropped(closing, refused, item)
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()

    async def _refusal(self, still: Still) -> Exception:
        """Why the stream may not go on, once it may not."""
        time = asyncio.get_running_loop().time
        confirmed = time()
        while True:
            await asyncio.sleep(self._recheck)
            try:
                await still()
                confirmed = time()
            except ClusterUnavailable as error:
                if time() - confirmed > PATIENCE:
                    return error
            except (NoRight, Unauthenticated) as error:
                return error


async def _dropped(*waiting: asyncio.Future[Any] | None) -> None:
    for future in waiting:
        if future is not None:
            future.cancel()
    await asyncio.gather(*(future for future in waiting if future is not None), return_exceptions=True)


class _Breakable(StreamingResponse):
    """Breaks off where its source does: an answer that ended there would pass for the whole."""

    async def stream_response(self, send: Send) -> None:
        """See StreamingResponse. What has no end yet is not finished: the server closes the connection."""
        try:
            await super().stream_response(send)
        except (ClusterError, NoRight, Unauthenticated) as error:
            _log.warning("a log breaks off while it is read: %s", error)


def log_response(
    closing: Closing,
    pieces: AsyncIterator[bytes],
    still: Still,
    *,
    media_type: str = "text/plain; charset=utf-8",
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    """What a container writes, as it writes it."""

    async def body() -> AsyncIterator[bytes]:
        try:
            async for piece in closing.until(pieces, still=still):
                if piece:
                    yield piece
        except (NoRight, Unauthenticated) as error:
            yield f"\njobledger: the log is not sent any further: {error}\n".encode()
            raise

    return _Breakable(body(), media_type=media_type, headers=headers)


async def begun(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A stream of which the first piece has been looked at."""
    yield first
    async for piece in rest:
        yield piece


def watch_response(
    changes: AsyncIterator[tuple[str, dict[str, Any]]], closing: Closing, request: Request, still: Still
) -> StreamingResponse:
    """Jobs as they change: an object a line, or server-sent events for those who accept them.

    For a listener that may not listen any more the last one is an ERROR, with the problem that a request would get.
    """
    events = "text/event-stream" in request.headers.get("accept", "")

    async def body() -> AsyncIterator[str]:
        try:
            async for item in closing.until(changes, HEARTBEAT, still=still):
                type_, job = item or ("HEARTBEAT", {})
                yield said(type_, job)
        except (NoRight, Unauthenticated, ClusterUnavailable) as error:
            yield said("ERROR", json.loads(bytes(answer_to(error).body)))

    def said(type_: str, about: Mapping[str, Any]) -> str:
        line = line_of({"type": type_, "object": about})
        return f"event: {type_.lower()}\ndata: {line}\n\n" if events else f"{line}\n"

    media_type = "text/event-stream" if events else "application/x-ndjson"
    return StreamingResponse(body(), media_type=media_type, headers={"Cache-Control": "no-store"})
