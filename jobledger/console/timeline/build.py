"""Entries → a timeline: the job is folded once, and what changes on the way is noted.

Marks are the incidents that `projectors.explain` tells, so that picture, `jobledger why` and this console never
disagree about what has happened.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from jobledger.console.timeline.model import Band, Instant, Lane, Level, Mark, Span, Timeline
from projectors.explain import happened, life
from projectors.explain.model import IncidentKind, Nature
from projectors.explain.told import by
from projectors.phrases import phrase
from statemachine import events as e
from statemachine.budget import budget
from statemachine.evolve import evolve
from statemachine.ids import ReplicaName, split_replica
from statemachine.log.entry import Entry
from statemachine.phases import Phase
from statemachine.state import JobState, ReplicaPhase, ReplicaState

Step = TypeVar("Step", Band, Span)


def timeline(entries: Sequence[Entry]) -> Timeline:
    """The timeline of the job whose entries these are: from the first on, in order, without holes.

    Raises:
        ValueError: there are no entries.
    """
    if not entries:
        raise ValueError("a job without entries has no timeline")
    drawn = _Drawing(JobState(entries[0].job))
    for entry in entries:
        drawn.add(entry)
    return Timeline(
        moments=tuple(drawn.moments),
        open=not drawn.over,
        bands=tuple(drawn.bands),
        lanes=tuple(drawn.lanes()),
        marks=tuple(_marks(entries, drawn.moments)),
        levels=tuple(drawn.levels),
    )


class _Drawing:
    """A timeline while it is drawn, entry by entry."""

    def __init__(self, state: JobState) -> None:
        self.state = state
        self.moments: list[Instant] = []
        self.bands: list[Band] = []
        self.levels: list[Level] = []
        self._spans: dict[ReplicaName, list[Span]] = {}

    @property
    def over(self) -> bool:
        """Nothing more can happen that would show: no pod is left of a job that has ended, or is deleted."""
        state = self.state
        return state.closed or (
            state.is_final and not any(each.has_pod and not each.ended for each in state.replicas.values())
        )

    def add(self, entry: Entry) -> None:
        """One more entry."""
        at = max(entry.seen_at, self.moments[-1].at) if self.moments else entry.seen_at
        now = Instant(entry.seq, at)
        self.moments.append(now)
        before = self.state
        for event in entry.events:
            self.state = evolve(self.state, event)
        self._phase(now)
        self._budget(now)
        for name in _concerned(entry.events, self.state):
            self._replica(name, before.replicas.get(name), now)

    def _phase(self, now: Instant) -> None:
        phase = self.state.phase
        if phase is Phase.NEW or (self.bands and self.bands[-1].phase is phase):
            return
        _ended(self.bands, now)
        self.bands.append(Band(phase, now))

    def _budget(self, now: Instant) -> None:
        found = budget(self.state)
        if found.limit is None or found.left is None:
            return
        if not self.levels or self.levels[-1][1:] != (found.left, found.limit):
            self.levels.append(Level(now, found.left, found.limit))

    def _replica(self, name: ReplicaName, before: ReplicaState | None, now: Instant) -> None:
        spans, replica = self._spans.setdefault(name, []), self.state.replicas.get(name)
        if replica is before:
            return
        if replica is None or replica.phase is ReplicaPhase.DELETED:
            _ended(spans, now)
            return
        last = spans[-1] if spans else None
        if last and last.end is None and last[:2] == (replica.phase, replica.attempt):
            return
        _ended(spans, now)
        spans.append(Span(replica.phase, replica.attempt, now))

    def lanes(self) -> Iterator[Lane]:
        """The lanes of all replicas that ever had a pod; those of the present scale first."""
        plan = self.state.plan
        order = [*(plan.replicas() if plan else ()), *self._spans]
        for name in dict.fromkeys(order):
            if self._spans.get(name):
                yield Lane(name, split_replica(name)[0], tuple(self._spans[name]))


def _ended(steps: list[Step], now: Instant) -> None:
    """The last step, if one is still open, ends now."""
    if steps and steps[-1].end is None:
        steps[-1] = steps[-1]._replace(end=now)


def _concerned(events: Iterable[e.Event], state: JobState) -> Iterable[ReplicaName]:
    """The replicas that the events may have changed: the one that each names, or all."""
    named: dict[ReplicaName, None] = {}
    for event in events:
        name = getattr(event, "replica", None)
        if name is not None:
            named[name] = None
        elif isinstance(event, e.PhaseEntered | e.SpecChanged | e.JobAdmitted | e.JobDeleted | e.JobClosed):
            return list(state.replicas)
    return named


def _marks(entries: Sequence[Entry], moments: Sequence[Instant]) -> Iterator[Mark]:
    """The incidents, in log order; also the deletion of a job that had ended, which explains nothing."""
    when = {each.seq: each for each in moments}
    marks = [
        Mark(each.kind, each.nature, when[each.entry.seq], each.says, each.replica, each.by)
        for each in happened(entries)
    ]
    for entry in entries[len(life(entries)) :]:
        for event in entry.events:
            if isinstance(event, e.JobDeleted):
                says = phrase("The job was deleted{by}, after it had ended.", by=by(entry))
                kind = IncidentKind.DELETION
                marks.append(Mark(kind, Nature.ASKED_FOR, when[entry.seq], says, by=event.actor))
    return iter(sorted(marks, key=lambda each: each.when.seq))
