"""The history of a job as the log grows: each entry with the states around it, folded once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from statemachine import events as e
from statemachine.evolve import evolve
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.log.codec import decode
from statemachine.log.entry import Entry
from statemachine.log.port import Record
from statemachine.log.reader import Reader, Tracked
from statemachine.state import JobState

_ENDS = (e.ReplicaFailed, e.ReplicaSucceeded, e.ReplicaEnded)


class LoggedEntry(NamedTuple):
    """An entry: the state that it met, and each of its events with the state that the event met."""

    record: Record
    entry: Entry
    before: JobState
    after: JobState
    events: tuple[tuple[JobState, e.Event], ...]


class Story:
    """One job's history."""

    def __init__(self, job: JobUid) -> None:
        self.state = JobState(job)
        self.steps: list[LoggedEntry] = []
        self.ends: set[PodUid] = set()
        """Pods whose end the log tells."""
        self.asked: dict[ReplicaName, int] = {}
        """The last attempt of each replica that the log asked for, or took over."""
        self.made: dict[PodUid, tuple[ReplicaName, int]] = {}
        """Replica and attempt of each pod that the log tells of."""
        self.counts: defaultdict[str, Counter[object]] = defaultdict(Counter)
        """What rules remember from entry to entry, by a name of their own."""
        self._reader = Reader()
        self._replayed = 0

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Story":
        """That of one job, whole."""
        every = list(records)
        story = cls(every[0].job)
        for record in every:
            story.add(record)
        return story

    @property
    def records(self) -> list[Record]:
        """Its part of the log."""
        return [step.record for step in self.steps]

    def add(self, record: Record) -> LoggedEntry:
        """The next entry."""
        entry, met, state = decode(record.body), [], self.state
        for event in entry.events:
            met.append((state, event))
            state = evolve(state, event)
            if isinstance(event, _ENDS):
                self.ends.add(event.uid)
            elif isinstance(event, e.ReplicaRequested | e.ReplicaAdopted):
                self.asked[event.replica] = event.attempt
        step = LoggedEntry(record, entry, self.state, state, tuple(met))
        self.steps.append(step)
        self.state = state
        return step

    def replayed(self) -> Tracked:
        """What a reader makes of its part of the log. One that goes on has read the same as one that begins anew."""
        for step in self.steps[self._replayed :]:
            self._reader.accept(step.record)
        self._replayed = len(self.steps)
        return self._reader.tracked(self.state.uid)

    def events(self) -> Iterator[tuple[JobState, e.Event]]:
        """Each event with the state that it met."""
        for step in self.steps:
            yield from step.events
