"""The HTTP API of a running controller: small, local, and the same data as the command line."""

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from jobledger.api.guards import LocalOnly
from jobledger.api.jobs import routes
from jobledger.api.problems import install
from jobledger.api.streams import Closing
from jobledger.app import App


def create(app: App, closing: Closing | None = None) -> FastAPI:
    """The ASGI application over `app`; its streams end when `closing` says so."""
    api = FastAPI(title="jobledger", docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json")
    api.state.jobledger = app
    api.add_middleware(LocalOnly)
    install(api)
    api.include_router(routes(app, closing or Closing()))
    _health(api, app)
    return api


def _health(api: FastAPI, app: App) -> None:
    @api.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @api.get("/readyz")
    async def readyz() -> JSONResponse:
        """The controller makes progress; what keeps it from that, if not."""
        troubles = await app.troubles()
        status = "not ready" if troubles else "ok"
        return JSONResponse({"status": status, "troubles": troubles}, 503 if troubles else 200)
