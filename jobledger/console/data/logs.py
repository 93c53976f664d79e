"""What a replica writes, as a text: all of it, or its last lines, and with `follow` what is added."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from jobledger.api.rights import Right, demand, still_may
from jobledger.api.streams import begun, log_response
from jobledger.console.data.asking import JOB, Asking, Job
from jobledger.console.details.lives import Lives
from jobledger.console.details.whichlog import MOST, Choice, Log, chosen_log
from jobledger.console.frame import Console
from jobledger.console.logs import window
from jobledger.console.logs.sources import heard
from jobledger.errors import NotPossible, UnknownReplica
from k8s_bridge.port import TailedLogs
from statemachine.errors import Missing


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The route."""
    app = console.app

    @router.get(JOB + "/replicas/{pod}/log")
    async def log(
        subject: Job,
        caller: Asking,
        pod: str,
        *,
        container: str = "",
        tail: Annotated[int | None, Query(ge=1, le=MOST, description="lines; default: all")] = None,
        follow: bool = False,
        previous: bool = False,
    ) -> StreamingResponse:
        """What the replica (its name, or its pod's) writes; with `follow` until it ends."""
        right = Right("get", "", "pods", subject.namespace, subresource="log")
        await demand(caller, right)
        if subject.job is None:
            raise NotPossible(f'job "{subject.name}" has no log: nothing has been decided about it yet')
        if tail is None:
            pieces = await app.logs(
                subject.job, replica=pod, container=container, previous=previous, follow=follow
            )
        elif previous:
            source = await heard(await app.logs(subject.job, replica=pod, container=container, previous=True))
            pieces = _pieces(await window.tail(source, tail), tail)
        else:
            life = await lives.of(subject.uid)
            held = chosen_log(app.cluster, subject, life.attempts(), Choice(pod, container))
            pieces = await ended(held, tail, follow=follow)
        return log_response(console.closing, pieces, still_may(caller, right))


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


async def _pieces(seen: window.Window, tail: int) -> AsyncIterator[bytes]:
    yield _lines(seen, tail) + seen.tail.encode()


async def _followed(log: Log, seen: window.Window, tail: int) -> AsyncIterator[bytes]:
    """The window's lines, then every line that is added once it is whole."""
    yield _lines(seen, tail)
    async for news in await log.news(seen.end):
        yield _text(news.lines) + (news.tail.encode() if news.ended else b"")


def _lines(seen: window.Window, tail: int) -> bytes:
    """The whole lines among the last `tail`, of which one may be unfinished."""
    return _text(seen.lines[1:] if seen.tail and len(seen.lines) == tail else seen.lines)


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{each}\n" for each in lines).encode()
