"""A log in memory that finds no single jobs, as one in Kafka, and the snapshots that an engine saves in it."""

from collections.abc import AsyncIterator, Sequence

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.port import Record
from statemachine.log.reader import Reader
from tests.support.memory_log import MemoryLog


class Unindexed(MemoryLog):
    """A log that finds no single jobs, as one in Kafka; `scans` counts reads from its beginning."""

    scans = 0

    @property
    def finds_jobs(self) -> bool:
        """See ReadableLog."""
        return False

    def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See ReadableLog."""
        self.scans += after == 0
        return super().scan(after, job=job, after_seq=after_seq)


async def records(log: MemoryLog) -> Sequence[Record]:
    """All of them."""
    return [record async for batch in log.scan() for record in batch]


async def saved(log: MemoryLog, upto: Position) -> None:
    """Snapshots of all jobs as they are at a position, as an engine saves them."""
    reader = Reader(keeps=0)
    for record in await records(log):
        if record.position <= upto:
            reader.accept(record)
    await log.save_snapshots(upto, reader.unsaved())
