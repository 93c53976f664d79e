"""An API server that misbehaves to order: a real HTTP server whose every answer is scripted."""

import asyncio
import json
import re
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from aiohttp import web

from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import Api
from k8s_bridge.port import Manifest

SILENT = object()
"""In a stream: the connection stays open, and nothing comes any more."""

_OBJECT = re.compile(r".*/namespaces/[^/]+/[^/]+/[^/]+")

CUT = object()
"""In a stream: the connection is reset."""


class Recorded(NamedTuple):
    """A request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    at: float
    """The loop's time."""

    @property
    def verb(self) -> str:
        """As an audit log calls it, as far as tests tell them apart."""
        if self.method != "GET":
            return self.method
        if self.query.get("sendInitialEvents"):
            return "STREAM"
        return "WATCH" if self.query.get("watch") else "GET"


@dataclass
class Answer:
    """What is answered to one request; with `stream` its pieces come one by one, and then the answer ends."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterable[object] | None = None


def page(*items: Manifest, version: int = 10, place: str = "") -> Answer:
    """A list, or the part of one that has a continue token."""
    meta = {"resourceVersion": str(version), **({"continue": place} if place else {})}
    return Answer(body={"kind": "List", "metadata": meta, "items": list(items)})


def watch(*pieces: object) -> Answer:
    """A watch: bytes are sent, numbers are seconds of silence, SILENT and CUT do what they say; then it ends."""
    return Answer(stream=pieces)


def event(kind: str, raw: Manifest) -> bytes:
    return json.dumps({"type": kind, "object": raw}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def end_of_list(version: int) -> bytes:
    """The bookmark behind everything that a streamed list begins with."""
    annotations = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


def status(code: int, message: str = "", reason: str = "", **details: Any) -> Manifest:
    return {"kind": "Status", "code": code, "message": message, "reason": reason, "details": details}


def no(code: int, message: str = "no", reason: str = "", *, retry: str = "", **details: Any) -> Answer:
    """A refusal, in Kubernetes' words."""
    headers = {"Retry-After": retry} if retry else {}
    return Answer(code, status(code, message, reason, **details), headers)


def not_served() -> Answer:
    """What API servers say of a path behind which nothing is, or not yet."""
    return Answer(404, "404 page not found\n")


class Server:
    """Answers to (verb, path) come in the order of `on`; the last one again and again.

    What nothing was said about is an empty list, a watch that stays silent, and an object that does not exist. Lists
    are streamed only as scripted: an older server refuses that.
    """

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.url = ""
        self._script: dict[tuple[str, str, str], deque[Answer]] = defaultdict(deque)
        self._runner: web.AppRunner | None = None
        self._open: set[asyncio.Task[Any]] = set()

    def on(self, verb: str, path: str, *answers: Answer, selector: str = "") -> None:
        """The next answers to `verb`: GET, STREAM, WATCH, POST, PATCH, DELETE; with `selector`, to those with it."""
        self._script[verb, path, selector].extend(answers)

    def instead(self, verb: str, path: str, *answers: Answer) -> None:
        """The next answers, and none of those that were to come."""
        self._script[verb, path, ""].clear()
        self.on(verb, path, *answers)

    def asked(self, verb: str, path: str) -> list[Recorded]:
        """The requests of that kind so far."""
        return [request for request in self.requests if (request.verb, request.path) == (verb, path)]

    async def start(self) -> None:
        """It listens: on a port of its own, the second time on the same."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0)
        await self._runner.setup()
        port = int(self.url.rpartition(":")[2]) if self.url else 0
        site = web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True)
        await site.start()
        self.url = site.name if port else f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Nobody listens, and every connection is cut."""
        for task in self._open:
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        sent = await request.read()
        body = json.loads(sent) if sent else None
        at = asyncio.get_running_loop().time()
        asked = Recorded(request.method, request.path, dict(request.query), dict(request.headers), body, at)
        self.requests.append(asked)
        answer = self._next(asked)
        if answer.stream is not None:
            task = asyncio.create_task(_stream(request, answer.stream))
            self._open.add(task)
            task.add_done_callback(self._open.discard)
            return await task
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        return web.Response(status=answer.status, text=text, headers=answer.headers)

    def _next(self, request: Recorded) -> Answer:
        selector = request.query.get("labelSelector", "")
        script = (
            self._script[request.verb, request.path, selector] or self._script[request.verb, request.path, ""]
        )
        if not script:
            if request.verb == "GET" and _OBJECT.fullmatch(request.path):
                return no(404, name=request.path.rpartition("/")[2])
            if request.verb == "STREAM":
                return no(422, "sendInitialEvents: Forbidden", "Invalid")
            return watch(SILENT) if request.verb == "WATCH" else page()
        return script.popleft() if len(script) > 1 else script[0]


async def _stream(request: web.Request, pieces: Iterable[object]) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for piece in pieces:
        if piece is SILENT:
            await asyncio.Event().wait()
        elif piece is CUT:
            assert request.transport is not None
            request.transport.abort()
        elif isinstance(piece, float):
            await asyncio.sleep(piece)
        elif isinstance(piece, bytes):
            await response.write(piece)
            await asyncio.sleep(0.01)  # each in a packet of its own
    return response


def kubeconfig(url: str, bearer: str = "one") -> str:
    return yaml.safe_dump(
        {
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "me"}}],
            "clusters": [{"name": "it", "cluster": {"server": url}}],
            "users": [{"name": "me", "user": {"token": bearer}}],
        }
    )


@asynccontextmanager
async def session(server: Server, folder: Path) -> AsyncIterator[Api]:
    """A session with the server, by a kubeconfig in `folder`."""
    file = folder / "kubeconfig"
    file.write_text(kubeconfig(server.url))
    async with await Api.connect(ApiServerChoice(file)) as api:
        yield api
