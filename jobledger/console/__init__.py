"""The web console: pages over the history view and the job kinds' models, served beside the API.

It reads the read model (`projectors.history`), and writes job objects through the `App`, as the API does. See
docs/console.md, and ADR 0014 for why it is made like this.
"""

from collections.abc import Callable
from typing import Final

from fastapi import APIRouter, FastAPI

from jobledger.api import create as create_api
from jobledger.api.reviews import Reviews
from jobledger.api.streams import Closing
from jobledger.app import App
from jobledger.console import about, actions, assets, data, details, labels, listing
from jobledger.console import create as creating
from jobledger.console.frame import Console, Options, refused

__all__ = ["PAGES", "Console", "Options", "create"]

PAGES: Final[tuple[Callable[[Console], APIRouter], ...]] = (
    assets.routes,
    about.routes,
    data.routes,
    listing.routes,
    labels.routes,
    creating.routes,
    details.routes,  # before the actions, whose paths would fit
    actions.routes,
)
"""The modules of the console, a line each; what is asked for goes to the first whose path fits."""


def create(
    app: App,
    closing: Closing | None = None,
    reviews: Reviews | None = None,
    options: Options | None = None,
) -> FastAPI:
    """The ASGI application over `app`: the API behind the guard that it chooses, and the console's pages."""
    closing = closing or Closing()
    api = create_api(app, closing, reviews, refused)
    console = api.state.console = Console(app, closing, options or Options())
    for routes in PAGES:
        api.include_router(routes(console), include_in_schema=False)
    return api
