"""The life of one job, step by step: records → their events, and the states between these.

Every view of one job's past (`history`, `why`, the picture, the states at any moment) is made of these steps. An
entry is decoded once, whole, and folded once, event by event, for several views together. The Reader says which
records count, as everywhere (ADR 0032).

Reading a life costs what `scan(job=…)` costs: in SQLite the job's own entries, by the index of (job, seq); in Kafka,
which has no such index, the partition that the job is in.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from statemachine.errors import EntryUnreadable
from statemachine.events import Event
from statemachine.evolve import evolve
from statemachine.ids import JobUid
from statemachine.log.codec import decode, decode_events
from statemachine.log.entry import Entry, EntryEvents
from statemachine.log.port import ReadableLog, Record
from statemachine.log.reader import Reader, Tracked
from statemachine.state import JobState


class LifeStep(NamedTuple):
    """The content of a record, and the job's states: the one before it, and the one behind each of its `events`.

    `entry` is None if it cannot be shown, and `fault` says why: the record does not count (no events), or only its
    events are readable, as for an observation of a newer release. `whole`: this record, and all before it that count,
    can be shown.
    """

    entry: Entry | None
    events: tuple[Event, ...]
    states: tuple[JobState, ...]
    fault: str = ""
    whole: bool = True

    @property
    def before(self) -> JobState:
        """The state before the record."""
        return self.states[0]

    @property
    def state(self) -> JobState:
        """The state behind the record."""
        return self.states[-1]

    def moments(self) -> Iterator[tuple[Event, JobState]]:
        """The events in order, each with the state before it."""
        return zip(self.events, self.states, strict=False)


class Life:
    """A job according to its records, which are added from the first on, in log order."""

    def __init__(self, job: JobUid) -> None:
        self.job = job
        self._reader = Reader(decode=decode_most, fold=self._folded)
        self._states: tuple[JobState, ...] = ()
        self._whole = True

    @property
    def tracked(self) -> Tracked:
        """The job behind the last record that counts."""
        return self._reader.tracked(self.job)

    def add(self, record: Record) -> LifeStep:
        """Adds a record of the log. Returns its step."""
        folded = self._reader.accept(record)
        if folded is None:
            return LifeStep(None, (), (self.tracked.state,), self._why_not(record), whole=False)
        if not isinstance(folded.entry, Entry):
            self._whole = False
            return LifeStep(None, folded.entry.events, self._states, why_unread(record.body), whole=False)
        return LifeStep(folded.entry, folded.entry.events, self._states, whole=self._whole)

    def _folded(self, state: JobState, events: tuple[Event, ...]) -> JobState:
        self._states = states(state, events)
        return self._states[-1]

    def _why_not(self, record: Record) -> str:
        """Why the reader did not accept the record; a record that caused the quarantine has the reason of that."""
        own, quarantined = f"entry {record.seq}: ", self.tracked.quarantined
        if quarantined.startswith(own):
            return quarantined.removeprefix(own)
        return self._reader.last_skipped[-1].reason


def decode_most(body: bytes) -> Entry | EntryEvents:
    """The whole entry; with an unknown cause, the part that folding needs. Raises EntryUnreadable."""
    try:
        return decode(body)
    except EntryUnreadable:
        return decode_events(body)


def why_unread(body: bytes) -> str:
    """Why an entry cannot be read whole; empty if it can."""
    try:
        decode(body)
    except EntryUnreadable as error:
        return error.reason
    return ""


def states(state: JobState, events: Iterable[Event]) -> tuple[JobState, ...]:
    """`state`, and the state behind each of `events`."""
    reached = [state]
    for event in events:
        state = evolve(state, event)
        reached.append(state)
    return tuple(reached)


def retold(state: JobState, entries: Iterable[Entry]) -> Iterator[LifeStep]:
    """The steps of entries that count: those behind `state`, in order."""
    for entry in entries:
        step = LifeStep(entry, entry.events, states(state, entry.events))
        state = step.state
        yield step


async def records_of(log: ReadableLog, job: JobUid) -> tuple[Record, ...]:
    """All records of the job, in log order."""
    return tuple([record async for batch in log.scan(job=job) for record in batch])


def steps_of(job: JobUid, records: Iterable[Record]) -> Iterator[tuple[Record, LifeStep]]:
    """The records with their steps; a record is read when the caller asks for its step."""
    life = Life(job)
    for record in records:
        yield record, life.add(record)
