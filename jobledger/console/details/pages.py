"""Overview, replicas, resources and YAML of a job."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from jobledger.console.details.children import (
    group_of,
    known_gang,
    made_pods,
    pod_of,
    readable,
    rows_of,
    with_pods,
)
from jobledger.console.details.events import SHOWN, events_of, events_of_pod, may_read
from jobledger.console.details.lives import Lives
from jobledger.console.details.overview import (
    address_of,
    claims,
    containers,
    group_phase,
    importance,
    modes,
    queue_of,
)
from jobledger.console.details.picturing import of_remembered, small
from jobledger.console.details.point_in_time import by_change
from jobledger.console.details.render import render
from jobledger.console.details.replicas import ALL_COLUMNS, ALWAYS, described
from jobledger.console.details.replicas import columns as chosen_columns
from jobledger.console.details.subject import JOB, Job, Subject
from jobledger.console.details.why import why
from jobledger.console.frame import HEADERS, Console
from jobledger.console.words import language_of
from jobledger.program.errors import UnknownReplica
from jobledger.web.responses import yaml_answer, yaml_of
from jobledger.web.rights import Caller, caller_of
from k8s_bridge.port import Ref
from projectors.history.facts import resources
from statemachine.budget import budget
from statemachine.kind import Kind
from statemachine.kinds import kind_of
from statemachine.redact import redacted
from statemachine.rules.driver import driver_of

ROWS: Final = 100
"""Replicas on a page."""

COLUMNS_COOKIE: Final = "jobledger_replica_columns"

LONG: Final = 500
"""Entries from which on a life that goes on is not drawn anew at each of them."""

Asking = Annotated[Caller, Depends(caller_of)]
Short = Annotated[str, Query(max_length=64)]


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The routes."""
    pages = _Pages(console, lives)

    @router.get(JOB)
    async def overview(
        request: Request, subject: Job, caller: Asking, events: Short = "", oldest: Short = ""
    ) -> Response:
        """What the job is, its conditions and events, and its life in small.

        `events=all` adds the events of its children; `oldest` turns the conditions round.
        """
        return await pages.overview(request, subject, caller, detailed=events == "all", oldest=bool(oldest))

    @router.get(JOB + "/header")
    async def header(request: Request, subject: Job) -> Response:
        """Name, status and actions, as they refresh themselves."""
        return render(request, "about.html", subject, tab="job")

    @router.get(JOB + "/replicas")
    async def replicas(
        request: Request,
        subject: Job,
        caller: Asking,
        *,
        type_: Annotated[str, Query(alias="type")] = "",
        page: Annotated[int, Query(ge=1, le=10**6)] = 1,
        columns: Annotated[str | None, Query(max_length=500)] = None,
    ) -> Response:
        """The replicas with their pods and containers; `columns` are kept by the browser."""
        shown = chosen_columns(request.cookies.get(COLUMNS_COOKIE, "") if columns is None else columns)
        answer = await pages.replicas(request, subject, caller, type_=type_, page=page, columns=shown)
        if columns is not None:
            kept = ",".join(shown)
            answer.set_cookie(COLUMNS_COOKIE, kept, max_age=365 * 86400, path="/", samesite="strict")
        return answer

    @router.get(JOB + "/replicas/{replica}")
    async def replica(request: Request, subject: Job, caller: Asking, replica: str) -> Response:
        """One replica: its containers and the pod's YAML."""
        return await pages.replica(request, subject, caller, replica)

    @router.get(JOB + "/manifest")
    async def manifest(request: Request, subject: Job) -> Response:
        """The object as YAML; of a job that is gone as the log has it, secrets taken out."""
        if "download" in request.query_params:
            return yaml_answer(subject.job or {}, HEADERS, download=subject.name)
        return render(request, "manifest.html", subject, tab="yaml", text=yaml_of(subject.job or {}))


class _Pages:
    """What the pages are made of."""

    def __init__(self, console: Console, lives: Lives) -> None:
        self._app, self._console, self._lives = console.app, console, lives

    async def overview(
        self, request: Request, subject: Subject, caller: Caller, *, detailed: bool, oldest: bool
    ) -> Response:
        """See `add`."""
        if subject.state is None or subject.job is None:
            return await self._remembered(request, subject)
        life = await self._lives.of(subject.uid)
        state, spec = subject.state, subject.job.get("spec") or {}
        asked, allowed = resources(state)
        kind = kind_of(state.api_version, state.kind)
        placed = kind.placing(state.spec or spec)
        return render(
            request,
            "overview.html",
            subject,
            tab="job",
            state=state,
            restarts=budget(state),
            conditions=by_change((subject.job.get("status") or {}).get("conditions") or (), oldest=oldest),
            oldest=oldest,
            why=await why(self._app, subject, life, caller, language_of(request)) if life.entries else None,
            picture=await asyncio.to_thread(small, request, subject, life) if life.entries else "",
            doubt=life.doubt,
            long=len(life) > LONG,
            claims=claims(spec),
            modes=modes(kind, state.spec, state.plan),
            driver=driver_of(state).rpartition("-")[0],
            placed=placed,
            importance=importance(placed),
            kueue=queue_of(state, language_of(request)),
            gang=next((owned.kind for owned in kind.owns if owned.gang), ""),
            group=group_phase(known_gang(state), await group_of(self._app, subject, caller)),
            sums=[(name, asked.get(name), allowed.get(name)) for name in sorted({*asked, *allowed})],
            launch=launch(subject),
            events=await events_of(self._app, subject, life, caller, detailed=detailed),
            detailed=detailed,
            may_events=await may_read(caller, subject.namespace),
            shown=SHOWN,
            links=await self._links(subject, kind, caller),
            now=datetime.now(UTC),
        )

    async def _remembered(self, request: Request, subject: Subject) -> Response:
        rows = await self._console.history.entries(subject.uid) if subject.remembered else []  # type: ignore[arg-type]
        picture = of_remembered(request, subject, rows) if rows else ""
        return render(request, "remembered.html", subject, tab="job", rows=rows, picture=picture)

    async def replicas(
        self,
        request: Request,
        subject: Subject,
        caller: Caller,
        *,
        type_: str,
        page: int,
        columns: Sequence[str],
    ) -> Response:
        """See `add`."""
        rows = await rows_of(self._lives, subject, language_of(request))
        shown = [row for row in rows if type_ in ("", row.type)]
        start = (page - 1) * ROWS
        return render(
            request,
            "replicas.html",
            subject,
            tab="replicas",
            columns=columns,
            all_columns=[column for column in ALL_COLUMNS if column != ALWAYS],
            rows=with_pods(subject.state, shown[start : start + ROWS]),
            total=len(shown),
            types=list(dict.fromkeys(row.type for row in rows)),
            type=type_,
            number=page,
            start=start,
            end=min(start + ROWS, len(shown)),
        )

    async def replica(self, request: Request, subject: Subject, caller: Caller, replica: str) -> Response:
        """See `add`. Raises UnknownReplica."""
        rows = await rows_of(self._lives, subject, language_of(request))
        row = next((candidate for candidate in rows if replica in (candidate.name, candidate.pod)), None)
        if row is None:
            raise UnknownReplica(f'job "{subject.name}" has no replica "{replica}"')
        pod, note = await pod_of(self._app, subject, row, caller)
        [row] = [described(row, redacted(pod))] if pod else with_pods(subject.state, [row])
        text = yaml_of(pod) if pod else ""
        life = await self._lives.of(subject.uid)
        marks = [mark for mark in life.timeline().marks if mark.replica == row.name] if life.entries else []
        conditions = ((pod or {}).get("status") or {}).get("conditions") or []
        return render(
            request,
            "replica.html",
            subject,
            tab="replicas",
            row=row,
            text=text,
            note=note,
            marks=marks,
            conditions=by_change(conditions),
            events=await events_of_pod(self._app, subject, row.uid, caller),
        )

    # ---- parts -----------------------------------------------------------------------------------------------

    async def _links(self, subject: Subject, kind: Kind, caller: Caller) -> Sequence[dict[str, Any]]:
        """What the status says of objects that answer somewhere, and where: for those who may get them."""
        status = (subject.job or {}).get("status") or {}
        links = [status[owned.link] for owned in kind.owns if owned.link and status.get(owned.link)]
        return [{**link, "address": await self._address(subject, link, caller)} for link in links]

    async def _address(self, subject: Subject, link: Mapping[str, Any], caller: Caller) -> str:
        if not link.get("ready"):
            return ""
        named = link["dependent"]
        ref = Ref(named["apiVersion"], named["kind"], subject.namespace, named["name"])
        return address_of(await readable(self._app, ref, caller) or {})


def launch(subject: Subject) -> str:
    """The command line of the primary replica, as jobledger makes it; empty where its image says what runs.

    Nobody knows it any more of a job of which nothing is left: its state has no spec.
    """
    state = subject.state
    if state is None or state.plan is None:
        return ""
    build = made_pods(state).get(state.plan.leading)
    return next((container.command for container in containers(redacted(build()))), "") if build else ""
