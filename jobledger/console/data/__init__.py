"""The console's server interface, `/api`: what its pages show and do, as JSON (spec console.md, section 6).

The data is that of the pages, and the changes are theirs; what has no counterpart there is that of `/v1`. Guards,
rights and errors are those of `/v1`: problems of RFC 9457, and for what breaks a rule 422 with `errors`.
"""

from fastapi import APIRouter

from jobledger.console.data import choices, health, jobs, logs, writing
from jobledger.console.data.asking import Route
from jobledger.console.details.lives import Lives
from jobledger.console.frame import Console


def routes(console: Console) -> APIRouter:
    """`/api` and what is below it."""
    router = APIRouter(prefix="/api", route_class=Route)
    lives = Lives(console.app)
    health.add(router, console)
    choices.add(router, console)
    writing.add(router, console)
    jobs.add(router, console, lives)
    logs.add(router, console, lives)
    return router
