"""Log windows: the last lines, earlier ones, a search, and the whole log as a file. `stream` has what is added."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import JSONResponse, Response

from jobledger.console.details.lives import Lives
from jobledger.console.details.log_target import MOST, Choice, Log, chosen_log
from jobledger.console.details.render import render
from jobledger.console.details.subject import JOB, Job, Subject
from jobledger.console.frame import HEADERS, Console
from jobledger.console.logs import window
from jobledger.console.logs.window import Matches, Window
from jobledger.program.errors import NotPossible, UnknownReplica
from jobledger.web.rights import AccessRight, Caller, caller_of, demand, still_may
from jobledger.web.streams import begun, log_response
from statemachine.errors import ClusterError, Missing

Number = Annotated[int, Query(ge=0, le=10**6)]

_NEAR: Final = 1 << 15
"""Bytes behind a match that are shown with it."""


def _choice(
    *,
    replica: Annotated[str, Query(max_length=253)] = "",
    container: Annotated[str, Query(max_length=253)] = "",
    attempt: Number = 0,
    previous: bool = False,
    tail: Annotated[int, Query(ge=1, le=MOST)] = window.LINES,
) -> Choice:
    return Choice(replica, container, attempt, previous, tail)


Asking = Annotated[Caller, Depends(caller_of)]
Chosen = Annotated[Choice, Depends(_choice)]
Place = Annotated[int | None, Query(ge=0)]

LogOf = Callable[[Subject, Caller, Choice], Awaitable[Log]]
"""The log that is meant, for users who may read it."""


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The routes."""

    async def log_of(subject: Job, caller: Asking, choice: Chosen) -> Log:
        await demand(caller, _right(subject))
        life = await lives.of(subject.uid)
        return chosen_log(console.app.cluster, subject, life.attempts(), choice)

    _whole(router, log_of)
    _pieces(router, log_of)
    _download(router, console, log_of)


def _whole(router: APIRouter, log_of: LogOf) -> None:
    @router.get(JOB + "/log")
    async def shown(
        request: Request,
        subject: Job,
        caller: Asking,
        choice: Chosen,
        *,
        before: Place = None,
        near: Place = None,
        q: Annotated[str, Query(max_length=200)] = "",
    ) -> Response:
        """The window: the last lines, those before a place, or those around one."""
        log, note, part, matches = None, "", None, None
        try:
            log = await log_of(subject, caller, choice)
            part = await _window(log, choice.lines, before, near)
            if q and near is None and before is None:
                matches = await window.search(await log.source(MOST), q)
        except (ClusterError, UnknownReplica, NotPossible) as error:  # a node may be silent, too
            note = str(error)
        context = {
            "choice": choice,
            "log": log,
            "window": part,
            "note": note,
            "q": q,
            "matches": matches,
            "live": part is not None and before is None and near is None,
        }
        return render(request, "log.html", subject, tab="replicas", verbatim=True, **context)


def _pieces(router: APIRouter, log_of: LogOf) -> None:
    meant = Annotated[Log, Depends(log_of)]

    @router.get(JOB + "/log/newer")
    async def newer(
        request: Request, subject: Job, log: meant, since: Number = 0, restarts: Number = 0
    ) -> Response:
        """Whether the replica has begun anew since a window was opened; the piece asks again by itself."""
        has_begun = (log.attempt.number, log.restarts) != (since, restarts)
        context = {"log": log, "has_begun": has_begun, "since": since, "restarts": restarts}
        return render(request, "newer.html", subject, tab="replicas", **context)

    @router.get(JOB + "/log/earlier")
    async def earlier(log: meant, before: Annotated[int, Query(ge=0)]) -> Response:
        """The lines before a place, for a window that has those behind it."""
        part = await window.before(await log.source(MOST), before)
        data = {"lines": part.lines, "begin": part.begin, "first": part.first}
        return JSONResponse(data, headers={**HEADERS, "Cache-Control": "no-store"})

    @router.get(JOB + "/log/search")
    async def search(
        request: Request, subject: Job, log: meant, choice: Chosen, *, q: str = "", before: Place = None
    ) -> Response:
        """The lines with something in them, the latest first."""
        matches: Matches = await window.search(await log.source(MOST), q[:200], before)
        context = {"matches": matches, "q": q, "choice": choice, "log": log}
        return render(request, "matches.html", subject, tab="replicas", verbatim=True, **context)


def _download(router: APIRouter, console: Console, log_of: LogOf) -> None:
    meant = Annotated[Log, Depends(log_of)]

    @router.get(JOB + "/log/download")
    async def download(subject: Job, caller: Asking, log: meant) -> Response:
        """The whole log, byte for byte."""
        pieces = log.whole()
        first = await _first(pieces, log)
        before = ".previous" if log.previous else ""
        named = f'attachment; filename="{log.pod}.{log.attempt.number}.{log.container or "log"}{before}.log"'
        headers = {**HEADERS, "Content-Disposition": named, "Cache-Control": "no-store"}
        media_type = "application/octet-stream"
        still = still_may(caller, _right(subject))
        return log_response(
            console.closing, begun(first, pieces), still, media_type=media_type, headers=headers
        )


def _right(subject: Subject) -> AccessRight:
    return AccessRight("get", "", "pods", subject.namespace, subresource="log")


async def _first(pieces: AsyncIterator[bytes], log: Log) -> bytes:
    """The first piece: what is wrong with the request shows here. Raises UnknownReplica."""
    try:
        return await anext(pieces, b"")
    except Missing as error:
        raise UnknownReplica(f"no log of replica {log.attempt.replica}: {error}") from error


async def _window(log: Log, lines: int, before: int | None, near: int | None) -> Window:
    source = await log.source(lines)
    if near is not None:
        size = (await source.read(-1, 1)).size
        return await window.before(source, min(near + _NEAR, size))
    if before is not None:
        return await window.before(source, before)
    return await window.tail(source, lines)
