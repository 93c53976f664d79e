"""Who may talk to the server.

On a machine: its own programs, and no page of somebody else's in a browser. On a cluster: callers whom the API server
knows by their token; what they may do the routes ask. A guard leaves the caller in the request's state.

A web page can make a browser send requests to 127.0.0.1; what it cannot do is choose their Host and Origin
headers. A foreign Host means that a name of somebody else's was bent to this address, a foreign Origin that
another page asks.
"""

from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from jobledger.program.errors import Unauthenticated
from jobledger.web.problems import Refusal, problem, problem_of
from jobledger.web.reviews import Reviews
from jobledger.web.rights import Anyone, Caller
from statemachine.errors import ClusterUnavailable

LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")


def host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def objection(host: str, origin: str | None) -> str:
    """Why a request with these headers is refused; empty if it is not."""
    if host_name(host.lower()) not in LOCAL:
        return f'this server is addressed as {" or ".join(LOCAL)}, not as "{host}"'
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return f'a page of "{origin}" asks; only pages of this server itself may'
    return ""


class LocalOnly:
    """Middleware that lets only requests of this machine through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            wrong = objection(headers.get("host", ""), headers.get("origin"))
            if wrong:
                await problem(403, "forbidden", wrong)(scope, receive, send)
                return
            _introduce(scope, Anyone())
        await self._app(scope, receive, send)


OPEN: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that need no token: the kubelet and Prometheus have none, and nothing there names a job."""

TOKEN_HEADER: Final = "X-Jobledger-Token"  # noqa: S105 - the name of a header
"""Stands for `Authorization`, which the API server takes away when it proxies to a service."""

CONTRACT: Final = "/v1/contract/"
"""Below it nobody needs a token either: schemas of the public contract, the same on every server of a release."""

_LONGEST: Final = 32 << 10
"""Bytes of a token. Those of large organisations, with every group in them, have some ten thousand."""


class ClusterGuard:
    """Middleware that lets only callers through whom the API server knows; the others get what `refusal` makes."""

    def __init__(self, app: ASGIApp, reviews: Reviews, refusal: Refusal | None = None) -> None:
        self._app, self._reviews, self._refusal = app, reviews, refusal or problem_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http" and not _is_open(scope["path"]):
            try:
                _introduce(scope, await self._reviews.caller(token(Headers(scope=scope))))
            except (Unauthenticated, ClusterUnavailable) as error:
                await self._refusal(Request(scope), error)(scope, receive, send)
                return
            wrong = _foreign(Headers(scope=scope))
            if wrong:
                await problem(403, "forbidden", wrong)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(CONTRACT)


def _foreign(headers: Headers) -> str:
    """Why a request is refused that a page of another site makes: a proxy may add the token to whatever comes."""
    origin = headers.get("origin")
    if origin is None or origin.lower().partition("://")[2] == headers.get("host", "").lower():
        return ""
    return f'a page of "{origin}" asks; only pages of this server itself may'


def token(headers: Headers) -> str:
    """The bearer token of a request. Raises Unauthenticated when there is none."""
    own = headers.get(TOKEN_HEADER, "")
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    token = (own or (secret if scheme.lower() == "bearer" else "")).strip()
    if not token:
        raise Unauthenticated(f"say who asks, with a token in Authorization (Bearer) or in {TOKEN_HEADER}")
    if len(token) > _LONGEST or not (token.isascii() and token.isprintable()):
        raise Unauthenticated("the token is none: it is too long, or holds characters that no token has")
    return token


def _introduce(scope: Scope, caller: Caller) -> None:
    scope.setdefault("state", {})["caller"] = caller
