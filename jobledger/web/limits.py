"""How large a request may be, and how long it may take to arrive: nobody fills our memory or holds us up."""

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobledger.manifests import FILE_LIMIT
from jobledger.web.problems import problem

BODY_LIMIT: Final = 2 * FILE_LIMIT
"""Bytes. What is a little too large for manifests is read, so that it is refused with the manifest's name."""

BODY_SECONDS: Final = 30.0
"""For a whole body. Commands send theirs at once."""


class Limits:
    """Middleware that reads no body to its end that is too large or too slow.

    A connection on which a body is still coming when the answer goes out is closed: the rest would be taken in,
    however long it is.
    """

    def __init__(self, app: ASGIApp, most: int = BODY_LIMIT, seconds: float = BODY_SECONDS) -> None:
        self._app, self._most, self._seconds = app, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(Headers(scope=scope), receive, send, self._most, self._seconds)
        if body.length > self._most:
            await problem(413, "bad-request", body.too_large)(scope, body.receive, body.send)
        else:
            await self._app(scope, body.receive, body.send)


class _Body:
    """The body of one request: what has come of it, and whether it is whole."""

    def __init__(self, headers: Headers, receive: Receive, send: Send, most: int, seconds: float) -> None:
        said = headers.get("content-length", "")
        self.length = int(said) if said.isdigit() else 0
        self._receive, self._send, self._most, self._seconds = receive, send, most, seconds
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._taken = 0
        self._whole = self.length == 0 and "transfer-encoding" not in headers

    @property
    def too_large(self) -> str:
        """The sentence about it."""
        return f"the body is larger than {self._most >> 20} MiB"

    async def receive(self) -> Message:
        """See ASGI. Once the body is whole, this only waits for the caller to go.

        Raises:
            HTTPException: it is too large or too slow; the route that reads stands inside of what answers that.
        """
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"the body did not come within {self._seconds:.0f} s") from None
        self._taken += len(message.get("body", b""))
        if self._taken > self._most:
            raise HTTPException(413, self.too_large)
        self._whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """See ASGI."""
        if message["type"] == "http.response.start" and not self._whole:
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await self._send(message)
