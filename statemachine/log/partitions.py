"""A ledger in partitions: each is a log of its own, and a job stays in one of them."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.closed_jobs import ClosedInAll
from statemachine.log.port import DeadLetter, EventLog, Record, Saved, Snapshot
from statemachine.log.reader import Reader, Tracked


def first(_: JobUid) -> int:
    """The number of the only partition."""
    return 0


@dataclass(frozen=True, slots=True)
class Partitions:
    """The logs of all partitions, by number; `number_of` maps a job to its partition."""

    logs: Sequence[EventLog]
    number_of: Callable[[JobUid], int] = first

    def log_of(self, job: JobUid) -> EventLog:
        """The log that holds the job."""
        return self.logs[self.number_of(job)]


class Merged:
    """A ReadableLog of all partitions, one after the other: a job's records are in their order."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    @property
    def finds_jobs(self) -> bool:
        """See ReadableLog."""
        return all(log.finds_jobs for log in self._partitions.logs)

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See ReadableLog. `after` is a position of one partition: with several it is 0, or `job` is given."""
        logs = self._partitions.logs if job is None else [self._partitions.log_of(job)]
        for log in logs:
            async for batch in log.scan(after, job=job, after_seq=after_seq):
                yield batch

    async def first_records(self, text: str) -> Sequence[Record] | None:
        """See ReadableLog."""
        firsts: list[Record] = []
        for log in self._partitions.logs:
            if (records := await log.first_records(text)) is None:
                return None
            firsts += records
        return firsts

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """See ReadableLog: they cover nothing, as no position stands for all partitions."""
        parts = [await log.snapshots() for log in self._partitions.logs]
        return 0, [snapshot for _, snapshots in parts for snapshot in snapshots]

    async def saved(self) -> Saved:
        """See ReadableLog: as `snapshots`."""
        return Saved.of(*await self.snapshots())

    async def recovered(self) -> "Reader | Readers":
        """A reader at the end of every partition, by the snapshots of each and the records behind them."""
        readers = [Reader() for _ in self._partitions.logs]
        for reader, log in zip(readers, self._partitions.logs, strict=True):
            await reader.recover(log)
        return as_one(readers, self._partitions.number_of)

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """See ReadableLog."""
        letters = [letter for log in self._partitions.logs for letter in await log.dead_letters()]
        return sorted(letters, key=lambda letter: letter.at)

    async def dead_letter_count(self) -> int:
        """See ReadableLog."""
        return sum([await log.dead_letter_count() for log in self._partitions.logs])


class Readers:
    """The readers of all partitions, for reading, as if they were one."""

    def __init__(self, readers: Sequence[Reader], number_of: Callable[[JobUid], int]) -> None:
        self._readers, self._number_of = readers, number_of

    def __contains__(self, job: JobUid) -> bool:
        return job in self._of(job)

    @property
    def position(self) -> Position:
        """The sum of all positions: it grows with every position, and is no place itself."""
        return sum(reader.position for reader in self._readers)

    @property
    def skipped(self) -> int:
        """How many records were not accepted."""
        return sum(reader.skipped for reader in self._readers)

    @property
    def jobs(self) -> Sequence[JobUid]:
        """Every job whose state is kept, those of one partition in order of appearance."""
        return self._all(reader.jobs for reader in self._readers)

    @property
    def forgotten(self) -> ClosedInAll:
        """The last entries of the closed jobs whose states are not kept; read-only."""
        return ClosedInAll([reader.forgotten for reader in self._readers])

    @property
    def open_jobs(self) -> Sequence[JobUid]:
        """The jobs that are not closed."""
        return self._all(reader.open_jobs for reader in self._readers)

    @property
    def quarantined(self) -> dict[JobUid, str]:
        """The jobs in quarantine, with the reason."""
        return {job: reason for reader in self._readers for job, reason in reader.quarantined.items()}

    def tracked(self, job: JobUid) -> Tracked:
        """The job as folded; the empty state for an unknown one."""
        return self._of(job).tracked(job)

    def _of(self, job: JobUid) -> Reader:
        return self._readers[self._number_of(job)]

    def _all(self, jobs: Iterable[Sequence[JobUid]]) -> Sequence[JobUid]:
        return tuple(chain.from_iterable(jobs))


def as_one(readers: Sequence[Reader], number_of: Callable[[JobUid], int]) -> Reader | Readers:
    """The readers as one; a single reader itself."""
    return readers[0] if len(readers) == 1 else Readers(readers, number_of)
