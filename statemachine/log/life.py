"""The life of one job, step by step: records in, what they say and the states that they lead through out.

Every view of one job's past (`history`, `why`, the picture, the states at any moment) is made of these steps. An
entry is decoded once, whole, and folded once, event by event; who makes several views gives each of them every step.
Which records count is the Reader's to say, as everywhere (ADR 0032).

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


class Step(NamedTuple):
    """What a record says, and the job's states: the one before it, and the one behind each of its `events`.

    `entry` is None where it cannot be told, and `fault` says why: the record does not count (no events), or only its
    events can be read, as where a newer release observed something. `whole`: it counts and can be told, and so can
    all before it that count.
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
        """The state behind it."""
        return self.states[-1]

    def moments(self) -> Iterator[tuple[Event, JobState]]:
        """The events in order, each with the state before it."""
        return zip(self.events, self.states, strict=False)


class Life:
    """A job as the records tell it that were added, which are its own, from the first on and in log order."""

    def __init__(self, job: JobUid) -> None:
        self.job = job
        self._reader = Reader(decode=decode_most, fold=self._folded)
        self._states: tuple[JobState, ...] = ()
        self._whole = True

    @property
    def tracked(self) -> Tracked:
        """Where the job stands behind the last record that counts."""
        return self._reader.tracked(self.job)

    def add(self, record: Record) -> Step:
        """One more record of the log."""
        folded = self._reader.accept(record)
        if folded is None:
            return Step(None, (), (self.tracked.state,), self._why_not(record), whole=False)
        if not isinstance(folded.entry, Entry):
            self._whole = False
            return Step(None, folded.entry.events, self._states, why_unread(record.body), whole=False)
        return Step(folded.entry, folded.entry.events, self._states, whole=self._whole)

    def _folded(self, state: JobState, events: tuple[Event, ...]) -> JobState:
        self._states = states(state, events)
        return self._states[-1]

    def _why_not(self, record: Record) -> str:
        """Why the record was not accepted; the one that put the job in quarantine has its own reason."""
        own, quarantined = f"entry {record.seq}: ", self.tracked.quarantined
        if quarantined.startswith(own):
            return quarantined.removeprefix(own)
        return self._reader.last_skipped[-1].reason


def decode_most(body: bytes) -> Entry | EntryEvents:
    """The whole entry; where its cause is not known here, as much as folding needs. Raises EntryUnreadable."""
    try:
        return decode(body)
    except EntryUnreadable:
        return decode_events(body)


def why_unread(body: bytes) -> str:
    """Why no more of an entry can be read than folding needs."""
    try:
        decode(body)
    except EntryUnreadable as error:
        return error.reason
    return ""


def states(state: JobState, events: Iterable[Event]) -> tuple[JobState, ...]:
    """`state`, and the one behind each of `events`."""
    reached = [state]
    for event in events:
        state = evolve(state, event)
        reached.append(state)
    return tuple(reached)


def retold(state: JobState, entries: Iterable[Entry]) -> Iterator[Step]:
    """The steps of entries that are known to count: those behind `state`, in order."""
    for entry in entries:
        step = Step(entry, entry.events, states(state, entry.events))
        state = step.state
        yield step


async def records_of(log: ReadableLog, job: JobUid) -> tuple[Record, ...]:
    """All records of the job, in log order."""
    return tuple([record async for batch in log.scan(job=job) for record in batch])


def steps_of(job: JobUid, records: Iterable[Record]) -> Iterator[tuple[Record, Step]]:
    """The records with what they say; every record is read when its step is asked for."""
    life = Life(job)
    for record in records:
        yield record, life.add(record)
