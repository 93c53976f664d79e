"""A timeline → SVG. Colours, and how wide the labels are, are the style sheet's (`details.css`).

Everything stands at percentages of the plot, so the picture fits 390 px and 1440 px alike without a script. What
can be reached with the mouse can be reached with the keyboard: marks and phases are links that name a moment, and
every shape says what it is in a `<title>`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from markupsafe import Markup

from jobledger.console.timeline.marks import SHAPES, Cluster, clusters
from jobledger.console.timeline.model import Instant, Lane, Level, Mark, Timeline
from jobledger.console.timeline.rows import Block, Crowd, Row, Single, rows
from jobledger.console.timeline.scale import ByTime, Scale
from jobledger.console.timeline.svg import element, joined, percent
from projectors.explain.says import instant, span
from projectors.phrases import Language, in_words
from statemachine.ids import Seq

_AXIS: Final = 20
_BAND: Final = 24
_MARKS: Final = 26
_LEVELS: Final = 32
_SINGLE: Final = 16
_THIN: Final = 5
_CROWD: Final = 52
_GAP: Final = 4
_LETTERS: Final = 16
"""So much of a label is shown; its title has the rest."""

MANY: Final = 60
"""More rows than that are thin, and have no labels of their own."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a picture is wanted.

    `link` gives the address that shows the moment after an entry; `word` says a word in the reader's `language`;
    `every` replica gets a row if that is wished.
    """

    scale: Scale
    link: Callable[[Seq], str]
    word: Callable[[str], str] = str
    every: bool = False
    language: Language = "en"


def picture(drawn: Timeline, wanted: Wanted) -> Markup:
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


def _data(wanted: Wanted) -> dict[str, object]:
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


def _rows(drawn: Timeline, wanted: Wanted) -> Iterator[_Drawn]:
    word, scale = wanted.word, wanted.scale
    yield _Drawn("phases", _BAND, joined(_bands(drawn, wanted)), word("Phase"))
    marks = joined(_mark(each, wanted, _MARKS / 2) for each in clusters(drawn.marks, scale))
    yield _Drawn("marks", _MARKS, marks, word("Incidents"))
    if drawn.levels:
        title = word("Restarts left")
        yield _Drawn("levels", _LEVELS, joined(_levels(drawn, wanted)), title)
    found = rows(drawn, scale, every=wanted.every)
    thin = len(found) > MANY
    for row in found:
        yield _row(row, drawn, wanted, thin=thin)


def _row(row: Row, drawn: Timeline, wanted: Wanted, *, thin: bool) -> _Drawn:
    match row:
        case Single(lane=lane):
            height = _THIN if thin else _SINGLE
            spans = joined(_spans(lane, wanted, height))
            own = [each for each in drawn.marks if each.replica == lane.name] if not thin else []
            marks = joined(_small(each, wanted, height) for each in clusters(own, wanted.scale))
            return _Drawn("single", height, spans + marks, "" if thin else row.label)
        case Crowd():
            title = f"{row.type}: {row.size} {wanted.word('replicas' if row.whole else 'other replicas')}"
            blocks = joined(_block(each, row.most, wanted.word) for each in row.blocks)
            return _Drawn("crowd", _CROWD, blocks, row.label, title)


# ---- the rows ----------------------------------------------------------------------------------------------


def _bands(drawn: Timeline, wanted: Wanted) -> Iterator[Markup]:
    for band in drawn.bands:
        begin, end = _ends(band.begin, band.end, wanted)
        if end is None:
            continue
        name = wanted.word(band.phase.value)
        title = f"{name}: {_while(band.begin, band.end, wanted)}"
        shape = _box(begin, end, _BAND, f"phase-{band.phase.value.lower()}")
        text = element(
            "svg",
            element("text", name, class_="tl-phase", x="6", y=_BAND / 2 + 4),
            x=percent(begin),
            width=percent(max(end - begin, 0.4)),
            height=_BAND,
        )
        yield element(
            "a",
            element("title", title),
            shape,
            text,
            href=wanted.link(band.begin.seq),
            class_="tl-go",
            data_seq=band.begin.seq,
        )


def _spans(lane: Lane, wanted: Wanted, height: int) -> Iterator[Markup]:
    for each in lane.spans:
        begin, end = _ends(each.begin, each.end, wanted)
        if end is None:
            continue
        phase = wanted.word(each.phase.value)
        attempt = f"{wanted.word('attempt')} {each.attempt}"
        title = f"{lane.name}: {phase}, {attempt}, {_while(each.begin, each.end, wanted)}"
        yield _box(begin, end, height, f"replica-{each.phase.value.lower()}", title)


def _block(block: Block, most: int, word: Callable[[str], str]) -> Markup:
    unit = _CROWD / max(most, 1)
    height = max(block.size * unit, 2.0)  # one of 400 must still be seen
    top = max(_CROWD - (block.below + block.size) * unit, 0.0)
    title = f"{block.size} {word(block.phase.value)}"
    return element(
        "rect",
        element("title", title),
        class_=f"tl-box replica-{block.phase.value.lower()}",
        x=percent(block.begin),
        y=min(top, _CROWD - height),
        width=percent(block.end - block.begin),
        height=height,
    )


def _levels(drawn: Timeline, wanted: Wanted) -> Iterator[Markup]:
    """A line in steps: only rectangles and lines can stand at percentages."""
    highest = max((each.limit for each in drawn.levels), default=0) or 1
    room, before = _LEVELS - 6, None
    steps = _apart(drawn.levels, wanted.scale)
    for level, following in zip(steps, [*steps[1:], None], strict=True):
        begin, end = _ends(level.begin, following.begin if following else None, wanted)
        y = 3 + room * (1 - min(level.left / highest, 1.0))
        if end is not None:
            title = element("title", f"{wanted.word('Restarts left')}: {level.left} / {level.limit}")
            yield element(
                "rect",
                title,
                class_="tl-left",
                x=percent(begin),
                y=y,
                width=percent(end - begin),
                height=_LEVELS - y,
            )
            yield element("line", class_="tl-level", x1=percent(begin), x2=percent(end), y1=y, y2=y)
            if before is not None and begin > 0:
                yield element(
                    "line", class_="tl-level", x1=percent(begin), x2=percent(begin), y1=before, y2=y
                )
            if end - begin > 4:
                yield element("text", str(level.left), class_="tl-small", x=percent(begin), dx=4, y=y + 11)
        before = y


def _apart(levels: Sequence[Level], scale: Scale) -> list[Level]:
    """The levels that can be told apart: of those at nearly the same place the last."""
    found: list[Level] = []
    for each in levels:
        if found and scale.x(each.begin) - scale.x(found[-1].begin) < 0.3:
            found[-1] = each._replace(begin=found[-1].begin)
        else:
            found.append(each)
    return found


def _mark(cluster: Cluster, wanted: Wanted, middle: float) -> Markup:
    """A link to the moment after the mark's entry; its name is all that happened there."""
    loudest = cluster.loudest
    title = "\n".join(_told(each, wanted) for each in cluster.marks[:12])
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


def _small(cluster: Cluster, wanted: Wanted, height: int) -> Markup:
    """A replica's own mark, for the eye alone: the same stands among all marks."""
    path = element(
        "path",
        d=SHAPES[cluster.loudest.kind],
        class_=_look(cluster),
        transform="scale(0.7)",
        aria_hidden="true",
    )
    title = element("title", "\n".join(_told(each, wanted) for each in cluster.marks[:6]))
    return element("svg", title, path, x=percent(cluster.x), y=height / 2, overflow="visible")


def _look(cluster: Cluster) -> str:
    kind = cluster.loudest.kind.value.replace(" ", "-")
    return f"tl-shape nature-{cluster.nature.value.replace(' ', '-')} kind-{kind}"


def _told(mark: Mark, wanted: Wanted) -> str:
    return f"#{mark.when.seq} {instant(mark.when.at)}: {in_words(mark.says, wanted.language)}"


# ---- what all of them need ---------------------------------------------------------------------------------


def _box(begin: float, end: float, height: int, look: str, title: str = "") -> Markup:
    said: Iterable[str] = [element("title", title)] if title else []
    width = percent(max(end - begin, 0.15))  # what took no time did happen
    return element("rect", *said, class_=f"tl-box {look}", x=percent(begin), width=width, height=height)


def _ends(begin: Instant, end: Instant | None, wanted: Wanted) -> tuple[float, float | None]:
    """Where something begins and ends in the picture; no end if it is outside of it."""
    scale = wanted.scale
    if begin.seq > scale.last.seq or (end is not None and end.seq <= scale.first.seq and end != begin):
        return 0.0, None
    return scale.x(begin), scale.x(end)


def _while(begin: Instant, end: Instant | None, wanted: Wanted) -> str:
    if end is None:
        return f"{wanted.word('since')} {instant(begin.at)}"
    return f"{instant(begin.at)}, {span(end.at - begin.at)}"


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
