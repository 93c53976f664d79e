"""A timeline → SVG. Colours, and how wide the labels are, are the style sheet's (`details.css`).

Everything stands at percentages of the plot, so the picture fits 390 px and 1440 px alike without a script. What
can be reached with the mouse can be reached with the keyboard: marks and phases are links that name a moment, and
every shape says what it is in a `<title>`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from markupsafe import Markup

from jobledger.console.timeline.bars import (
    BAND,
    CROWD,
    LEVELS,
    PictureStyle,
    crowd_bar,
    level_steps,
    phase_bars,
    pod_bars,
)
from jobledger.console.timeline.marks import SHAPES, MarkGroup, clusters
from jobledger.console.timeline.model import Instant, Mark, Timeline
from jobledger.console.timeline.rows import Crowd, Row, Single, rows
from jobledger.console.timeline.scale import ByTime, Scale
from jobledger.console.timeline.svg import element, joined, percent
from projectors.explain.wording import instant
from projectors.phrases import in_words

_AXIS: Final = 20
_MARKS: Final = 26
_SINGLE: Final = 16
_THIN: Final = 5
_GAP: Final = 4
_LETTERS: Final = 16
"""So much of a label is shown; its title has the rest."""

MANY: Final = 60
"""More rows than that are thin, and have no labels of their own."""


def picture(drawn: Timeline, wanted: PictureStyle) -> Markup:
    """The whole picture: labels, and the plot beside them, which takes what room there is. Its cursor is hidden."""
    parts, labels, top = [], [], _AXIS
    for row in _rows(drawn, wanted):
        labels.append(row.label_at(top))
        parts.append(
            element("g", row.content, class_=f"tl-row tl-{row.kind}", transform=f"translate(0 {top})")
        )
        top += row.height + _GAP
    plot = joined([grid(wanted.scale, top), *parts, _cursor(top)])
    beside = element("svg", *labels, class_="tl-labels", width="112", height=top)
    drawn_parts = element("svg", plot, class_="tl-plot", width="100%", height=top, **_data(wanted))
    name = wanted.word("Timeline of the job")
    return element("div", beside, drawn_parts, class_="timeline", role="group", aria_label=name)


_HIDDEN: Final = 'class="tl-cursor tl-hidden" x="100%"'


def with_cursor(drawn: Markup, scale: Scale, at: Instant | None) -> Markup:
    """A picture that was drawn without a cursor, with one at the moment: a slider does not draw everything anew."""
    if at is None or not scale.holds(at):
        return drawn
    shown = f'class="tl-cursor" x="{percent(scale.x(at))}"'
    return Markup(str(drawn).replace(_HIDDEN, shown))  # noqa: S704 - a number stands for another


def _data(wanted: PictureStyle) -> dict[str, object]:
    """What a script needs to know about the axis, to make a moment of a click."""
    scale = wanted.scale
    if isinstance(scale, ByTime):
        return {
            "data_axis": "time",
            "data_begin": scale.first.at.timestamp(),
            "data_end": scale.last.at.timestamp(),
        }
    return {"data_axis": "seq", "data_begin": scale.first.seq, "data_end": scale.last.seq + 1}


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A row that is drawn: its height, what is in it, and what stands beside it."""

    kind: str
    height: int
    content: Markup
    label: str
    title: str = ""

    def label_at(self, top: int) -> Markup:
        """The label, as high as the row's middle."""
        if not self.label:
            return Markup("")
        short = self.label if len(self.label) <= _LETTERS else f"{self.label[: _LETTERS - 1]}…"
        middle = top + self.height / 2 + 4
        title = element("title", self.title or self.label)
        return element("text", short, title, class_="tl-label", x="100%", y=middle, text_anchor="end")


def _rows(drawn: Timeline, wanted: PictureStyle) -> Iterator[_Drawn]:
    word, scale = wanted.word, wanted.scale
    yield _Drawn("phases", BAND, joined(phase_bars(drawn, wanted)), word("Phase"))
    marks = joined(_mark(cluster, wanted, _MARKS / 2) for cluster in clusters(drawn.marks, scale))
    yield _Drawn("marks", _MARKS, marks, word("Incidents"))
    if drawn.levels:
        title = word("Restarts left")
        yield _Drawn("levels", LEVELS, joined(level_steps(drawn, wanted)), title)
    drawn_rows = rows(drawn, scale, every=wanted.every)
    thin = len(drawn_rows) > MANY
    for row in drawn_rows:
        yield _row(row, drawn, wanted, thin=thin)


def _row(row: Row, drawn: Timeline, wanted: PictureStyle, *, thin: bool) -> _Drawn:
    match row:
        case Single(lane=lane):
            height = _THIN if thin else _SINGLE
            spans = joined(pod_bars(lane, wanted, height))
            own = [mark for mark in drawn.marks if mark.replica == lane.name] if not thin else []
            marks = joined(_small(cluster, wanted, height) for cluster in clusters(own, wanted.scale))
            return _Drawn("single", height, spans + marks, "" if thin else row.label)
        case Crowd():
            title = f"{row.type}: {row.size} {wanted.word('replicas' if row.whole else 'other replicas')}"
            blocks = joined(crowd_bar(block, row.most, wanted.word) for block in row.blocks)
            return _Drawn("crowd", CROWD, blocks, row.label, title)


# ---- the rows ----------------------------------------------------------------------------------------------


def _mark(cluster: MarkGroup, wanted: PictureStyle, middle: float) -> Markup:
    """A link to the moment after the mark's entry; its name is all that happened there."""
    loudest = cluster.loudest
    title = "\n".join(_line(mark, wanted) for mark in cluster.marks[:12])
    if len(cluster.marks) > 12:
        title += f"\n… {len(cluster.marks) - 12}"
    count = (
        [element("text", str(len(cluster.marks)), class_="tl-count", x=8, y=-2)]
        if len(cluster.marks) > 1
        else []
    )
    drawn = element(
        "svg",
        element("circle", class_="tl-halo", r=11),
        element("path", d=SHAPES[loudest.kind], class_=_look(cluster)),
        *count,
        x=percent(cluster.x),
        y=middle,
        overflow="visible",
    )
    return element(
        "a",
        element("title", title),
        drawn,
        href=wanted.link(loudest.when.seq),
        class_="tl-go tl-mark",
        data_seq=loudest.when.seq,
        data_kind=loudest.kind.value,
    )


def _small(cluster: MarkGroup, wanted: PictureStyle, height: int) -> Markup:
    """A replica's own mark, for the eye alone: the same stands among all marks."""
    path = element(
        "path",
        d=SHAPES[cluster.loudest.kind],
        class_=_look(cluster),
        transform="scale(0.7)",
        aria_hidden="true",
    )
    more = f"\n… {len(cluster.marks) - 1}" if len(cluster.marks) > 1 else ""
    title = element("title", _line(cluster.loudest, wanted) + more)
    return element("svg", title, path, x=percent(cluster.x), y=height / 2, overflow="visible")


def _look(cluster: MarkGroup) -> str:
    kind = cluster.loudest.kind.value.replace(" ", "-")
    return f"tl-shape nature-{cluster.nature.value.replace(' ', '-')} kind-{kind}"


def _line(mark: Mark, wanted: PictureStyle) -> str:
    return f"#{mark.when.seq} {instant(mark.when.at)}: {in_words(mark.says, wanted.language)}"


# ---- what all of them need ---------------------------------------------------------------------------------


def grid(scale: Scale, height: int) -> Markup:
    """The ticks of the axis with their words, as lines down to `height`."""
    parts, beyond = [], 0.0
    for tick in scale.ticks():
        x, at = percent(tick.x), _iso(tick.at)
        parts.append(element("line", class_="tl-tick", x1=x, x2=x, y1=_AXIS - 4, y2=height))
        width = 2.9 * len(tick.words)  # percent of a narrow screen
        near_end = tick.x + width > 102
        if tick.x - (width if near_end else 0) < beyond:
            continue  # its words would touch those of the last
        beyond = tick.x + width
        anchor, shift = ("end", -2) if near_end else ("start", 2)
        parts.append(
            element("text", tick.words, class_="tl-time", x=x, dx=shift, y=12, text_anchor=anchor, data_at=at)
        )
    return joined(parts)


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _cursor(height: int) -> Markup:
    line = element("line", x1=0, x2=0, y1=_AXIS - 6, y2=height)
    head = element("path", d="M-5 0 H5 L0 7 Z", transform=f"translate(0 {_AXIS - 8})")
    hidden = "tl-cursor tl-hidden"
    return element("svg", line, head, class_=hidden, x="100%", overflow="visible", aria_hidden="true")
