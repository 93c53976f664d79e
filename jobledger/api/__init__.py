"""The HTTP API of a running controller, `/v1`, beside the console's pages.

The same data as the command line and the console show. `/v1/openapi.json` describes it, from the routes and `models`;
why it is one API, and what became of `/api`, is ADR 0033.
"""

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from jobledger.api import (
    alias,
    alias_changes,
    choices,
    contract,
    discovery,
    freshness,
    jobs,
    lives,
    logs,
    parts,
    public_events,
    validation,
)
from jobledger.console import PAGES
from jobledger.console.details.lives import Lives
from jobledger.console.frame import Console, ConsoleOptions, refused
from jobledger.publishing.naming import unnamed
from jobledger.publishing.projected import Named, ProjectedStream
from jobledger.publishing.public_stream import PublicStream
from jobledger.service.app import App
from jobledger.telemetry.page import mount
from jobledger.web import health
from jobledger.web.guards import ClusterGuard, LocalOnly
from jobledger.web.limits import Limits
from jobledger.web.problems import install
from jobledger.web.responses import RedactedResponse
from jobledger.web.reviews import Reviews
from jobledger.web.streams import Closing


def create(
    app: App,
    closing: Closing | None = None,
    reviews: Reviews | None = None,
    options: ConsoleOptions | None = None,
    named: Named = unnamed,
    *,
    topic: PublicStream[Any] | None = None,
) -> FastAPI:
    """The ASGI application over `app`, whose ledger is `named`; its streams end when `closing` says so.

    Public events come from `topic`, where there is one that has all of them, else from the entries of the log.

    With `reviews` it serves a cluster: callers with a token that the API server knows, as far as their rights
    there go. Without, it serves this machine alone, and everybody on it who can reach it. Every error is answered
    with a problem, or a page of the console where one is wanted.
    """
    console = Console(app, closing or Closing(), options or ConsoleOptions())
    api = discovery.DescribedApi(
        title="jobledger",
        version=version("jobledger"),
        description="Distributed training jobs: their objects, their lives, and what the console shows of them.",
        docs_url=None,
        redoc_url=None,
        servers=[{"url": console.options.base or "/"}],
        openapi_url=discovery.DESCRIPTION,
        default_response_class=RedactedResponse,
    )
    api.guarded = reviews is not None
    api.state.jobledger, api.state.console = app, console
    api.add_middleware(alias.Alias, console=console)
    api.add_middleware(Limits)
    if reviews is None:
        api.add_middleware(LocalOnly)
    else:
        api.add_middleware(ClusterGuard, reviews=reviews, refusal=refused)
    install(api, refused)
    kept = Lives(app)
    stream = topic or ProjectedStream(app.controller.ledger.partitions, named, app.feed.listening)
    for router in (
        discovery.routes(console),
        contract.routes(),
        public_events.routes(console, stream),
        jobs.routes(console),
        validation.routes(console),
        parts.routes(console, kept),
        logs.routes(console, kept),
        lives.routes(),
        choices.routes(console),
        freshness.routes(console),
        health.routes(app.health),
    ):
        api.include_router(router)
    mount(api, app.controller)
    api.include_router(alias_changes.routes(console), include_in_schema=False)
    for pages in PAGES:
        api.include_router(pages(console), include_in_schema=False)
    return api
