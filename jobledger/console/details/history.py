"""The history of a job: its life as a picture, and the job as it was at any moment of it.

The address names everything that is seen: `at` the moment, `from` and `to` the part of the picture, `axis` whether it
is drawn by time or by entries. Whoever gets the address sees the same.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from jobledger.console.details.asof import by_change, moment, told, view, whole
from jobledger.console.details.lives import Life, Lives
from jobledger.console.details.picturing import Asked, large, of_remembered, seq_at
from jobledger.console.details.render import render
from jobledger.console.details.subject import JOB, Job, Subject
from jobledger.console.frame import Console, is_fragment, url
from jobledger.console.words import language_of
from statemachine.errors import ConfigError

ENTRIES: Final = 100
"""Entries on a page of the table."""

_Text = Annotated[str, Query(max_length=64)]


def _asked(
    *,
    at: _Text = "",
    axis: _Text = "time",
    begin: Annotated[str, Query(max_length=64, alias="from")] = "",
    end: Annotated[str, Query(max_length=64, alias="to")] = "",
    every: _Text = "",
    oldest: _Text = "",
) -> Asked:
    return Asked(at, "entries" if axis == "entries" else "time", begin, end, bool(every), bool(oldest))


Wanted = Annotated[Asked, Depends(_asked)]


def add(router: APIRouter, console: Console, lives: Lives) -> None:
    """The routes."""

    @router.get(JOB + "/history")
    async def history(
        request: Request,
        subject: Job,
        asked: Wanted,
        page: Annotated[int | None, Query(ge=1, le=10**6)] = None,
        place: Annotated[float | None, Query(ge=0, le=100)] = None,
    ) -> Response:
        """The whole page: picture, slider, the moment, and the entries around it.

        `place` is where the slider was moved to, in percent of the picture: the address then names the entry there.
        """
        life = await lives.of(subject.uid)
        if not life.entries:
            return await _without_log(request, console, subject)
        if place is not None:
            with suppress(ConfigError):  # no such part of the picture: the page says so below
                asked = replace(asked, at=str(seq_at(life, asked, place)))
        answer = await asyncio.to_thread(_page, request, subject, life, asked, page)
        if is_fragment(request) and asked.at:
            answer.headers["HX-Replace-Url"] = url(
                console, subject.link("/history", **asked.but(page=page or ""))
            )
        return answer


async def _without_log(request: Request, console: Console, subject: Subject) -> Response:
    rows = await console.history.entries(subject.uid) if subject.remembered else []  # type: ignore[arg-type]
    picture = of_remembered(request, subject, rows) if rows else ""
    return render(request, "remembered.html", subject, tab="history", rows=rows, picture=picture)


def _page(request: Request, subject: Subject, life: Life, asked: Asked, page: int | None) -> Response:
    note, again = "", asked
    try:
        seen = view(life, asked.at, language_of(request))
    except ConfigError as error:  # a moment that never was: say so, and show the present
        note, asked = str(error), replace(asked, at="")
        seen = view(life, "", language_of(request))
    try:
        shown = large(request, subject, life, asked)
    except ConfigError as error:
        note, asked = str(error), replace(asked, begin="", end="")
        shown = large(request, subject, life, asked)
    drawn = life.timeline()
    number = page or (seen.count - 1) // ENTRIES + 1
    first = (number - 1) * ENTRIES + 1
    last = min(first + ENTRIES - 1, len(life))
    marked = [each.when.seq for each in drawn.marks]
    context: dict[str, Any] = {
        "asked": asked,
        "again": again,  # what was asked for, so that a refresh says the same about it
        "paged": page or "",
        "view": seen,
        "conditions": by_change(seen.status.get("conditions") or (), oldest=asked.oldest),
        "picture": shown.picture,
        "place": shown.place,
        "note": note,
        "doubt": life.doubt,
        "steps": {
            "previous": seen.count - 1 or None,
            "next": seen.count + 1 if seen.count < len(life) else None,
            "mark-before": max((each for each in marked if each < seen.count), default=None),
            "mark-after": min((each for each in marked if each > seen.count), default=None),
        },
        "zoom": _zoom(life, seen.count, asked),
        "entries": told(life, first, last, language_of(request))[::-1],
        "raw": whole(life.entries[seen.count - 1]),
        "many": len(drawn.lanes) > 24,
        "number": number,
        "pages": (len(life) - 1) // ENTRIES + 1,
    }
    return render(request, "history.html", subject, tab="history", **context)


def _zoom(life: Life, count: int, asked: Asked) -> dict[str, str]:
    """The part around the moment that holds a third of the entries of the present part."""
    first = moment(life, asked.begin) if asked.begin else 1
    last = moment(life, asked.end) if asked.end else len(life)
    half = max((last - first) // 6, 2)
    return {"from_": str(max(count - half, 1)), "to": str(min(count + half, len(life)))}
