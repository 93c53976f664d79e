"""Answers without an end, read from an ASGI application as they come; httpx' own transport waits for their end."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message


class Stream:
    """A server-sent stream that is open: its status and headers, then its events."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self.status = 0
        self.headers: dict[str, str] = {}
        self._rest = ""

    async def begin(self) -> None:
        """The status and the headers have come."""
        start = await self.sent.get()
        self.status = start["status"]
        self.headers = {name.decode(): value.decode() for name, value in start["headers"]}

    async def body(self) -> Any:
        """The whole of an answer in JSON."""
        return json.loads((await self.sent.get())["body"])

    async def event(self, type_: str) -> Any:
        """The data of the next event of the type."""
        while True:
            piece, separator, rest = self._rest.partition("\n\n")
            if not separator:
                self._rest += (await self.sent.get())["body"].decode()
                continue
            self._rest = rest
            fields = dict(line.split(": ", 1) for line in piece.splitlines())
            if fields.get("event") == type_:
                return json.loads(fields["data"])


@asynccontextmanager
async def streaming(
    app: ASGIApp, path: str, headers: Mapping[str, str] | None = None
) -> AsyncIterator[Stream]:
    """The stream at the path; the client goes away at the end."""
    stream, gone = Stream(), asyncio.Event()
    parts = urlsplit(path)
    given = {"host": "localhost", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
    }
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def serve() -> None:
        await app(scope, receive, stream.sent.put)

    serving = asyncio.create_task(serve())
    try:
        async with asyncio.timeout(60):
            await stream.begin()
            yield stream
    finally:
        gone.set()
        async with asyncio.timeout(60):
            await serving
