"""Marks as they are drawn: those too close to be distinguished are one with a number, and each kind has a shape.

Shapes, not colours alone, say what a mark is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from jobledger.console.timeline.model import Mark
from jobledger.console.timeline.scale import Scale
from projectors.explain.model import IncidentKind, Nature

NEAR: Final = 2.2
"""Percent of the width within which marks are one."""

LOUD: Final = (
    IncidentKind.END,
    IncidentKind.FAILURE,
    IncidentKind.LOSS,
    IncidentKind.INVALID,
    IncidentKind.EVICTION,
    IncidentKind.RESTART,
    IncidentKind.REFUSAL,
    IncidentKind.STATUS_LOST,
    IncidentKind.DELETION,
    IncidentKind.PAUSE,
    IncidentKind.RESUME,
    IncidentKind.SCALE,
    IncidentKind.CHANGE,
    IncidentKind.CLEAN_UP,
    IncidentKind.ADMISSION,
    IncidentKind.START,
)
"""Which kind a cluster shows: the first of these that is in it."""

SHAPES: Final = {
    IncidentKind.START: "M-4 -6 L6 0 L-4 6 Z",
    IncidentKind.RESTART: "M-6 5 L0 -6 L6 5 Z",
    IncidentKind.FAILURE: "M-6 -4 L-4 -6 L0 -2 L4 -6 L6 -4 L2 0 L6 4 L4 6 L0 2 L-4 6 L-6 4 L-2 0 Z",
    IncidentKind.LOSS: "M-6 -4 L-4 -6 L0 -2 L4 -6 L6 -4 L2 0 L6 4 L4 6 L0 2 L-4 6 L-6 4 L-2 0 Z",
    IncidentKind.INVALID: "M-6 -4 L-4 -6 L0 -2 L4 -6 L6 -4 L2 0 L6 4 L4 6 L0 2 L-4 6 L-6 4 L-2 0 Z",
    IncidentKind.REFUSAL: "M-6 -2 L-2 -6 L2 -6 L6 -2 L6 2 L2 6 L-2 6 L-6 2 Z",
    IncidentKind.STATUS_LOST: "M-6 -2 L-2 -6 L2 -6 L6 -2 L6 2 L2 6 L-2 6 L-6 2 Z",
    IncidentKind.PAUSE: "M-5 -6 H-1 V6 H-5 Z M1 -6 H5 V6 H1 Z",
    IncidentKind.RESUME: "M-4 -6 L6 0 L-4 6 Z",
    IncidentKind.SCALE: "M0 -7 L6 0 L0 7 L-6 0 Z",
    IncidentKind.CHANGE: "M0 -7 L6 0 L0 7 L-6 0 Z",
    IncidentKind.ADMISSION: "M-4 -6 L6 0 L-4 6 Z",
    IncidentKind.EVICTION: "M-5 -6 H-1 V6 H-5 Z M1 -6 H5 V6 H1 Z",
    IncidentKind.END: "M-5 -5 H5 V5 H-5 Z",
    IncidentKind.CLEAN_UP: "M-5 -2 H5 V2 H-5 Z",
    IncidentKind.DELETION: "M-5 -5 H5 V5 H-5 Z",
}
"""A path around 0, 0 for each kind."""


@dataclass(frozen=True, slots=True)
class MarkGroup:
    """Marks at nearly the same place, in log order."""

    x: float
    marks: tuple[Mark, ...]

    @property
    def loudest(self) -> Mark:
        """The one that gives the cluster its shape, and that a click shows."""
        return min(self.marks, key=lambda mark: (mark.nature is not Nature.ABNORMAL, LOUD.index(mark.kind)))

    @property
    def nature(self) -> Nature:
        """Abnormal if any of them is."""
        return self.loudest.nature


def clusters(marks: Iterable[Mark], scale: Scale, near: float = NEAR) -> Sequence[MarkGroup]:
    """The marks inside of the picture, near ones together; each stands where the first of it does."""
    clustered: list[MarkGroup] = []
    for mark in marks:
        if not scale.holds(mark.when):
            continue
        x = scale.x(mark.when)
        if clustered and x - clustered[-1].x < near:
            clustered[-1] = MarkGroup(clustered[-1].x, (*clustered[-1].marks, mark))
        else:
            clustered.append(MarkGroup(x, (mark,)))
    return clustered
