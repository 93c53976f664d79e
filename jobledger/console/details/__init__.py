"""The pages of one job: overview, history, replicas with their logs, resources, YAML.

A job that is gone has them, too: what they show is folded from its entries, and where those cannot be had, the rows
of the history view are shown. Routes are asked in this order, before those of the actions, which share the path.
"""

from fastapi import APIRouter

from jobledger.console.details import history, logs, monitoring, pages, stream
from jobledger.console.details.lives import Lives
from jobledger.console.frame import Console, Route


def routes(console: Console) -> APIRouter:
    """`/jobs/<namespace>/<kind>/<name>` and what is below it, and `/live`, which tells pages of changes."""
    router, lives = APIRouter(route_class=Route), Lives(console.app)
    console_lives = router, console, lives
    pages.add(*console_lives)
    monitoring.add(*console_lives)
    history.add(*console_lives)
    logs.add(*console_lives)
    router.include_router(stream.routes(console, lives))
    return router
