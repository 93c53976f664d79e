"""Who may talk to the server: programs of this machine, and no page of somebody else's in a browser.

A web page can make a browser send requests to 127.0.0.1; what it cannot do is choose their Host and Origin
headers. A foreign Host means that a name of somebody else's was bent to this address, a foreign Origin that
another page asks.
"""

from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from jobledger.api.problems import problem

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
        await self._app(scope, receive, send)
