"""What the console's pages show of jobs: the list, a summary, Events, entries, replicas, metrics, YAML."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from jobledger.api import models, representations
from jobledger.api.models import answers
from jobledger.api.requests import JOB, Asking, Known, Namespace, place
from jobledger.console.details.children import rows_of, with_pods
from jobledger.console.details.lives import Lives
from jobledger.console.details.monitoring import Measurer, Wanted, failed
from jobledger.console.details.pages import launch
from jobledger.console.details.point_in_time import described_entries
from jobledger.console.details.render import offered
from jobledger.console.details.subject import Subject
from jobledger.console.frame import HEADERS, Console
from jobledger.console.listing import listable, page_of
from jobledger.console.queries import FILTERS, ListQuery
from jobledger.jobs.views import event_of
from jobledger.web.responses import yaml_answer
from jobledger.web.rights import AccessRight, demand
from statemachine.redact import redacted

ENTRIES: Final = 1000
"""Entries of a page of the history at most."""

Data = dict[str, Any]


def _parameter(name: str, **schema: Any) -> Data:
    return {"name": name, "in": "query", "schema": {"type": "string", **schema}}


_LIST: Final = {
    "parameters": [
        _parameter("q"),
        *(_parameter(name, type="array", items={"type": "string"}) for name in FILTERS),
        *(_parameter(name) for name in ("sort", "way")),
        *(_parameter(name, type="integer") for name in ("page", "size")),
    ]
}
"""The list reads its query itself: that of the page's own address."""


def routes(console: Console, lives: Lives) -> APIRouter:
    """`/summaries`, and what is below a job."""
    router = APIRouter(prefix="/v1")
    _listing(router, console)
    _life(router, console, lives)
    _pods(router, console, lives)
    return router


def _secretive(subject: Subject) -> list[Any]:
    """The job's spec, of which messages may quote secrets; empty for a job that only the history view knows."""
    return [subject.job.get("spec")] if subject.job else []


def _listing(router: APIRouter, console: Console) -> None:
    @router.get("/summaries", **answers(models.Rows), openapi_extra=_LIST)
    async def summaries(request: Request, caller: Asking, namespace: Namespace = "") -> Data:
        """A page of the list; filters, order and paging are those of the list's own address."""
        query = ListQuery.strictly(request.query_params, "namespace")
        where = place(console, namespace)
        kinds = await listable(caller, where)
        listing = (await console.ready()).listing
        page = await page_of(listing, query, query.wanted(kinds, where))
        return {
            "items": [representations.listed(row) for row in page.rows],
            "total": page.total,
            "page": query.page,
            "size": query.size,
        }


def _life(router: APIRouter, console: Console, lives: Lives) -> None:
    @router.get(JOB + "/events", **answers(models.Events))
    async def events(subject: Known, caller: Asking) -> Data:
        """The Kubernetes Events of a job, oldest first."""
        await demand(caller, AccessRight("list", "", "events", subject.namespace))
        events = await console.app.events(subject.job) if subject.job else ()
        return {"items": redacted([event_of(event) for event in events], *_secretive(subject))}

    @router.get(JOB + "/entries", **answers(models.Entries))
    async def entries(
        subject: Known,
        *,
        page: Annotated[int, Query(ge=1, le=10**6)] = 1,
        size: Annotated[int, Query(ge=1, le=ENTRIES)] = ENTRIES,
    ) -> Data:
        """The entries of the job's life in words: time, cause, actor, events, phases before and after."""
        start = (page - 1) * size
        life = await lives.of(subject.uid)
        items: list[Data] = []
        if total := len(life) if life.entries else 0:
            last = min(start + size, total)
            items = (
                [representations.entry(line) for line in described_entries(life, start + 1, last)]
                if start < last
                else []
            )
        elif subject.remembered:
            rows = await console.history.entries(subject.remembered.uid)
            total, items = len(rows), [representations.remembered(row) for row in rows[start : start + size]]
        items = redacted(items, *_secretive(subject))
        return {"items": items, "total": total, "page": page, "size": size, "doubt": life.doubt}


def _pods(router: APIRouter, console: Console, lives: Lives) -> None:
    measurer = Measurer(console, lives)

    @router.get(JOB + "/summary", **answers(models.Summary))
    async def summary(subject: Known) -> Data:
        """The job: canonical spec, status, sums, restarts, command lines, and what can be done with it now."""
        rows = with_pods(subject.state, await rows_of(lives, subject))
        return representations.job(subject, rows, launch(subject), offered(subject))

    @router.get(JOB + "/replicas", **answers(models.Replicas))
    async def replicas(subject: Known) -> Data:
        """Every replica with its pod, containers, restarts and what was wrong."""
        rows = with_pods(subject.state, await rows_of(lives, subject))
        return {"items": redacted([representations.fields(row) for row in rows], *_secretive(subject))}

    @router.get(JOB + "/metrics", **answers(models.Metrics))
    async def metrics(subject: Known, caller: Asking, asked: Wanted) -> Data:
        """What the pods use over time; without a source, requests and limits alone."""
        await demand(caller, AccessRight("list", "", "pods", subject.namespace))
        measuring = await measurer.of(subject, caller, asked)
        panels = await measuring.all() if measuring else ()
        return {
            "source": measurer.is_configured,
            "range": asked.range,
            "by": asked.by,
            "sums": representations.sums(subject),
            "panels": [representations.panel(panel, failed("en", panel)) for panel in panels],
        }

    @router.get(JOB + "/yaml", **models.text("application/yaml"), response_class=Response)
    async def manifest(subject: Known) -> Response:
        """The object as YAML, secrets taken out."""
        return yaml_answer(subject.job or {}, {**HEADERS, "Cache-Control": "no-store"})
