"""Along a log: records in, their public events out, each with the state behind its entry.

A publisher has to know a job's state before the first record of it that it takes. Of closed jobs it keeps nothing.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from projectors.contract.page import PublicEvent
from projectors.contract.project import public
from projectors.contract.publication import Publication
from statemachine.events import Event
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.entry import Entry
from statemachine.log.life import LifeStep, decode_most, states
from statemachine.log.port import Record, Snapshot
from statemachine.log.reader import Folded, Reader
from statemachine.state import JobState


class PublishedEntry(NamedTuple):
    """The public events of an accepted entry at `position`.

    `states`: those of the job, the one before the entry, and one behind each of its internal events.
    """

    position: Position
    entry: Entry
    states: tuple[JobState, ...]
    events: tuple[PublicEvent, ...]

    @property
    def state(self) -> JobState:
        """The state behind the entry."""
        return self.states[-1]


class Publisher:
    """Makes the public events of one log, whose records are given to it in their order.

    `held`: jobs whose entries cannot be read whole, or not folded, from the entry named on: nothing that comes later
    in such a life is published, as a release that can read it would publish it before.
    """

    def __init__(self, publication: Publication, held: Mapping[JobUid, Seq] | None = None) -> None:
        self._publication = publication
        self._reader = Reader(keeps=0, decode=decode_most, fold=self._folded)
        self._states: tuple[JobState, ...] = ()
        self.held: dict[JobUid, Seq] = dict(held or {})

    def _folded(self, state: JobState, events: tuple[Event, ...]) -> JobState:
        self._states = states(state, events)
        return self._states[-1]

    def __contains__(self, job: JobUid) -> bool:
        return job in self._reader

    def seq(self, job: JobUid) -> Seq:
        """Number of the last entry of the job that was taken."""
        return self._reader.tracked(job).seq

    def restore(self, snapshot: Snapshot) -> bool:
        """The job is as its snapshot says, and its next record follows; False if that says nothing."""
        return not self._reader.restore([snapshot])

    def close(self, job: JobUid, seq: Seq) -> None:
        """The job ended with this entry."""
        self._reader.remember({job: seq})

    def pass_by(self, record: Record) -> None:
        """The record is known, and nothing leaves because of it: that was published before."""
        self._accepted(record)

    def take(self, record: Record) -> PublishedEntry | None:
        """What leaves because of the record; None: it does not count, or its job is held."""
        accepted = self._accepted(record)
        if accepted is None or record.job in self.held or not isinstance(accepted.entry, Entry):
            return None
        step = LifeStep(accepted.entry, accepted.entry.events, self._states)
        return PublishedEntry(
            record.position, accepted.entry, step.states, public(record, step, self._publication)
        )

    def _accepted(self, record: Record) -> Folded | None:
        accepted = self._reader.accept(record)
        if accepted is None:
            if self._reader.tracked(record.job).quarantined:
                self.held.setdefault(record.job, record.seq)
            return None
        if not isinstance(accepted.entry, Entry):
            self.held.setdefault(record.job, record.seq)
        return accepted

    def forget_closed(self) -> None:
        """Nothing is kept of closed jobs, as if none of their records had been given."""
        self._reader.forget_closed()

    def all(self, records: Iterator[Record]) -> Iterator[PublicEvent]:
        """The public events of records that are given."""
        for record in records:
            if (published := self.take(record)) is not None:
                yield from published.events
