"""Log windows: the last lines, earlier ones, what is added, a search, and the whole log as a file."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, TypedDict

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from jobledger.api.rights import Caller, Right, caller_of, demand
from jobledger.api.streams import HEARTBEAT
from jobledger.console.details.lives import Lives
from jobledger.console.details.render import render
from jobledger.console.details.subject import JOB, Job, Subject
from jobledger.console.frame import HEADERS, Console
from jobledger.console.logs import follow, window
from jobledger.console.logs.sources import Bytes, Seekable, heard
from jobledger.console.logs.window import Matches, Window
from jobledger.errors import NotPossible, UnknownReplica
from jobledger.replicas import Attempt, chosen
from k8s_bridge.port import Cluster, LogPart, SeekableLogs, TailedLogs
from statemachine.errors import ClusterError, ClusterUnavailable, Missing
from statemachine.events import ReplicaCreated, ReplicaRequested
from statemachine.ids import ReplicaName
from statemachine.kinds import kind_of
from statemachine.log.entry import Entry

MOST: Final = 20_000
"""Lines that a window has at most, where earlier ones can only be had by asking for more."""

_NEAR: Final = 1 << 15
"""Bytes behind a match that are shown with it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which log is meant, as the address says it. `attempt` 0 is the newest."""

    replica: str = ""
    container: str = ""
    attempt: int = 0
    previous: bool = False
    lines: int = window.LINES


def _choice(
    *,
    replica: Annotated[str, Query(max_length=253)] = "",
    container: Annotated[str, Query(max_length=253)] = "",
    attempt: Annotated[int, Query(ge=0, le=10**6)] = 0,
    previous: bool = False,
    tail: Annotated[int, Query(ge=1, le=MOST)] = window.LINES,
) -> Choice:
    return Choice(replica, container, attempt, previous, tail)


Asking = Annotated[Caller, Depends(caller_of)]
Chosen = Annotated[Choice, Depends(_choice)]
Place = Annotated[int | None, Query(ge=0)]


class _Which(TypedDict):
    uid: str
    container: str
    previous: bool


@dataclass(frozen=True)
class Log:
    """One container's log of one attempt: what its pod is called, and what else could be looked at.

    `restarted`: the container has been started again in its pod, which keeps what it wrote before.
    """

    cluster: Cluster
    namespace: str
    pod: str
    attempt: Attempt
    newest: bool
    container: str
    previous: bool
    restarted: bool
    containers: Sequence[str]
    attempts: Sequence[Attempt]

    @property
    def seekable(self) -> bool:
        """It can be read at any place."""
        return isinstance(self.cluster, SeekableLogs)

    async def source(self, lines: int) -> Bytes:
        """The log, or as much of its end as has `lines` lines. Raises Missing."""
        cluster = self.cluster
        if isinstance(cluster, SeekableLogs):
            return Seekable(partial(self._part, cluster))
        if isinstance(cluster, TailedLogs):
            return await heard(cluster.log_tail(self.namespace, self.pod, lines, **self._which()))
        return await heard(cluster.logs(self.namespace, self.pod, **self._which()))

    def _part(self, cluster: SeekableLogs, start: int, length: int) -> LogPart:
        return cluster.log_part(self.namespace, self.pod, start, length, **self._which())

    def _which(self) -> "_Which":
        return {"uid": self.attempt.uid, "container": self.container, "previous": self.previous}

    async def news(self, at: int) -> AsyncIterator[follow.News]:
        """What is added behind byte `at`; of a stream, its last lines again and what is added."""
        if self.seekable:
            return follow.added(await self.source(0), at)
        cluster, goes_on = self.cluster, not self.previous
        if isinstance(cluster, TailedLogs):
            return follow.heard_on(
                cluster.log_tail(self.namespace, self.pod, window.LINES, **self._which(), follow=goes_on)
            )
        return follow.heard_on(self.followed())

    def followed(self) -> AsyncIterator[bytes]:
        """All of it, and what is added."""
        return self.cluster.logs(self.namespace, self.pod, **self._which(), follow=not self.previous)

    def whole(self) -> AsyncIterator[bytes]:
        """All of it, as it was written."""
        return self.cluster.logs(self.namespace, self.pod, **self._which(), follow=False)


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The routes."""
    app = console.app

    async def log_of(subject: Job, caller: Asking, choice: Chosen) -> Log:
        await demand(caller, Right("get", "", "pods", subject.namespace, subresource="log"))
        life = await lives.of(subject.uid)
        return chosen_log(app.cluster, subject, attempts(life.entries), choice)

    meant = Annotated[Log, Depends(log_of)]

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
        found, note, seen, matches = None, "", None, None
        try:
            found = await log_of(subject, caller, choice)
            seen = await _window(found, choice.lines, before, near)
            if q and near is None and before is None:
                matches = await window.search(await found.source(MOST), q)
        except (ClusterError, UnknownReplica, NotPossible) as error:  # a node may be silent, too
            note = str(error)
        context = {
            "choice": choice,
            "log": found,
            "window": seen,
            "note": note,
            "q": q,
            "matches": matches,
            "live": seen is not None and before is None and near is None,
        }
        return render(request, "log.html", subject, tab="replicas", **context)

    @router.get(JOB + "/log/earlier")
    async def earlier(log: meant, before: Annotated[int, Query(ge=0)]) -> Response:
        """The lines before a place, for a window that has those behind it."""
        seen = await window.before(await log.source(MOST), before)
        data = {"lines": seen.lines, "begin": seen.begin, "first": seen.first}
        return JSONResponse(data, headers={**HEADERS, "Cache-Control": "no-store"})

    @router.get(JOB + "/log/search")
    async def search(
        request: Request, subject: Job, log: meant, choice: Chosen, *, q: str = "", before: Place = None
    ) -> Response:
        """The lines with something in them, the latest first."""
        matches: Matches = await window.search(await log.source(MOST), q[:200], before)
        return render(
            request, "matches.html", subject, tab="replicas", matches=matches, q=q, choice=choice, log=log
        )

    @router.get(JOB + "/log/follow")
    async def following(
        request: Request, log: meant, at: Annotated[int, Query(ge=0, alias="from")] = 0
    ) -> Response:
        """Server-sent events: what is added. A browser that lost the connection goes on where it was."""
        last = request.headers.get("last-event-id", "")
        news = await log.news(int(last) if last.isascii() and last.isdigit() and len(last) < 16 else at)

        async def body() -> AsyncIterator[str]:
            try:
                async for item in console.closing.until(news, HEARTBEAT):
                    yield ": alive\n\n" if item is None else _event(item)
            except ClusterUnavailable:  # the browser asks again, and goes on where it was
                return
            except ClusterError as error:
                yield f"event: gone\ndata: {json.dumps(str(error))}\n\n"

        headers = {**HEADERS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(body(), media_type="text/event-stream", headers=headers)

    @router.get(JOB + "/log/download")
    async def download(log: meant) -> Response:
        """The whole log, byte for byte."""
        pieces = log.whole()
        first = await _first(pieces, log)

        async def body() -> AsyncIterator[bytes]:
            yield first
            async for piece in console.closing.until(pieces):
                if piece:
                    yield piece

        before = ".previous" if log.previous else ""
        named = f'attachment; filename="{log.pod}.{log.attempt.number}.{log.container or "log"}{before}.log"'
        headers = {**HEADERS, "Content-Disposition": named, "Cache-Control": "no-store"}
        return StreamingResponse(body(), media_type="application/octet-stream", headers=headers)


async def _first(pieces: AsyncIterator[bytes], log: Log) -> bytes:
    """The first piece: what is wrong with the request shows here. Raises UnknownReplica."""
    try:
        return await anext(pieces, b"")
    except Missing as error:
        raise UnknownReplica(f"no log of replica {log.attempt.replica}: {error}") from error


def _event(news: follow.News) -> str:
    data = {"lines": news.lines, "tail": news.tail, "skipped": news.skipped, "ended": news.ended}
    return f"id: {news.end}\ndata: {json.dumps(data)}\n\n"


async def _window(log: Log, lines: int, before: int | None, near: int | None) -> Window:
    source = await log.source(lines)
    if near is not None:
        size = (await source.read(-1, 1)).size
        return await window.before(source, min(near + _NEAR, size))
    if before is not None:
        return await window.before(source, before)
    return await window.tail(source, lines)


def chosen_log(cluster: Cluster, subject: Subject, known: Sequence[Attempt], choice: Choice) -> Log:
    """The log that is meant. Raises UnknownReplica, NotPossible."""
    state = subject.state
    if state is None:
        raise NotPossible(f'job "{subject.name}" has no log: nothing has been decided about it yet')
    newest = chosen(state, known, choice.replica)
    of_replica = [each for each in known if each.replica == newest.replica]
    meant = newest
    if choice.attempt:
        found = next((each for each in of_replica if each.number == choice.attempt), None)
        if found is None:
            raise UnknownReplica(f"replica {newest.replica} has no attempt {choice.attempt}")
        meant = found
    replica = state.replicas.get(newest.replica)
    seen = replica.containers if replica else ()
    names = [
        each.name for each in sorted(seen, key=lambda each: each.init)
    ]  # the first is the one that trains
    container = choice.container or next(iter(names), "")
    restarted = meant == newest and any(each.restarts for each in seen if each.name == container)
    return Log(
        cluster,
        subject.namespace,
        kind_of(state.api_version, state.kind).pod_name(state, newest.replica),
        meant,
        meant == newest,
        container,
        choice.previous,
        restarted,
        names,
        of_replica,
    )


def attempts(entries: Sequence[Entry]) -> list[Attempt]:
    """Every pod of the job's life, oldest first."""
    found: list[Attempt] = []
    asked: dict[ReplicaName, int] = {}
    for entry in entries:
        for event in entry.events:
            if isinstance(event, ReplicaRequested):
                asked[event.replica] = event.attempt
            elif isinstance(event, ReplicaCreated):
                found.append(Attempt(event.replica, asked.get(event.replica, 1), event.uid))
    return found
