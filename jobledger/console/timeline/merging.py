"""Bars that nobody could tell apart become one, so that a picture has as many shapes as there is room for. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")

LEAST: Final = 0.15
"""Percent of the width that a bar has at least: one pixel or two. A narrower one would be drawn over the next."""

REACH: Final = 1.0
"""Percent of the width that merged bars cover at most, so that a busy hour does not look like the whole day."""


@dataclass(frozen=True, slots=True)
class Bar(Generic[T]):
    """What stands from `begin` to `end`, in percent: one thing, or several that follow each other closely."""

    begin: float
    end: float
    items: tuple[T, ...]

    @property
    def is_narrow(self) -> bool:
        """It has no room for itself; what was merged stays so."""
        return len(self.items) > 1 or self.end - self.begin < LEAST


def merged(bars: Iterable[tuple[float, float, T]]) -> Sequence[Bar[T]]:
    """The bars from left to right, narrow ones that stand close together as one."""
    drawn: list[Bar[T]] = []
    for begin, end, item in bars:
        bar = Bar(begin, end, (item,))
        last = drawn[-1] if drawn else None
        if (
            last
            and last.is_narrow
            and bar.is_narrow
            and begin - last.end < LEAST
            and end - last.begin <= REACH
        ):
            drawn[-1] = Bar(last.begin, max(end, last.end), (*last.items, item))
        else:
            drawn.append(bar)
    return drawn
