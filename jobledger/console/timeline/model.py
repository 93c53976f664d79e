"""What a timeline consists of: plain, frozen data, made by `build` and drawn by `picture`."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from projectors.explain.model import IncidentKind, Nature
from projectors.phrases import Said
from statemachine.ids import Seq
from statemachine.phases import Phase
from statemachine.state import ReplicaPhase


class Instant(NamedTuple):
    """When something was observed, and by which entry. Never earlier than the one before, whatever clocks say."""

    seq: Seq
    at: datetime


class Band(NamedTuple):
    """The job was in `phase`; `end` is None while it is."""

    phase: Phase
    begin: Instant
    end: Instant | None = None


class Span(NamedTuple):
    """A replica's pod of `attempt` was in `phase`; `end` is None while it is. Without a pod there is no span."""

    phase: ReplicaPhase
    attempt: int
    begin: Instant
    end: Instant | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """One replica, for the job's life; `spans` in order, with gaps where it had no pod."""

    name: str
    type: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """An incident: what happened, in a sentence of no language yet, at which entry."""

    kind: IncidentKind
    nature: Nature
    when: Instant
    says: Said
    replica: str = ""
    by: str = ""


class Level(NamedTuple):
    """From `begin` on, `left` restarts were left of `limit`."""

    begin: Instant
    left: int
    limit: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """A job from its first entry to its last one, or until now.

    `moments` has an instant for every entry; `end` is the last one's once nothing more can happen, and `open`
    until then. `levels` is empty where restarts are not limited. Lanes stand in the order of the job's spec.
    """

    moments: tuple[Instant, ...]
    open: bool
    bands: tuple[Band, ...] = ()
    lanes: tuple[Lane, ...] = ()
    marks: tuple[Mark, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def begin(self) -> Instant:
        """The first entry."""
        return self.moments[0]

    @property
    def last(self) -> Instant:
        """The last entry."""
        return self.moments[-1]
