"""Lanes → rows of the picture: every replica its own while they are few, else those with a story, and crowds.

At 400 replicas nobody reads 400 lanes. The replicas that something happened to keep theirs; all others of a type
become one crowd: how many were in which phase at any moment.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from jobledger.console.timeline.model import Instant, Lane, Span, Timeline
from jobledger.console.timeline.scale import Scale
from projectors.explain.model import Nature
from statemachine.state import ReplicaPhase

FEW: Final = 24
"""So many replicas still get a lane each."""

STORIES: Final = 8
"""So many replicas with a story get one beside a crowd: those with the most incidents."""

COLUMNS: Final = 240
"""A crowd is drawn in so many columns; each shows its worst moment, so that nothing short is lost."""

_GOOD_FIRST: Final = (
    ReplicaPhase.SUCCEEDED,
    ReplicaPhase.RUNNING,
    ReplicaPhase.PENDING,
    ReplicaPhase.CREATING,
    ReplicaPhase.UNKNOWN,
    ReplicaPhase.FAILED,
)
"""From the bottom of a crowd to its top."""


class Block(NamedTuple):
    """`size` of a crowd were in `phase` from x to x (percent), `below` others are drawn beneath."""

    phase: ReplicaPhase
    size: int
    below: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Single:
    """A row for one replica."""

    lane: Lane

    @property
    def label(self) -> str:
        """What stands beside it."""
        return self.lane.name


@dataclass(frozen=True, slots=True)
class Crowd:
    """A row for many replicas of a type; `most` were there at once."""

    type: str
    size: int
    whole: bool
    most: int
    blocks: tuple[Block, ...]

    @property
    def label(self) -> str:
        """What stands beside it."""
        return f"{self.type} ×{self.size}"


Row = Single | Crowd


def rows(drawn: Timeline, scale: Scale, *, every: bool = False) -> list[Row]:
    """The rows from top to bottom: by type as the spec has them; `every` replica gets its own if that is wished."""
    if every or len(drawn.lanes) <= FEW:
        return [Single(lane) for lane in drawn.lanes]
    eventful = _with_story(drawn)
    rows_drawn: list[Row] = []
    for type_, of_type in groupby(drawn.lanes, lambda lane: lane.type):
        lanes = list(of_type)
        if len(lanes) <= 2:  # a master beside hundreds of workers
            rows_drawn += map(Single, lanes)
            continue
        single = [lane for lane in lanes if lane.name in eventful]
        others = [lane for lane in lanes if lane.name not in eventful]
        if others:
            rows_drawn.append(_crowd(type_, others, scale, whole=not single))
        rows_drawn += map(Single, single)
    return rows_drawn


def _with_story(drawn: Timeline) -> set[str]:
    """The replicas with the most abnormal incidents."""
    marks = Counter(mark.replica for mark in drawn.marks if mark.replica and mark.nature is Nature.ABNORMAL)
    return {name for name, _ in marks.most_common(STORIES)}


def _crowd(type_: str, lanes: Sequence[Lane], scale: Scale, *, whole: bool) -> Crowd:
    columns = _columns(_counts(lanes), scale)
    most = max((sum(column.values()) for column in columns if column), default=0)
    return Crowd(type_, len(lanes), whole, most, tuple(_blocks(columns)))


def _counts(lanes: Iterable[Lane]) -> Iterator[tuple[Instant, Counter[ReplicaPhase]]]:
    """How many were in each phase, from every change on."""
    changes: list[tuple[Instant, ReplicaPhase, int]] = []
    for lane in lanes:
        for span in lane.spans:
            changes += _edges(span)
    changes.sort(key=lambda change: change[0].seq)
    now: Counter[ReplicaPhase] = Counter()
    for _, at_once in groupby(changes, lambda change: change[0].seq):
        same = list(at_once)
        for _, phase, more in same:
            now[phase] += more
        yield same[0][0], +now


def _edges(span: Span) -> Iterator[tuple[Instant, ReplicaPhase, int]]:
    yield span.begin, span.phase, 1
    if span.end is not None:
        yield span.end, span.phase, -1


def _columns(
    counts: Iterable[tuple[Instant, Counter[ReplicaPhase]]], scale: Scale
) -> list[Counter[ReplicaPhase]]:
    """The counts in each column of the picture: at its worst moment, or else its last."""
    columns: list[Counter[ReplicaPhase] | None] = [None] * COLUMNS
    last: list[Counter[ReplicaPhase] | None] = [None] * COLUMNS
    before = Counter[ReplicaPhase]()
    for when, count in counts:
        if when.seq > scale.last.seq:
            break
        if not scale.holds(when):
            before = count
            continue
        at = min(int(scale.x(when) / 100 * COLUMNS), COLUMNS - 1)
        last[at] = count
        worst = columns[at]
        if worst is None or _trouble(count) >= _trouble(worst):
            columns[at] = count
    filled = []
    for worst, final in zip(columns, last, strict=True):
        filled.append(before if worst is None else worst)
        before = final if final is not None else before
    return filled


def _trouble(count: Counter[ReplicaPhase]) -> int:
    return count[ReplicaPhase.FAILED] + count[ReplicaPhase.UNKNOWN]


def _blocks(columns: Sequence[Counter[ReplicaPhase]]) -> Iterator[Block]:
    width, at = 100 / COLUMNS, 0
    for count, same in groupby(columns):
        begin, below = at, 0
        at += len(list(same))
        for phase in _GOOD_FIRST:
            if count[phase]:
                yield Block(phase, count[phase], below, round(begin * width, 3), round(at * width, 3))
                below += count[phase]
