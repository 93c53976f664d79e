"""The bars of a picture: phases, a replica's pods, a crowd, and the restarts that are left. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from markupsafe import Markup

from jobledger.console.timeline.merging import LEAST, Bar, merged
from jobledger.console.timeline.model import Band, Instant, Lane, Level, Span, Timeline
from jobledger.console.timeline.rows import Block
from jobledger.console.timeline.scale import Scale
from jobledger.console.timeline.svg import element, percent
from projectors.explain.wording import instant, span
from projectors.phrases import Language
from statemachine.ids import Seq

BAND: Final = 24
LEVELS: Final = 32
CROWD: Final = 52
"""Heights of rows."""


@dataclass(frozen=True, slots=True)
class PictureStyle:
    """How a picture is wanted.

    `link` gives the address that shows the moment after an entry; `word` says a word in the reader's `language`;
    `every` replica gets a row if that is wished.
    """

    scale: Scale
    link: Callable[[Seq], str]
    word: Callable[[str], str] = str
    every: bool = False
    language: Language = "en"


def phase_bars(drawn: Timeline, wanted: PictureStyle) -> Iterator[Markup]:
    """The phases of the job, links to where they began."""
    for bar in merged(_placed(drawn.bands, wanted)):
        band = max(bar.items, key=lambda item: _BADNESS.get(item.phase.value, 0))
        name = _names([item.phase.value for item in bar.items], wanted)
        title = f"{name}: {_while(bar.items[0].begin, bar.items[-1].end, wanted)}"
        shape = _box(bar.begin, bar.end, BAND, f"phase-{band.phase.value.lower()}{_many(bar)}")
        text = element(
            "svg",
            element("text", name, class_="tl-phase", x="6", y=BAND / 2 + 4),
            x=percent(bar.begin),
            width=percent(max(bar.end - bar.begin, 0.4)),
            height=BAND,
        )
        yield element(
            "a",
            element("title", title),
            shape,
            text if len(bar.items) == 1 else "",
            href=wanted.link(band.begin.seq),
            class_="tl-go",
            data_seq=band.begin.seq,
        )


def pod_bars(lane: Lane, wanted: PictureStyle, height: int) -> Iterator[Markup]:
    """The pods of a replica."""
    for bar in merged(_placed(lane.spans, wanted)):
        worst = max(bar.items, key=lambda item: _BADNESS.get(item.phase.value, 0))
        first, last = bar.items[0], bar.items[-1]
        attempts = f"{first.attempt}–{last.attempt}" if first.attempt != last.attempt else str(first.attempt)
        phases = _names([item.phase.value for item in bar.items], wanted)
        attempt = f"{wanted.word('attempt')} {attempts}"
        title = f"{lane.name}: {phases}, {attempt}, {_while(first.begin, last.end, wanted)}"
        yield _box(bar.begin, bar.end, height, f"replica-{worst.phase.value.lower()}{_many(bar)}", title)


_BADNESS: Final = {"Pending": 1, "Paused": 1, "Resuming": 1, "Creating": 1, "Unknown": 2, "Failed": 3}
"""Of merged bars the worst phase gives the colour, the first of equally bad ones the link."""

_Stretch = TypeVar("_Stretch", Band, Span)


def _placed(stretches: Iterable[_Stretch], wanted: PictureStyle) -> Iterator[tuple[float, float, _Stretch]]:
    """Those that are in the picture, with where they begin and end there."""
    for stretch in stretches:
        begin, end = _ends(stretch.begin, stretch.end, wanted)
        if end is not None:
            yield begin, end, stretch


def _names(phases: Sequence[str], wanted: PictureStyle) -> str:
    """The phase of a bar; of merged ones every phase, and how often."""
    if len(phases) == 1:
        return wanted.word(phases[0])
    return ", ".join(f"{wanted.word(phase)} ×{count}" for phase, count in Counter(phases).items())


def _many(bar: Bar[Any]) -> str:
    return " tl-many" if len(bar.items) > 1 else ""


def crowd_bar(block: Block, most: int, word: Callable[[str], str]) -> Markup:
    """Those of a crowd that were in a phase for a while."""
    unit = CROWD / max(most, 1)
    height = max(block.size * unit, 2.0)  # one of 400 must still be seen
    top = max(CROWD - (block.below + block.size) * unit, 0.0)
    title = f"{block.size} {word(block.phase.value)}"
    return element(
        "rect",
        element("title", title),
        class_=f"tl-box replica-{block.phase.value.lower()}",
        x=percent(block.begin),
        y=min(top, CROWD - height),
        width=percent(block.end - block.begin),
        height=height,
    )


def level_steps(drawn: Timeline, wanted: PictureStyle) -> Iterator[Markup]:
    """A line in steps: only rectangles and lines can stand at percentages."""
    highest = max((level.limit for level in drawn.levels), default=0) or 1
    room, before = LEVELS - 6, None
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
                height=LEVELS - y,
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
    """The levels that can be distinguished: of those at nearly the same place the last."""
    apart: list[Level] = []
    for level in levels:
        if apart and scale.x(level.begin) - scale.x(apart[-1].begin) < 0.3:
            apart[-1] = level._replace(begin=apart[-1].begin)
        else:
            apart.append(level)
    return apart


def _box(begin: float, end: float, height: int, look: str, title: str = "") -> Markup:
    said: Iterable[str] = [element("title", title)] if title else []
    width = percent(max(end - begin, LEAST))  # what took no time did happen
    return element("rect", *said, class_=f"tl-box {look}", x=percent(begin), width=width, height=height)


def _ends(begin: Instant, end: Instant | None, wanted: PictureStyle) -> tuple[float, float | None]:
    """Where something begins and ends in the picture; no end if it is outside of it."""
    scale = wanted.scale
    if begin.seq > scale.last.seq or (end is not None and end.seq <= scale.first.seq and end != begin):
        return 0.0, None
    return scale.x(begin), scale.x(end)


def _while(begin: Instant, end: Instant | None, wanted: PictureStyle) -> str:
    if end is None:
        return f"{wanted.word('since')} {instant(begin.at)}"
    return f"{instant(begin.at)}, {span(end.at - begin.at)}"
