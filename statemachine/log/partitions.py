"""A ledger whose log is cut into partitions: each a log of its own, each job in one of them for good."""

from collections import ChainMap
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.port import DeadLetter, EventLog, Record, Saved, Snapshot
from statemachine.log.reader import Reader, Tracked


def first(_: JobUid) -> int:
    """The number of the only partition."""
    return 0


@dataclass(frozen=True, slots=True)
class Partitions:
    """The logs of all partitions, in the order of their numbers; `number_of` tells in which a job is."""

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
        return all(each.finds_jobs for each in self._partitions.logs)

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See ReadableLog. `after` is a place in one partition, so only 0 and `job` go well together with several."""
        logs = self._partitions.logs if job is None else [self._partitions.log_of(job)]
        for each in logs:
            async for batch in each.scan(after, job=job, after_seq=after_seq):
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
        found = [await each.snapshots() for each in self._partitions.logs]
        return 0, [snapshot for _, snapshots in found for snapshot in snapshots]

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
        found = [letter for each in self._partitions.logs for letter in await each.dead_letters()]
        return sorted(found, key=lambda letter: letter.at)

    async def dead_letter_count(self) -> int:
        """See ReadableLog."""
        return sum([await each.dead_letter_count() for each in self._partitions.logs])


class Readers:
    """The readers of all partitions, to be looked at as if they were one."""

    def __init__(self, readers: Sequence[Reader], number_of: Callable[[JobUid], int]) -> None:
        self._readers, self._number_of = readers, number_of

    def __contains__(self, job: JobUid) -> bool:
        return job in self._of(job)

    @property
    def position(self) -> Position:
        """The sum of their positions: it grows when one does, and is no place."""
        return sum(each.position for each in self._readers)

    @property
    def skipped(self) -> int:
        """How many records were not accepted."""
        return sum(each.skipped for each in self._readers)

    @property
    def jobs(self) -> Sequence[JobUid]:
        """Every job whose state is kept, those of one partition in order of appearance."""
        return self._all(each.jobs for each in self._readers)

    @property
    def forgotten(self) -> Mapping[JobUid, Seq]:
        """The last entries of the closed jobs whose states are not kept; to be looked at, not changed."""
        return ChainMap(*(each.forgotten for each in self._readers))

    @property
    def open_jobs(self) -> Sequence[JobUid]:
        """The jobs that are not over."""
        return self._all(each.open_jobs for each in self._readers)

    @property
    def quarantined(self) -> dict[JobUid, str]:
        """The jobs in quarantine, with the reason."""
        return {job: reason for each in self._readers for job, reason in each.quarantined.items()}

    def tracked(self, job: JobUid) -> Tracked:
        """What is known of `job`; the empty state for one that was never seen."""
        return self._of(job).tracked(job)

    def _of(self, job: JobUid) -> Reader:
        return self._readers[self._number_of(job)]

    def _all(self, jobs: Iterable[Sequence[JobUid]]) -> Sequence[JobUid]:
        return tuple(chain.from_iterable(jobs))


def as_one(readers: Sequence[Reader], number_of: Callable[[JobUid], int]) -> Reader | Readers:
    """The readers to be looked at; the only one itself."""
    return readers[0] if len(readers) == 1 else Readers(readers, number_of)
