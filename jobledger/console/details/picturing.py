"""Timelines as pages show them: with links to moments, in the reader's language, whole or zoomed in."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from fastapi import Request
from markupsafe import Markup

from jobledger.console.details.lives import KeptLife, KeptPicture
from jobledger.console.details.point_in_time import moment
from jobledger.console.details.render import word
from jobledger.console.details.subject import Subject
from jobledger.console.frame import url
from jobledger.console.timeline.bars import PictureStyle
from jobledger.console.timeline.model import Band, Instant, Mark, Timeline
from jobledger.console.timeline.picture import picture, with_cursor
from jobledger.console.timeline.scale import BySeq, ByTime, Scale, whole
from jobledger.console.words import language_of
from projectors.explain.model import IncidentKind, Nature
from projectors.history import EntryRow
from statemachine.errors import ConfigError
from statemachine.ids import Seq

FRESH: Final = timedelta(seconds=2)
"""How old the picture of a job that goes on, whose right end is now, may be at least."""


SOME: Final = 4
"""Pictures of one life that are kept: those that its readers have before their eyes."""


@dataclass(frozen=True, slots=True)
class PictureQuery:
    """What the address says: the moment, the axis, the part of the picture, and whether all rows are wanted.

    `oldest` turns the conditions of the moment round.
    """

    at: str = ""
    axis: str = "time"
    begin: str = ""
    end: str = ""
    every: bool = False
    oldest: bool = False

    def but(self, **changed: object) -> dict[str, object]:
        """The query of an address that differs in `changed`; what is usual is left out."""
        usual = {"axis": "time"}
        given = {
            "at": self.at,
            "axis": self.axis,
            "from": self.begin,
            "to": self.end,
            "every": self.every and "1",
            "oldest": self.oldest and "1",
        }
        pairs = {**given, **{key.rstrip("_"): value for key, value in changed.items()}}
        return {key: value for key, value in pairs.items() if value and usual.get(key) != value}


def small(request: Request, subject: Subject, life: KeptLife) -> Markup:
    """The whole life; its marks lead to the history."""
    drawn = life.timeline()
    return picture(drawn, _wanted(request, subject, PictureQuery(), whole(drawn, datetime.now(UTC))))


class Large(NamedTuple):
    """A picture with its cursor and without (`plain`), and where that stands, in percent of the width.

    `place` is the slider's; `cursor` the picture's, empty where it has none.
    """

    plain: Markup
    picture: Markup
    place: float
    cursor: float | str


def large(request: Request, subject: Subject, life: KeptLife, asked: PictureQuery) -> Large:
    """The part of the life that is asked for, with a cursor at the moment. Raises ConfigError: there is no such."""
    drawn = life.timeline()
    at = drawn.moments[moment(life, asked.at) - 1] if asked.at else None
    now = datetime.now(UTC)
    key = (replace(asked, at=""), subject.link(), language_of(request))
    kept = life.pictures.get(key)
    if kept is None or kept.count != len(life) or (drawn.open and now - kept.at > _fresh(kept.scale)):
        scale = scale_of(life, asked, now)
        svg = picture(drawn, _wanted(request, subject, asked, scale))
        if len(life.pictures) > SOME:
            life.pictures.clear()
        kept = life.pictures[key] = KeptPicture(svg, scale, len(life), now)
    place = kept.scale.x(at)
    cursor = place if at is not None and kept.scale.holds(at) else ""
    return Large(kept.picture, with_cursor(kept.picture, kept.scale, at), place, cursor)


def _fresh(scale: Scale) -> timedelta:
    """How old the picture of a job that goes on may be: until its right end would be a pixel further."""
    return max(FRESH, (scale.last.at - scale.first.at) / 1000)


def seq_at(life: KeptLife, asked: PictureQuery, place: float) -> Seq:
    """The entry that the cursor stands at when the slider is moved to `place`: the last one that is not behind it.

    Raises ConfigError, as `scale_of`.
    """
    moments, scale = life.timeline().moments, scale_of(life, asked, datetime.now(UTC))
    inside = [moment for moment in moments if scale.holds(moment)]
    if not inside:  # a part of the picture between two entries
        return max((moment.seq for moment in moments if moment.at <= scale.first.at), default=moments[0].seq)
    return inside[max(bisect_right(inside, place, key=scale.x) - 1, 0)].seq


def scale_of(life: KeptLife, asked: PictureQuery, now: datetime) -> Scale:
    """The scale that the address asks for. Raises ConfigError: it ends before it begins, or never was."""
    drawn = life.timeline()
    everything = whole(drawn, now)
    first, last = everything.first, everything.last
    if asked.begin:
        first = _edge(life, asked.begin)
    if asked.end:
        last = _edge(life, asked.end)
    if (last.seq, last.at) < (first.seq, first.at):
        raise ConfigError("the part of the history that is asked for ends before it begins")
    return BySeq(first, last) if asked.axis == "entries" else ByTime(first, last)


def _edge(life: KeptLife, at: str) -> Instant:
    return life.timeline().moments[moment(life, at) - 1]


def _wanted(request: Request, subject: Subject, asked: PictureQuery, scale: Scale) -> PictureStyle:
    def link(seq: Seq) -> str:
        return url(request.app.state.console, subject.link("/history", **asked.but(at=seq)))

    return PictureStyle(scale, link, partial(word, request), asked.every, language_of(request))


# ---- jobs that only the history view knows -----------------------------------------------------------------


_MARKED = {
    "RestartScheduled": (IncidentKind.RESTART, Nature.ABNORMAL),
    "RestartDenied": (IncidentKind.FAILURE, Nature.ABNORMAL),
    "ReplicaLost": (IncidentKind.LOSS, Nature.ABNORMAL),
    "ChildRefused": (IncidentKind.REFUSAL, Nature.ABNORMAL),
    "SpecChanged": (IncidentKind.CHANGE, Nature.ASKED_FOR),
    "JobTerminating": (IncidentKind.DELETION, Nature.ASKED_FOR),
    "JobDeleted": (IncidentKind.DELETION, Nature.ASKED_FOR),
}


def of_remembered(request: Request, subject: Subject, rows: Sequence[EntryRow]) -> Markup:
    """The phases and marks that the rows of the history view tell of; there is nothing else to draw."""
    drawn = timeline_of(rows)

    def link(seq: Seq) -> str:
        return f"#entry-{seq}"

    return picture(drawn, PictureStyle(whole(drawn, drawn.last.at), link, partial(word, request)))


def timeline_of(rows: Sequence[EntryRow]) -> Timeline:
    """A timeline without lanes from the rows of the history view, oldest first."""
    moments: list[Instant] = []
    bands: list[Band] = []
    marks: list[Mark] = []
    for row in rows:
        now = Instant(row.seq, max(row.seen_at, moments[-1].at) if moments else row.seen_at)
        moments.append(now)
        if not bands or bands[-1].phase is not row.phase_after:
            if bands:
                bands[-1] = bands[-1]._replace(end=now)
            bands.append(Band(row.phase_after, now))
        for type_ in row.events:
            if type_ in _MARKED:
                kind, nature = _MARKED[type_]
                marks.append(Mark(kind, nature, now, row.summary, by=row.actor))
                break
    return Timeline(tuple(moments), open=False, bands=tuple(bands), marks=tuple(marks))
