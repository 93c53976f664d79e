"""A history in SQL that the processes of a world share, and what has to be in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from jobledger.wiring.history import streams_of
from jobledger.wiring.streams import Stream
from statemachine.ids import JobUid
from statemachine.log.port import EventLog, Record
from statemachine.log.reader import Reader, Tracked
from tests.support.faults import Life
from tests.support.faulty_store import FaultyStore, MemoryStore, Rows, made_anew

_PHASE, _DELETED, _LAST_SEQ = 5, 9, 12
"""Columns of `history_jobs`."""

ODDS: Final[Mapping[str, float]] = {"database_fails": 0.3, "database_lost_reply": 0.3}
"""How often its database fails at most."""


class SharedHistory:
    """The history, and copies of it; `written` gives what the partitions of the log have, in their order."""

    def __init__(self, written: Callable[[], Sequence[Sequence[Record]]]) -> None:
        self.store = MemoryStore()
        self.copies: list[bytes] = []
        self.readers: list[Reader] = []
        """Of each whole partition, as far as it was looked at."""
        self._written = written
        self._anew: tuple[Sequence[int], Rows] = (), {}

    def streams(self, life: Life, logs: Sequence[EventLog]) -> Sequence[Sequence[Stream]]:
        """The projectors of a process that reads `logs`."""
        return streams_of(FaultyStore(self.store, life).database(), logs)

    def findings(self) -> Iterator[str]:
        """At rest it shows what the log folds to, row by row."""
        partitions = self._written()
        shown, expected = self.store.rows(), self._made_anew(partitions)
        for table, rows in expected.items():
            if shown[table] != rows:
                yield f"{table} has {set(shown[table]) - set(rows)}, made anew {set(rows) - set(shown[table])}"
        yield from self._unlike_states(partitions, shown["history_jobs"])

    def _made_anew(self, partitions: Sequence[Sequence[Record]]) -> Rows:
        """What a history of the whole log has; made again when the log has grown."""
        entries = [len(records) for records in partitions]
        if self._anew[0] != entries:
            self._anew = entries, made_anew(partitions)
        return self._anew[1]

    def _unlike_states(
        self, partitions: Sequence[Sequence[Record]], rows: Sequence[Sequence[object]]
    ) -> Iterator[str]:
        by_uid = {row[0]: row for row in rows}
        self.readers = self.readers or [Reader() for _ in partitions]
        for reader, records in zip(self.readers, partitions, strict=True):
            for record in records:
                if record.position > reader.position:  # it goes on where it was at the last look
                    reader.accept(record)
            for job in reader.jobs:
                tracked = reader.tracked(job)
                row, state = by_uid.get(job), tracked.state
                says = row and (row[_PHASE], bool(row[_DELETED]), row[_LAST_SEQ])
                if says != (state.phase.value, state.deleted, tracked.seq):
                    yield (
                        f"the history says of job {job}: {says}, the log: {state.phase} at entry {tracked.seq}"
                    )

    def tracked(self, job: JobUid) -> Tracked:
        """The job as the log folds to, at the last look."""
        return next(reader for reader in self.readers if job in reader).tracked(job)


class WithHistory:
    """What worlds have whose processes bring a history on."""

    shared: SharedHistory
