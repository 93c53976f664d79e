"""Lines over time as SVG. Pure.

As wide as the page: lines are drawn on a canvas of their own that is stretched, words beside it are not.
"""

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from jobledger.console import formatting
from jobledger.console.monitoring.panels import Line, ShownPanel
from jobledger.console.monitoring.queries import Unit
from jobledger.console.timeline.model import Instant
from jobledger.console.timeline.picture import grid
from jobledger.console.timeline.scale import ByTime
from jobledger.console.timeline.svg import element, joined

COLOURS: Final = 8
"""Lines that differ by their colour; those after them begin again, and are dashed."""

_TOP: Final = 26
_HEIGHT: Final = 150
_BINARY: Final = tuple(2.0**power for power in range(11))
_DECIMAL: Final = (1.0, 2.0, 4.0, 5.0, 8.0, 10.0)
_WIDTH: Final = 1000
"""Of the canvas, in units of its own."""


def value(unit: Unit, number: float | None) -> str:
    """A value in words."""
    if number is None:
        return formatting.NOTHING
    match unit:
        case "cores":
            return formatting.cores(number)
        case "bytes":
            return formatting.memory(number)
        case "bytes/s":
            return f"{formatting.memory(number)}/s"
        case "count":
            return f"{number:.2f}".rstrip("0").rstrip(".")


def colour(index: int) -> str:
    """The class of a line, and of its sign beside its name."""
    return f"mc-{index % COLOURS + 1}" + (" mc-again" if index >= COLOURS else "")


def chart(shown: ShownPanel, label: str, word: Callable[[str], str]) -> Markup:
    """The panel's lines, request and limit; empty if there is nothing to draw. `label` says what it is."""
    if not shown.lines:
        return Markup("")
    bounds = [bound for bound in (shown.request, shown.limit) if bound is not None]
    top = ceiling(
        max([*(line.most for line in shown.lines), *bounds]), binary=shown.panel.unit.startswith("bytes")
    )
    first, last = (datetime.fromtimestamp(second, UTC) for second in (shown.span.start, shown.span.end))
    scale = ByTime(Instant(0, first), Instant(0, last))
    lines = [_line(line, index, shown, top, word) for index, line in enumerate(shown.lines)]
    for name, number in (("request", shown.request), ("limit", shown.limit)):
        if number is not None:
            height = _y(number, top)
            title = element("title", f"{word(name)} {value(shown.panel.unit, number)}")
            path = f"M0 {height:.1f} H{_WIDTH}"
            lines.append(
                element("path", title, d=path, class_=f"mc-{name}", vector_effect="non-scaling-stroke")
            )
    canvas = element(
        "svg",
        joined(lines),
        x=0,
        y=_TOP,
        width="100%",
        height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
    )
    whole = _TOP + _HEIGHT + 6
    levels = joined(_levels(top))
    plot = element(
        "svg", grid(scale, _TOP + _HEIGHT), levels, canvas, class_="mc-plot", width="100%", height=whole
    )
    beside = element(
        "svg", joined(_words(shown.panel.unit, top)), class_="tl-labels", width="112", height=whole
    )
    return element("div", beside, plot, class_="timeline mc", role="img", aria_label=label)


def _line(line: Line, index: int, shown: ShownPanel, top: float, word: Callable[[str], str]) -> Markup:
    title = element("title", f"{line.name} {word(line.metric)}: {value(shown.panel.unit, line.last)}")
    return element(
        "path",
        title,
        d=" ".join(_steps(line, shown, top)),
        class_=f"mc-line {colour(index)}",
        vector_effect="non-scaling-stroke",
    )


def _steps(line: Line, shown: ShownPanel, top: float) -> Iterator[str]:
    """The path; where points are missing it is broken. A point alone is drawn as a short line."""
    span = shown.span
    before = -math.inf
    for at, number in line.points:
        x = (at - span.start) / max(span.end - span.start, 1) * _WIDTH
        broken = at - before > 1.5 * span.step
        yield f"{'M' if broken else 'L'}{x:.1f} {_y(number, top):.1f}" + (" h0.8" if broken else "")
        before = at


def _y(number: float, top: float) -> float:
    return _HEIGHT * (1 - min(max(number / top, 0.0), 1.0))


def _levels(top: float) -> Iterator[Markup]:
    for share in (0.0, 0.5, 1.0):
        y = _TOP + _y(top * share, top)
        yield element("line", class_="tl-tick", x1="0", x2="100%", y1=y, y2=y)


def _words(unit: Unit, top: float) -> Iterator[Markup]:
    for share in (0.0, 0.5, 1.0):
        y = _TOP + _y(top * share, top) + 4
        text = value(unit, top * share) if share else "0"
        yield element("text", text, class_="tl-label", x="100%", y=y, text_anchor="end")


def ceiling(most: float, *, binary: bool) -> float:
    """A round number that is at least `most`: where the axis ends."""
    if most <= 0 or not math.isfinite(most):
        return 1.0
    binary = binary and most >= 1
    root, factors = (1024.0, _BINARY) if binary else (10.0, _DECIMAL)
    base = root ** math.floor(math.log(most, root))
    return next((base * factor for factor in factors if base * factor >= most * (1 - 1e-9)), base * root)
