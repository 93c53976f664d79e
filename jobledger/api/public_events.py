"""`/v1/events`: the public events of the ledger, a page at a time or as they come (ADR 0040).

One address, three forms by `Accept`: a page as one JSON array or as lines, and server-sent events. Who reads goes on
with the cursor of the last answer; nothing about a reader is kept here.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from jobledger.api.models import text
from jobledger.api.requests import Asking
from jobledger.console.frame import Console, url
from jobledger.program.errors import CursorRefused, NoRight, TooManyListeners, Unauthenticated
from jobledger.publishing.browsing import Browser, CursoredEvent, start
from jobledger.publishing.public_stream import PublicStream
from jobledger.publishing.selection import (
    Criteria,
    Envelope,
    Labels,
    Selection,
    Visible,
    severity_in,
    types_in,
)
from jobledger.web.rights import AccessRight, Caller
from jobledger.web.streams import HEARTBEAT, Closing
from jobledger.wiring.states import LatestStates
from k8s_bridge.selectors import Selector
from statemachine.errors import ClusterUnavailable, ConfigError, LogUnavailable, StoreUnusable
from statemachine.ids import JobUid
from statemachine.kinds import meant_by, names_of

BATCH: Final = "application/cloudevents-batch+json"
LINES: Final = "application/x-ndjson"
LIVE: Final = "text/event-stream"

CURSOR: Final = "Jobledger-Cursor"
AT_END: Final = "Jobledger-At-End"

MOST_STREAMS: Final = 16
"""Live streams of one caller. Source: spec events.md, section 8."""

_SHOWN: Final = 500
_MOST: Final = 1000
_LONGEST: Final = 60


class Asked(NamedTuple):
    """What a request wants."""

    criteria: Criteria
    after: str


def _asked(
    *,
    after: Annotated[
        str, Query(max_length=4096, description="`beginning`, `end`, a time of RFC 3339, or a cursor")
    ] = "beginning",
    type_: Annotated[
        list[str] | None, Query(alias="type", description="types with * for any text: job.failed, replica.*")
    ] = None,
    namespace: str = "",
    kind: str = "",
    job: Annotated[
        str, Query(description="name, namespace/name, or the beginning of a uid, four characters at least")
    ] = "",
    said: Annotated[str, Query(alias="labelSelector", description="of labels that the jobs have now")] = "",
    severity: Annotated[
        str, Query(description="INFO, WARN or ERROR: events of that severity and graver")
    ] = "",
    last: Annotated[
        str, Header(alias="Last-Event-ID", description="a cursor; stands for `after` where a stream goes on")
    ] = "",
) -> Asked:
    kinds = frozenset(names.kind for names in meant_by(kind))
    if kind and not kinds:
        raise ConfigError(f'there is no kind of job called "{kind:.100}"')
    criteria = Criteria(
        types_in(type_ or ()), namespace, kinds, job, Selector.of(said), severity_in(severity)
    )
    return Asked(criteria, last or after)


class LiveStreams:
    """How many streams each caller has open."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def admit(self, caller: Caller) -> Callable[[], None]:
        """One more; what is returned takes it off again. Raises TooManyListeners."""
        name = str(caller)
        if self._open[name] >= self._most:
            raise TooManyListeners(
                f"{name} has {self._most} streams of events open, as many as one caller may have; end one, or ask "
                "for pages with wait=60"
            )
        self._open[name] += 1

        def leave() -> None:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]

        return leave


def visible_to(caller: Caller) -> Visible:
    """Whether the caller may list the job that an event is about. Answers are kept by those who give them."""

    async def visible(envelope: Envelope) -> bool:
        names = names_of(str(envelope["apiversion"]), str(envelope["kind"]))
        everywhere = AccessRight.over(names, "list", "")
        return await caller.may(everywhere) or await caller.may(
            AccessRight.over(names, "list", str(envelope["namespace"]))
        )

    return visible


def labels_in(states: LatestStates) -> Labels:
    """The labels of jobs as the log has them now."""

    async def labels(job: JobUid) -> Mapping[str, str] | None:
        state = await states.past(job)
        if state is None and states.quarantined(job) is None:  # the events of its first entry may be quicker
            await states.fresh(job)
            state = await states.past(job)
        return None if state is None else state.labels

    return labels


def routes(console: Console, stream: PublicStream[Any]) -> APIRouter:
    """`/v1/events`."""
    router = APIRouter(prefix="/v1")
    streams = LiveStreams()
    labels = labels_in(console.app.controller.states)

    @router.get("/events", **text(BATCH, LINES, LIVE))
    async def events(
        request: Request,
        caller: Asking,
        asked: Annotated[Asked, Depends(_asked)],
        limit: Annotated[int, Query(ge=1, le=_MOST, description="events of a page at most")] = _SHOWN,
        wait: Annotated[
            float, Query(ge=0, le=_LONGEST, description="seconds to wait for the first event, at the end")
        ] = 0,
    ) -> Response:
        """Public events (CloudEvents 1.0, JSON), of jobs that the caller may list; those of others are passed over.

        A page has the header Jobledger-Cursor, and a link to the next one. It may be empty although more follows;
        at the end Jobledger-At-End is true. Server-sent events have the cursor as their id.
        """
        places = await start(stream, asked.after)
        selection = Selection(asked.criteria, visible_to(caller), labels)
        browser = Browser(stream, await stream.ledger(), places, selection)
        accept = ",".join(request.headers.getlist("accept"))
        if LIVE in accept:
            return _LiveResponse(_sent(browser, console.closing, caller), streams.admit(caller))
        page = await browser.page(limit, wait)
        query = [(name, value) for name, value in request.query_params.multi_items() if name != "after"]
        following = url(console, f"/v1/events?{urlencode([*query, ('after', page.cursor)])}")
        headers = {
            CURSOR: page.cursor,
            AT_END: str(page.at_end).lower(),
            "Link": f'<{following}>; rel="next"',
            "Cache-Control": "no-store",
        }
        lines = [event.placed.line for event in page.events]
        if LINES in accept:
            return Response(b"".join(line + b"\n" for line in lines), media_type=LINES, headers=headers)
        return Response(b"[%b]" % b",".join(lines), media_type=BATCH, headers=headers)

    return router


class _LiveResponse(StreamingResponse):
    """Server-sent events; `leave` is called once nobody listens, also where nobody ever did."""

    def __init__(self, body: AsyncIterator[bytes], leave: Callable[[], None]) -> None:
        super().__init__(
            body, media_type=LIVE, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See StreamingResponse."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


async def _sent(browser: Browser[Any], closing: Closing, caller: Caller) -> AsyncIterator[bytes]:
    """Blocks of a stream. One with an id alone moves the place at which a listener goes on, and shows no event."""
    yield _id(browser.handed_over)
    try:
        async for events in closing.until(browser.live(), HEARTBEAT, still=caller.still):
            yield _id(browser.handed_over) if events is None else _blocks(events)
    except (
        NoRight,
        Unauthenticated,
        CursorRefused,
        ClusterUnavailable,
        LogUnavailable,
        StoreUnusable,
    ) as error:
        yield f": the stream ends here: {' '.join(str(error).split())}\n\n".encode()


def _id(cursor: str) -> bytes:
    return f"id: {cursor}\n\n".encode()


def _blocks(events: Iterable[CursoredEvent]) -> bytes:
    return b"".join(
        b"id: %b\nevent: %b\ndata: %b\n\n"
        % (cursor.encode(), str(placed.event.attributes["type"]).encode(), placed.line)
        for placed, cursor in events
    )
