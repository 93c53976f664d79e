"""What a replica writes, as a text: all of it, or its last lines, and with `follow` what is added."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from jobledger.api.models import text
from jobledger.api.requests import JOB, Asking, Known
from jobledger.console.details.lives import Lives
from jobledger.console.details.log_target import MOST, Choice, Log, chosen_log
from jobledger.console.frame import Console
from jobledger.console.logs import window
from jobledger.console.logs.sources import heard
from jobledger.program.errors import NotPossible, UnknownReplica
from jobledger.web.rights import AccessRight, demand, over, still_may
from jobledger.web.streams import begun, log_response
from k8s_bridge.port import TailedLogs
from statemachine.errors import Missing


def routes(console: Console, lives: Lives) -> APIRouter:
    """`/logs` of a job."""
    router, app = APIRouter(prefix="/v1"), console.app

    @router.get(JOB + "/logs", **text("text/plain"), response_class=StreamingResponse)
    async def logs(
        subject: Known,
        caller: Asking,
        *,
        replica: Annotated[str, Query(description="its name, or that of its pod; default: the primary")] = "",
        container: str = "",
        tail: Annotated[int | None, Query(ge=1, le=MOST, description="lines; default: all")] = None,
        previous: bool = False,
        follow: bool = False,
    ) -> StreamingResponse:
        """What a replica writes; with `follow` until it ends."""
        right = AccessRight("get", "", "pods", subject.namespace, subresource="log")
        await demand(caller, right)
        if subject.job is None:
            raise NotPossible(f'job "{subject.name}" has no log: nothing has been decided about it yet')
        still = still_may(caller, over(subject.job, "get"), right)
        if tail is not None and not previous:
            attempts = (await lives.of(subject.uid)).attempts()
            log = chosen_log(app.cluster, subject, attempts, Choice(replica, container))
            return log_response(console.closing, await ended(log, tail, follow=follow), still)
        pieces = await app.logs(
            subject.job, replica=replica, container=container, previous=previous, follow=follow
        )
        if tail is not None:
            pieces = _pieces(await window.tail(await heard(pieces), tail), tail)
        return log_response(console.closing, pieces, still)

    return router


async def ended(log: Log, tail: int, *, follow: bool) -> AsyncIterator[bytes]:
    """The last `tail` lines of a log, then what is added. Raises UnknownReplica where there is none."""
    try:
        if log.seekable:
            source = await log.source(tail)
            last = await window.tail(source, tail)
            return _followed(log, last, tail) if follow else _pieces(last, tail)
        if isinstance(log.cluster, TailedLogs):
            pieces = log.cluster.log_tail(
                log.namespace, log.pod, tail, uid=log.attempt.uid, container=log.container, follow=follow
            )
            return begun(await anext(pieces, b""), pieces)
        if follow:  # it can only be heard from its beginning
            pieces = log.followed()
            return begun(await anext(pieces, b""), pieces)
        return _pieces(await window.tail(await log.source(tail), tail), tail)
    except Missing as error:
        raise UnknownReplica(f"no log of replica {log.attempt.replica}: {error}") from error


async def _pieces(shown: window.Window, tail: int) -> AsyncIterator[bytes]:
    yield _lines(shown, tail) + shown.tail.encode()


async def _followed(log: Log, shown: window.Window, tail: int) -> AsyncIterator[bytes]:
    """The window's lines, then every line that is added once it is whole."""
    yield _lines(shown, tail)
    async for news in await log.news(shown.end):
        yield _text(news.lines) + (news.tail.encode() if news.ended else b"")


def _lines(shown: window.Window, tail: int) -> bytes:
    """The whole lines among the last `tail`, of which one may be unfinished."""
    return _text(shown.lines[1:] if shown.tail and len(shown.lines) == tail else shown.lines)


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
