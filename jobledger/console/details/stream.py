"""The one stream of a browser: that the read model has grown, and what is added to the logs that its pages follow.

Browsers open six connections to a server over HTTP/1.1, for all of their pages together. So pages share a stream
(`static/live.js`), and the logs that they follow come through it, too.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import parse_qs, unquote

from fastapi import APIRouter, Depends, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from jobledger.console.details.lives import Lives
from jobledger.console.details.log_target import Choice, Log, chosen_log
from jobledger.console.details.subject import subject_of
from jobledger.console.frame import HEADERS, Console
from jobledger.console.live import Beat, Listeners, merged
from jobledger.web.rights import AccessRight, Caller, Still, caller_of, demand, still_may
from jobledger.web.streams import HEARTBEAT, Closing
from statemachine.errors import ClusterUnavailable, JobledgerError

LOGS: Final = 32
"""Logs that the pages of one browser follow at most."""

_AGAIN: Final = 1.0
"""Seconds until a log is asked for again whose cluster did not answer."""

_ADDRESS: Final = re.compile(r"/jobs/([^/]+)/([^/]+)/([^/]+)/log")
_NUMBER: Final = re.compile(r"\d{1,15}")


@dataclass(frozen=True, slots=True)
class LogSubscription:
    """A log that a page follows from byte `at` on."""

    namespace: str
    kind: str
    name: str
    uid: str
    choice: Choice
    at: int

    @classmethod
    def parse(cls, address: str) -> "LogSubscription":
        """Of the address of a log window with `from`, the byte. Raises HTTPException (400)."""
        place, _, query = address.partition("?")
        path = _ADDRESS.fullmatch(place)
        asked = {name: values[-1] for name, values in parse_qs(query).items()}
        numbers = [asked.get(name, "0") for name in ("attempt", "from")]
        if path is None or not all(map(_NUMBER.fullmatch, numbers)):
            raise HTTPException(400, f'"{address[:200]}" is not the address of a log')
        attempt, at = map(int, numbers)
        choice = Choice(
            asked.get("replica", ""), asked.get("container", ""), attempt, previous="previous" in asked
        )
        namespace, kind, name = map(unquote, path.groups())
        return cls(namespace, kind, name, asked.get("uid", ""), choice, at)


class _Admitted(StreamingResponse):
    """A stream that says when it has ended, also if it was never read."""

    def __init__(self, body: AsyncIterator[str], leave: Callable[[], None]) -> None:
        headers = {**HEADERS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(body, media_type="text/event-stream", headers=headers)
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


def routes(console: Console, lives: Lives) -> APIRouter:
    """`/live`. Scripts ask for it, so its errors are problems of RFC 9457, and no pages."""
    router = APIRouter()
    beat = Beat(console)
    listeners = Listeners(console.options.listeners, console.options.listeners_per_user)

    async def log_of(request: Request, caller: Caller, wish: LogSubscription) -> tuple[Log, Still]:
        subject = await subject_of(request, caller, wish.namespace, wish.kind, wish.name, uid=wish.uid)
        right = AccessRight("get", "", "pods", subject.namespace, subresource="log")
        await demand(caller, right)
        life = await lives.of(subject.uid)
        log = chosen_log(console.app.cluster, subject, life.attempts(), wish.choice)
        return log, still_may(caller, right)

    @router.get("/live")
    async def live(
        request: Request,
        caller: Annotated[Caller, Depends(caller_of)],
        log: Annotated[tuple[str, ...], Query(max_length=LOGS)] = (),
    ) -> Response:
        """Server-sent events: `changed` at once and at every change of the read model.

        `log` is the address of a log window and `from`, as often as wanted: `begin`, `log` and `gone` are then about
        the log of the number `log`, counted from 0.
        """
        wishes = [LogSubscription.parse(address) for address in log]
        leave = listeners.admit(request)
        sources = [
            _followed(number, wish, partial(log_of, request, caller), console.closing)
            for number, wish in enumerate(wishes)
        ]

        async def body() -> AsyncIterator[str]:
            items = merged(_changed(beat), *sources)
            try:
                async for item in console.closing.until(items, HEARTBEAT, still=caller.still):
                    yield ": alive\n\n" if item is None else item
            except JobledgerError:  # the browser asks again, and the answer says why it is refused
                return

        return _Admitted(body(), leave)

    return router


async def _changed(beat: Beat) -> AsyncIterator[str]:
    async with aclosing(beat.changes()) as positions:  # type: ignore[type-var]
        async for position in positions:
            yield _event("changed", position)


async def _followed(
    number: int,
    wish: LogSubscription,
    log_of: Callable[[LogSubscription], Awaitable[tuple[Log, Still]]],
    closing: Closing,
) -> AsyncIterator[str]:
    """What is added to a log, and that it is no longer there, or no longer for this caller.

    A cluster that does not answer is asked again.
    """
    at = wish.at
    while True:
        try:
            log, still = await log_of(wish)
            pieces = closing.until(await log.news(at), still=still)
            yield _event("begin", {"log": number})
            async with aclosing(pieces) as news:  # type: ignore[type-var]
                async for piece in news:
                    if piece is None:
                        continue
                    at = piece.end
                    data = {"lines": piece.lines, "tail": piece.tail, "end": piece.end}
                    flags = {"skipped": piece.skipped, "ended": piece.ended}
                    yield _event("log", {"log": number, **data, **flags})
        except ClusterUnavailable:
            await asyncio.sleep(_AGAIN)
        except JobledgerError as error:
            yield _event("gone", {"log": number, "text": str(error)})
            return
        else:
            return


def _event(type_: str, data: Any) -> str:
    return f"event: {type_}\ndata: {json.dumps(data)}\n\n"
