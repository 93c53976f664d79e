"""The history of a job: its life as a picture, and the job as it was at any moment of it.

The address names everything that is seen: `at` the moment, `from` and `to` the part of the picture, `axis` whether it
is drawn by time or by entries. A user with the address gets the same view.

Picture, moment and entries refresh by themselves: a move of the slider is answered with the moment alone.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request
from markupsafe import escape
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from jobledger.console.details.lives import KeptLife, Lives
from jobledger.console.details.picturing import Large, PictureQuery, large, of_remembered, seq_at
from jobledger.console.details.point_in_time import View, by_change, described_entries, moment, view, whole
from jobledger.console.details.render import render
from jobledger.console.details.subject import JOB, Job, Subject
from jobledger.console.frame import HEADERS, Console, is_fragment, url
from jobledger.console.words import language_of, say
from statemachine.errors import ConfigError

ENTRIES: Final = 100
"""Entries on a page of the table."""

PODS: Final = 50
"""Pods of a moment that are listed, so many fewer after a move, which is to be small."""

PODS_MOVED: Final = 25

LONG: Final = 500
"""Entries from which on a page is not asked for again at every one of them."""

Page = Annotated[int | None, Query(ge=1, le=10**6)]
Place = Annotated[float | None, Query(ge=0, le=100)]

_Text = Annotated[str, Query(max_length=64)]


def _asked(
    *,
    at: _Text = "",
    axis: _Text = "time",
    begin: Annotated[str, Query(max_length=64, alias="from")] = "",
    end: Annotated[str, Query(max_length=64, alias="to")] = "",
    every: _Text = "",
    oldest: _Text = "",
) -> PictureQuery:
    return PictureQuery(at, "entries" if axis == "entries" else "time", begin, end, bool(every), bool(oldest))


Wanted = Annotated[PictureQuery, Depends(_asked)]


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The routes."""

    async def drawn(
        request: Request, subject: Subject, asked: PictureQuery, part: str, page: int | None = None
    ) -> Response:
        """A part of the page. Without the log's entries there is none: the browser loads the page again."""
        life = await lives.of(subject.uid)
        if not life.entries:
            return Response(status_code=204, headers={**HEADERS, "HX-Refresh": "true"})
        context = await asyncio.to_thread(_PARTS[part], request, subject, life, asked, page)
        return render(request, f"{part}.html", subject, tab="history", **context)

    def named(answer: Response, subject: Subject, asked: PictureQuery, page: int | str = "") -> Response:
        """The answer; the browser's bar names the moment, if one was asked for."""
        if asked.at:
            address = subject.link("/history", **asked.but(page=page))
            answer.headers["HX-Replace-Url"] = url(console, address)
        return answer

    @router.get(JOB + "/history")
    async def history(
        request: Request, subject: Job, asked: Wanted, page: Page = None, place: Place = None
    ) -> Response:
        """The whole page: picture, slider, the moment, and the entries around it.

        `place` is where the slider was moved to, in percent of the picture: the address then names the entry there.
        """
        life = await lives.of(subject.uid)
        if not life.entries:
            return await _without_log(request, console, subject)
        asked = _placed(life, asked, place)
        context = await asyncio.to_thread(_whole, request, subject, life, asked, page)
        answer = render(request, "history.html", subject, tab="history", **context)
        return named(answer, subject, asked, page or "") if is_fragment(request) else answer

    @router.get(JOB + "/history/moment")
    async def at_moment(request: Request, subject: Job, asked: Wanted, place: Place = None) -> Response:
        """What a move of the slider changes: the moment, where the cursor stands, and the steps from there."""
        life = await lives.of(subject.uid)
        asked = _placed(life, asked, place) if life.entries else asked
        return named(await drawn(request, subject, asked, "moment"), subject, asked)

    @router.get(JOB + "/history/picture")
    async def pictured(request: Request, subject: Job, asked: Wanted) -> Response:
        """The picture, without a cursor: the same for all moments."""
        return await drawn(request, subject, asked, "picture")

    @router.get(JOB + "/history/entries")
    async def entries(request: Request, subject: Job, asked: Wanted, page: Page = None) -> Response:
        """The entries around the moment, or a page of them."""
        return await drawn(request, subject, asked, "entries", page)

    @router.get(JOB + "/history/raw")
    async def raw(subject: Job, at: Annotated[int, Query(ge=1)]) -> Response:
        """All fields of an entry."""
        life = await lives.of(subject.uid)
        if at > len(life):
            raise HTTPException(404, f"the job has no entry {at}")
        return HTMLResponse(escape(whole(life.entries[at - 1])), headers=HEADERS)


def _placed(life: KeptLife, asked: PictureQuery, place: float | None) -> PictureQuery:
    """What is asked for, at the entry where the slider stands."""
    if place is not None:
        with suppress(ConfigError):  # no such part of the picture: the page says so
            return replace(asked, at=str(seq_at(life, asked, place)))
    return asked


async def _without_log(request: Request, console: Console, subject: Subject) -> Response:
    rows = await console.history.entries(subject.uid) if subject.remembered else []  # type: ignore[arg-type]
    picture = of_remembered(request, subject, rows) if rows else ""
    return render(request, "remembered.html", subject, tab="history", rows=rows, picture=picture)


_Context = dict[str, Any]


def _known(life: KeptLife, asked: PictureQuery) -> tuple[PictureQuery, str, int]:
    """What is asked for as far as there is such a moment, why not, and the number of its entry."""
    try:
        return asked, "", moment(life, asked.at)
    except ConfigError as error:  # say so, and show the present
        return replace(asked, at=""), str(error), len(life)


def _drawn(
    request: Request, subject: Subject, life: KeptLife, asked: PictureQuery
) -> tuple[PictureQuery, str, Large]:
    """The picture of what is asked for, or all of it, and why."""
    try:
        return asked, "", large(request, subject, life, asked)
    except ConfigError as error:
        asked = replace(asked, begin="", end="")
        return asked, str(error), large(request, subject, life, asked)


def _whole(
    request: Request, subject: Subject, life: KeptLife, asked: PictureQuery, page: int | None
) -> _Context:
    moved = _moment(request, subject, life, asked, page)
    around = _entries(request, subject, life, asked, page)
    picture = _picture(request, subject, life, asked, page, with_cursor=True)
    return {
        **moved,
        **around,
        **picture,
        "moved": False,
        "pods": PODS,
        "raw": whole(life.entries[moved["view"].count - 1]),
    }


def _moment(
    request: Request, subject: Subject, life: KeptLife, asked: PictureQuery, _: int | None
) -> _Context:
    again = asked  # what was asked for, so that a refresh says the same about it
    asked, unknown, _count = _known(life, asked)
    asked, outside, shown = _drawn(request, subject, life, asked)
    moment_view = view(life, asked.at, language_of(request))
    drawn = life.timeline()
    marked = [mark.when.seq for mark in drawn.marks]
    return {
        "asked": asked,
        "again": again,
        "view": moment_view,
        "moved": True,
        "pods": PODS_MOVED,
        "long": len(life) > LONG,
        "conditions": by_change(moment_view.status.get("conditions") or (), oldest=asked.oldest),
        "place": shown.place,
        "cursor": shown.cursor,
        "words": _words(request, moment_view),
        "note": outside or unknown,
        "doubt": life.doubt,
        "steps": {
            "previous": moment_view.count - 1 or None,
            "next": moment_view.count + 1 if moment_view.count < len(life) else None,
            "mark-before": max((seq for seq in marked if seq < moment_view.count), default=None),
            "mark-after": min((seq for seq in marked if seq > moment_view.count), default=None),
        },
        "zoom": _zoom(life, moment_view.count, asked),
        "many": len(drawn.lanes) > 24,
    }


def _words(request: Request, moment_view: View) -> str:
    """The moment as the slider says it."""
    entry = say(language_of(request), "history.entry", seq=moment_view.count, of=moment_view.of)
    events = "; ".join(event.strip(".") for event in moment_view.entry.events)
    return f"{entry}, {moment_view.entry.at:%Y-%m-%d %H:%M:%S UTC}, {events}"


def _picture(
    request: Request,
    subject: Subject,
    life: KeptLife,
    asked: PictureQuery,
    _: int | None,
    *,
    with_cursor: bool = False,
) -> _Context:
    asked, _unknown, _count = _known(life, asked)
    asked, _outside, shown = _drawn(request, subject, life, asked)
    picture = shown.picture if with_cursor else shown.plain
    return {"asked": asked, "picture": picture, "long": len(life) > LONG}


def _entries(
    request: Request, subject: Subject, life: KeptLife, asked: PictureQuery, page: int | None
) -> _Context:
    again = asked
    asked, _unknown, count = _known(life, asked)
    number = page or (count - 1) // ENTRIES + 1
    first = (number - 1) * ENTRIES + 1
    last = min(first + ENTRIES - 1, len(life))
    return {
        "asked": asked,
        "again": again,
        "paged": page or "",
        "count": count,
        "long": len(life) > LONG,
        "entries": described_entries(life, first, last, language_of(request))[::-1],
        "number": number,
        "pages": (len(life) - 1) // ENTRIES + 1,
    }


_PARTS: Final = {"moment": _moment, "picture": _picture, "entries": _entries}


def _zoom(life: KeptLife, count: int, asked: PictureQuery) -> dict[str, str]:
    """The part around the moment that holds a third of the entries of the present part."""
    first = moment(life, asked.begin) if asked.begin else 1
    last = moment(life, asked.end) if asked.end else len(life)
    half = max((last - first) // 6, 2)
    return {"from_": str(max(count - half, 1)), "to": str(min(count + half, len(life)))}
