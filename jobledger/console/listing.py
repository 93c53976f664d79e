"""The list of jobs: `/jobs`, whole or as the piece that refreshes itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from jobledger.console.allowed_actions import offered
from jobledger.console.frame import HEADERS, Console, Route, is_fragment, page, url
from jobledger.console.queries import ALL_COLUMNS, PHASES, SIZES, ListQuery, columns
from jobledger.web.cache import Cache
from jobledger.web.rights import Caller, caller_of, permitted
from projectors.history import JobFilter, Listed, ListPage
from projectors.history.listing import JobListing
from statemachine.kinds import KNOWN

COLUMNS_COOKIE: Final = "jobledger_columns"

_KEPT: Final = 10.0
"""Seconds for which the values to filter by are good: to find them takes a look at every job."""


def routes(console: Console) -> APIRouter:
    """`/` and `/jobs`."""
    router = APIRouter(route_class=Route)
    choices: Cache[frozenset[str] | None, Mapping[str, Sequence[str]]] = Cache(lambda _: _KEPT, 64)

    @router.get("/")
    async def start() -> Response:
        """The list is where one begins."""
        return RedirectResponse(url(console, "/jobs"), 303, HEADERS)

    @router.get("/jobs")
    async def jobs(request: Request, caller: Annotated[Caller, Depends(caller_of)]) -> Response:
        """The list, as the query wants it."""
        query, namespace = ListQuery.of(request.query_params), console.options.namespace
        listing = (await console.ready()).listing
        kinds = await listable(caller, namespace)
        wanted = query.wanted(kinds, namespace)
        listed = await page_of(listing, query, wanted)
        said = request.query_params.get("columns")
        context: dict[str, Any] = {
            "query": query,
            "rows": listed.rows,
            "total": listed.total,
            "last": (query.page - 1) * query.size + len(listed.rows),
            "columns": columns(request.cookies.get(COLUMNS_COOKIE, "") if said is None else said),
            "offered": offered,
            "gpus": gpus,
            "now": datetime.now(UTC),
        }
        if is_fragment(request):
            answer = page(request, "jobs/table.html", **context)
        else:
            key = None if wanted.kinds is None else frozenset(kinds)
            filters = await choices.get(key, lambda: listing.choices(replace(wanted, kinds=key)))
            answer = page(
                request,
                "jobs/list.html",
                filters={"phase": PHASES, "kind": kinds, **filters},
                sizes=SIZES,
                all_columns=ALL_COLUMNS,
                kinds=console.options.new_kinds,
                **context,
            )
        if said is not None:
            kept = ",".join(context["columns"])
            answer.set_cookie(COLUMNS_COOKIE, kept, max_age=365 * 86400, path="/", samesite="strict")
        return answer

    return router


async def listable(caller: Caller, namespace: str) -> Sequence[str]:
    """The kinds of which the caller may list the jobs there. The list has a job under the present name of its kind.

    Raises:
        NoRight: they may list none at all, under whatever name.
    """
    allowed = await permitted(caller, "list", namespace)
    return [kind for kind in KNOWN if kind in allowed]


async def page_of(listing: JobListing, query: ListQuery, wanted: JobFilter) -> ListPage:
    """The page of the list that the query means. Raises as `Listing.page`."""
    start = (query.page - 1) * query.size
    return await listing.page(
        wanted, sort=query.sort, descending=query.descending, start=start, size=query.size
    )


def gpus(row: Listed) -> str:
    """The extended resources of a job, as `nvidia.com/gpu 4`."""
    return ", ".join(f"{name} {count or 0:g}" for name, count in row.shown["extended"].items())
