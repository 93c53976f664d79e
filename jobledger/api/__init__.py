"""The HTTP API of a running controller: small, local, and the same data as the command line."""

from fastapi import FastAPI

from jobledger.api import health, start
from jobledger.api.answers import Answer
from jobledger.api.guards import ClusterGuard, LocalOnly
from jobledger.api.jobs import routes
from jobledger.api.limits import Limits
from jobledger.api.lives import lives
from jobledger.api.problems import Refusal, install
from jobledger.api.reviews import Reviews
from jobledger.api.streams import Closing
from jobledger.app import App
from jobledger.telemetry.page import mount


def create(
    app: App,
    closing: Closing | None = None,
    reviews: Reviews | None = None,
    refusal: Refusal | None = None,
) -> FastAPI:
    """The ASGI application over `app`; its streams end when `closing` says so.

    With `reviews` it serves a cluster: whoever shows a token that the API server knows, as far as their rights
    there go. Without, it serves this machine alone, and everybody on it who can reach it. Every error is answered
    with a problem, or what `refusal` makes of it.
    """
    api = FastAPI(
        title="jobledger",
        docs_url=None,
        redoc_url=None,
        openapi_url=start.DESCRIPTION,
        default_response_class=Answer,
    )
    api.state.jobledger = app
    api.add_middleware(Limits)
    if reviews is None:
        api.add_middleware(LocalOnly)
    else:
        api.add_middleware(ClusterGuard, reviews=reviews, refusal=refusal)
    install(api, refusal)
    api.include_router(start.routes())
    api.include_router(routes(app, closing or Closing()))
    api.include_router(lives())
    api.include_router(health.routes(app.health))
    mount(api, app.controller)
    return api
