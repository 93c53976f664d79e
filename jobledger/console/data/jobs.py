"""Reading: the list, a job, its events, history, replicas, metrics and YAML."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from jobledger.api.answers import yaml_answer
from jobledger.api.rights import Right, demand
from jobledger.console import queries
from jobledger.console.data import shown
from jobledger.console.data.asking import JOB, Asking, Job, Namespace, place
from jobledger.console.details.asof import told
from jobledger.console.details.children import rows_of, with_pods
from jobledger.console.details.lives import Lives
from jobledger.console.details.monitoring import Measurer, Wanted, failed
from jobledger.console.details.pages import launch
from jobledger.console.details.render import offered
from jobledger.console.details.subject import Subject
from jobledger.console.frame import HEADERS, Console
from jobledger.console.listing import listable, page_of
from jobledger.views import event_of
from statemachine.redact import redacted

ENTRIES: Final = 1000
"""Entries of a page of the history at most."""

Data = dict[str, Any]


def spec_of(subject: Subject) -> list[Any]:
    """The job's spec, of which messages may quote secrets; empty for a job that only the history view knows."""
    return [subject.job.get("spec")] if subject.job else []


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The routes."""
    app, measurer = console.app, Measurer(console, lives)

    @router.get("/jobs")
    async def jobs(request: Request, caller: Asking, namespace: Namespace = "") -> Data:
        """A page of the list; filters, order and paging are those of the list's own address."""
        query = queries.Query.strictly(request.query_params, "namespace")
        meant = place(console, namespace)
        listing = (await console.ready()).listing
        kinds = await listable(caller, meant)
        found = await page_of(listing, query, query.wanted(kinds, meant))
        return {
            "items": [shown.listed(each) for each in found.rows],
            "total": found.total,
            "page": query.page,
            "size": query.size,
        }

    @router.get(JOB)
    async def job(subject: Job) -> Data:
        """The job: canonical spec, status, sums, restarts, command lines."""
        rows = with_pods(subject.state, await rows_of(lives, subject))
        return shown.job(subject, rows, launch(subject), offered(subject))

    @router.get(JOB + "/events")
    async def events(subject: Job, caller: Asking) -> Data:
        """The Kubernetes Events of the job, oldest first."""
        await demand(caller, Right("list", "", "events", subject.namespace))
        found = await app.events(subject.job) if subject.job else ()
        return {"items": redacted([event_of(each) for each in found], *spec_of(subject))}

    @router.get(JOB + "/history")
    async def history(
        subject: Job,
        *,
        page: Annotated[int, Query(ge=1, le=10**6)] = 1,
        size: Annotated[int, Query(ge=1, le=ENTRIES)] = ENTRIES,
    ) -> Data:
        """The entries of the job's life, oldest first: time, cause, actor, events, phases before and after."""
        start = (page - 1) * size
        life = await lives.of(subject.uid)
        items: list[Data]
        if life.entries:
            total = len(life)
            last = min(start + size, total)
            items = [shown.entry(each) for each in told(life, start + 1, last)] if start < last else []
        elif subject.remembered:
            rows = await console.history.entries(subject.remembered.uid)
            total, items = len(rows), [shown.remembered(each) for each in rows[start : start + size]]
        else:
            total, items = 0, []
        items = redacted(items, *spec_of(subject))
        return {"items": items, "total": total, "page": page, "size": size, "doubt": life.doubt}

    @router.get(JOB + "/replicas")
    async def replicas(subject: Job) -> Data:
        """Every replica with its pod, containers, restarts and what was wrong."""
        rows = with_pods(subject.state, await rows_of(lives, subject))
        return {"items": redacted([shown.fields(each) for each in rows], *spec_of(subject))}

    @router.get(JOB + "/metrics")
    async def metrics(subject: Job, caller: Asking, asked: Wanted) -> Data:
        """What the pods use over time; without a source, requests and limits alone."""
        await demand(caller, Right("list", "", "pods", subject.namespace))
        found = await measurer.of(subject, caller, asked)
        panels = await found.all() if found else ()
        return {
            "source": measurer.is_configured,
            "range": asked.range,
            "by": asked.by,
            "sums": shown.sums(subject),
            "panels": [shown.panel(each, failed("en", each)) for each in panels],
        }

    @router.get(JOB + "/yaml")
    async def manifest(subject: Job) -> Response:
        """The object as YAML, secrets taken out."""
        return yaml_answer(subject.job or {}, {**HEADERS, "Cache-Control": "no-store"})
