"""Steps of a life → a timeline: what changes from one state to the next is noted.

Marks are the incidents that `projectors.explain` tells, so that picture, `jobledger why` and this console never
disagree about what has happened.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from jobledger.console.timeline.model import Band, Instant, Lane, Level, Mark, Span, Timeline
from projectors.explain import Chronicle
from projectors.explain.diagnosis import by
from projectors.explain.model import IncidentKind, Nature
from projectors.phrases import phrase
from statemachine import events as e
from statemachine.budget import budget
from statemachine.ids import ReplicaName, split_replica
from statemachine.log.life import LifeStep
from statemachine.phases import Phase
from statemachine.state import JobState, ReplicaPhase, ReplicaState

Stretch = TypeVar("Stretch", Band, Span)


def timeline(steps: Iterable[LifeStep]) -> Timeline:
    """The timeline of the job whose steps these are: from the first on, in order, without holes.

    Raises:
        ValueError: there are none that can be read.
    """
    drawing, chronicle = Drawing(), Chronicle()
    for step in steps:
        drawing.take(step)
        chronicle.take(step)
    return drawing.timeline(chronicle)


class Drawing:
    """A timeline while it is drawn, step by step."""

    def __init__(self) -> None:
        self._state: JobState | None = None
        self._moments: list[Instant] = []
        self._bands: list[Band] = []
        self._levels: list[Level] = []
        self._spans: dict[ReplicaName, list[Span]] = {}

    def take(self, step: LifeStep) -> None:
        """One more step is drawn, if it can be read."""
        entry = step.entry
        if entry is None or not step.whole:
            return
        at = max(entry.seen_at, self._moments[-1].at) if self._moments else entry.seen_at
        now = Instant(entry.seq, at)
        self._moments.append(now)
        self._state = step.state
        self._phase(step.state.phase, now)
        self._budget(step.state, now)
        for name in _concerned(step.events, step.state):
            self._replica(name, step, now)

    def timeline(self, chronicle: Chronicle) -> Timeline:
        """The picture's data; its marks are what `chronicle`, which took the same steps, tells.

        Raises:
            ValueError: there are no steps.
        """
        if self._state is None:
            raise ValueError("a job without entries has no timeline")
        return Timeline(
            moments=tuple(self._moments),
            open=not _is_over(self._state),
            bands=tuple(self._bands),
            lanes=tuple(self._lanes(self._state)),
            marks=tuple(_marks(chronicle, self._moments)),
            levels=tuple(self._levels),
        )

    def _phase(self, phase: Phase, now: Instant) -> None:
        if phase is Phase.NEW or (self._bands and self._bands[-1].phase is phase):
            return
        _ended(self._bands, now)
        self._bands.append(Band(phase, now))

    def _budget(self, state: JobState, now: Instant) -> None:
        restarts = budget(state)
        if restarts.limit is None or restarts.left is None:
            return
        if not self._levels or self._levels[-1][1:] != (restarts.left, restarts.limit):
            self._levels.append(Level(now, restarts.left, restarts.limit))

    def _replica(self, name: ReplicaName, step: LifeStep, now: Instant) -> None:
        spans, replica = self._spans.setdefault(name, []), step.state.replicas.get(name)
        if replica is step.before.replicas.get(name):
            return
        if replica is None or replica.phase is ReplicaPhase.DELETED:
            _ended(spans, now)
            return
        last = spans[-1] if spans else None
        if last and last.end is None and last[:2] == (replica.phase, replica.attempt):
            return
        _ended(spans, now)
        spans.append(Span(replica.phase, replica.attempt, now))

    def _lanes(self, state: JobState) -> Iterator[Lane]:
        """The lanes of all replicas that ever had a pod; those of the present scale first."""
        order = [*(state.plan.replicas() if state.plan else ()), *self._spans]
        for name in dict.fromkeys(order):
            if self._spans.get(name):
                yield Lane(name, split_replica(name)[0], tuple(self._spans[name]))


def _is_over(state: JobState) -> bool:
    """Nothing more can happen that would show: no pod is left of a job that has ended, or is deleted."""
    return state.closed or (state.is_final and not any(map(_is_going_on, state.replicas.values())))


def _is_going_on(replica: ReplicaState) -> bool:
    return replica.has_pod and not replica.ended


def _ended(stretches: list[Stretch], now: Instant) -> None:
    """The last one, if it is still open, ends now."""
    if stretches and stretches[-1].end is None:
        stretches[-1] = stretches[-1]._replace(end=now)


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


def _marks(chronicle: Chronicle, moments: Sequence[Instant]) -> Iterator[Mark]:
    """The incidents, in log order; also the deletion of a job that had ended, which explains nothing."""
    when = {moment.seq: moment for moment in moments}
    drafts = chronicle.diagnosis.drafts.all if chronicle.diagnosis else ()
    marks = [
        Mark(draft.kind, draft.nature, when[draft.entry.seq], draft.says, draft.replica, draft.by)
        for draft in drafts
    ]
    for entry in chronicle.rest:
        for event in entry.events:
            if isinstance(event, e.JobDeleted):
                says = phrase("The job was deleted{by}, after it had ended.", by=by(entry))
                kind = IncidentKind.DELETION
                marks.append(Mark(kind, Nature.ASKED_FOR, when[entry.seq], says, by=event.actor))
    return iter(sorted(marks, key=lambda mark: mark.when.seq))
