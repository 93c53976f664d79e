"""Where an instant stands on a timeline, in percent of its width: by time, or by the number of its entry.

By time a picture shows how long things took; by number each entry gets the same room, so that ten entries of the
same second can be distinguished. Percentages, so that one picture fits every screen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol

from jobledger.console.timeline.model import Instant, Timeline

TICKS: Final = 6
"""At most so many ticks, that their words do not touch on a phone."""

_STEPS: Final = tuple(
    timedelta(seconds=seconds)
    for seconds in (
        *(1, 2, 5, 10, 15, 30),
        *(60, 120, 300, 600, 900, 1800),
        *(3600, 7200, 10800, 21600, 43200),
        *(86400, 172800, 432000, 864000, 2592000, 7776000, 31536000, 157680000, 1576800000),
    )
)


class Tick(NamedTuple):
    """A line across the picture; `at` is empty where the axis counts entries."""

    x: float
    words: str
    at: datetime | None = None


class Scale(Protocol):
    """Instants → percent."""

    @property
    def first(self) -> Instant:
        """Where the picture begins."""

    @property
    def last(self) -> Instant:
        """Where it ends."""

    def x(self, when: Instant | None) -> float:
        """Where it stands: 0 to 100, cut to the picture; None stands for its end."""

    def ticks(self) -> Sequence[Tick]:
        """What the axis says."""

    def holds(self, when: Instant) -> bool:
        """It is inside of the picture."""


@dataclass(frozen=True, slots=True)
class ByTime:
    """As much room as it took."""

    first: Instant
    last: Instant

    @property
    def _span(self) -> float:
        return max((self.last.at - self.first.at).total_seconds(), 1e-3)

    def x(self, when: Instant | None) -> float:
        """See Scale."""
        if when is None:
            return 100.0
        return _cut((when.at - self.first.at).total_seconds() / self._span)

    def holds(self, when: Instant) -> bool:
        """See Scale."""
        return self.first.at <= when.at <= self.last.at

    def ticks(self) -> Sequence[Tick]:
        """Round times of UTC; their words are the shortest that tell them apart."""
        return tuple(self._ticks())

    def _ticks(self) -> Iterator[Tick]:
        step = next((step for step in _STEPS if self._span / step.total_seconds() <= TICKS), _STEPS[-1])
        width = step.total_seconds()
        form = "%H:%M:%S" if width < 60 else "%H:%M" if width < 86400 else "%Y-%m-%d"
        if 60 <= width < 86400 and self._span > 86400:
            form = "%m-%d %H:%M"
        at = -(-self.first.at.timestamp() // width) * width
        while at <= self.last.at.timestamp():
            when = datetime.fromtimestamp(at, UTC)
            yield Tick(self.x(Instant(0, when)), when.strftime(form), when)
            at += width


@dataclass(frozen=True, slots=True)
class BySeq:
    """The same room for every entry."""

    first: Instant
    last: Instant

    def x(self, when: Instant | None) -> float:
        """See Scale; the end of an open step is one entry behind the last."""
        if when is None:
            return 100.0
        return _cut((when.seq - self.first.seq) / (self.last.seq - self.first.seq + 1))

    def holds(self, when: Instant) -> bool:
        """See Scale."""
        return self.first.seq <= when.seq <= self.last.seq

    def ticks(self) -> Sequence[Tick]:
        """Round numbers of entries."""
        count = self.last.seq - self.first.seq + 1
        step = next(size for size in _round_numbers() if count / size <= TICKS)
        start = -(-self.first.seq // step) * step
        numbers = range(start, self.last.seq + 1, step)
        return tuple(Tick(self.x(Instant(seq, self.first.at)), f"#{seq}") for seq in numbers)


def whole(drawn: Timeline, now: datetime) -> ByTime:
    """The scale on which the whole timeline fits: until now while it is open, else with a little room for its end."""
    begin, last = drawn.begin, drawn.last
    if drawn.open:
        return ByTime(begin, last._replace(at=max(now, last.at)))
    return ByTime(begin, last._replace(at=last.at + max((last.at - begin.at) * 0.03, timedelta(seconds=0.1))))


def _round_numbers() -> Iterator[int]:
    size = 1
    while True:
        yield from (size, 2 * size, 5 * size)
        size *= 10


def _cut(share: float) -> float:
    return round(min(max(share, 0.0), 1.0) * 100, 3)
