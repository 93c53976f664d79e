"""What a controller process answers from its start to its end: its health always, the rest when it can."""

from typing import Final

from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from jobledger.service.health import Health
from jobledger.telemetry.page import mount
from jobledger.web import health as of_health
from jobledger.web.problems import install, problem
from jobledger.web.streams import Closing

_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


class SwitchableApp:
    """An ASGI application that is another one: whichever is shown at the moment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._closing = app, Closing()

    def show(self, app: ASGIApp, closing: Closing | None = None) -> None:
        """From now on `app` answers; the streams of the one before it end. `closing` ends those of `app`."""
        self._closing.close()
        self._app, self._closing = app, closing or Closing()

    def close(self) -> None:
        """All streams end."""
        self._closing.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        await self._app(scope, receive, send)


def waiting(health: Health) -> FastAPI:
    """The application of a process that does not work yet: it starts, or waits for its turn."""
    api = _bare(health)
    mount(api, None)

    @api.api_route("/{path:path}", methods=_METHODS, include_in_schema=False)
    async def not_yet(path: str) -> Response:
        """Nobody works here yet."""
        troubles, notes = await health.readiness()
        return problem(503, "unavailable", "; ".join([*troubles, *notes]) or "the controller is starting")

    return api


def without_front(health: Health) -> FastAPI:
    """The application of a process that works without the role of a front: health and metrics."""
    api = _bare(health)
    if health.controller is not None:
        mount(api, health.controller)
    return api


def _bare(health: Health) -> FastAPI:
    api = FastAPI(title="jobledger", docs_url=None, redoc_url=None, openapi_url=None)
    install(api)
    api.include_router(of_health.routes(health))
    return api
