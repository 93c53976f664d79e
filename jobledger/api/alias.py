"""`/api`, the older name of what the console shows: `/v1` answers requests there (ADR 0033).

They learn so from the header `Deprecation` (RFC 9745), with a link to the address that replaces theirs. What rules a
manifest breaks stands in `errors` as well, as it did. The next release has no `/api`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobledger.api.requests import place
from jobledger.console.creating import path_in
from jobledger.console.frame import Console, url
from jobledger.web.problems import answer_to
from statemachine.errors import ConfigError

DEPRECATED: Final = "@1795564800"
"""Since when, as RFC 9745 writes it: 25 November 2026."""

_JOB: Final = r"/api/jobs/(?P<kind>[^/]+)/(?P<name>[^/]+)"
_OF_JOB: Final = "/v1/jobs/{namespace}/{name}"


@dataclass(frozen=True, slots=True)
class Successor:
    """The address of `/v1` that replaces those that fit `pattern`; with `answers` it is what answers them, too."""

    methods: frozenset[str]
    pattern: re.Pattern[str]
    path: str
    answers: bool = True


SUCCESSORS: Final = tuple(
    Successor(frozenset(methods.split()), re.compile(pattern), path, *more)
    for methods, pattern, path, *more in (
        ("GET HEAD", "/api/jobs", "/v1/summaries"),
        ("POST", "/api/jobs", "/v1/jobs", False),
        ("POST", "/api/jobs/validate", "/v1/jobs/validate"),
        ("GET HEAD", _JOB, f"{_OF_JOB}/summary"),
        ("PATCH DELETE", _JOB, _OF_JOB, False),
        ("GET HEAD", f"{_JOB}/history", f"{_OF_JOB}/entries"),
        ("GET HEAD", f"{_JOB}/(?P<part>events|replicas|metrics|yaml)", f"{_OF_JOB}/{{part}}"),
        ("GET HEAD", f"{_JOB}/replicas/(?P<replica>[^/]+)/log", f"{_OF_JOB}/logs"),
        ("GET HEAD", "/api/(?P<part>pvcs|queues|healthz)", "/v1/{part}"),
    )
)


class Alias:
    """Middleware that asks `/v1` for what is asked of `/api`, and says so."""

    def __init__(self, app: ASGIApp, console: Console) -> None:
        self._app, self._console = app, console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self._app(scope, receive, send)
            return
        older = _Older(send)
        try:
            for successor in SUCCESSORS:
                match = successor.pattern.fullmatch(scope["path"])
                if match and scope["method"] in successor.methods:
                    path, query = self._address(successor, match.groupdict(), scope)
                    older.link = url(self._console, path)
                    if successor.answers:
                        scope = {
                            **scope,
                            "path": path,
                            "raw_path": quote(path).encode(),
                            "query_string": query,
                        }
                    break
        except ConfigError as error:
            await answer_to(error)(scope, receive, older)
        else:
            await self._app(scope, receive, older)

    def _address(self, successor: Successor, parts: dict[str, str], scope: Scope) -> tuple[str, bytes]:
        """Path and query of the successor. Raises ConfigError for a namespace that the console does not serve."""
        if "{namespace}" not in successor.path:
            return successor.path.format(**parts), scope["query_string"]
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        namespace = place(self._console, query.pop("namespace", "")) or self._console.options.new_jobs
        named = {name: parts[name] for name in ("kind", "replica") if name in parts}
        return successor.path.format(**parts, namespace=namespace), urlencode(query | named).encode()


class _Older:
    """Sends an answer with what somebody has to know who asked under the older name."""

    def __init__(self, send: Send) -> None:
        self._send, self.link = send, ""
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        """See ASGI. An answer of status 422 is held back until it is whole."""
        if message["type"] == "http.response.start":
            headers = [*message["headers"], (b"deprecation", DEPRECATED.encode())]
            if self.link:
                headers.append((b"link", f'<{quote(self.link)}>; rel="successor-version"'.encode()))
            message = {**message, "headers": headers}
            if message["status"] == 422:
                self._start = message
                return
        elif self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            message = {**message, "body": await self._violations(self._start)}
        await self._send(message)

    async def _violations(self, start: Message) -> bytes:
        """The problem with its `errors`; its head is sent."""
        problem = json.loads(self._body)
        body = json.dumps({**problem, "errors": _errors(problem)}).encode()
        headers = [pair for pair in start["headers"] if pair[0] != b"content-length"]
        await self._send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        return body


def _errors(problem: dict[str, Any]) -> list[dict[str, str]]:
    """What rules are broken, as `[{path, text, rule}]`."""
    if problem["code"] == "refused":
        return [{"path": "", "text": problem["detail"], "rule": ""}]
    return [
        {"path": broken["path"] or path_in(broken["text"]), "text": broken["text"], "rule": broken["rule"]}
        for broken in problem.get("problems", ())
    ]
