"""A log's public events from the middle on: what a publisher has to know of jobs when their records come.

A log that finds the records of a job gives them when the first new one of the job comes. Of a log in Kafka there are
snapshots: one is of use if it stands before the first new record of its job. If that is not so for a single job, the
log is folded once from its beginning. Nothing is kept but the position. Source: ADR 0039.
"""

from collections.abc import AsyncIterator, Container, Mapping, Sequence

from projectors.contract.catalogue import VERSION
from projectors.contract.publication import Publication
from projectors.contract.stream import PublishedEntry, Publisher
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.port import EventLog, Record, Snapshot
from statemachine.log.positions import SinkPosition


def beginning(publication: Publication, position: Position = 0) -> SinkPosition:
    """Of a sink that is to get what stands behind `position`."""
    return SinkPosition(position, {}, VERSION, publication.fingerprint)


class PublicTail:
    """The public events of one `log` behind `at`."""

    def __init__(self, log: EventLog, publication: Publication, at: SinkPosition) -> None:
        self._log, self._publication = log, publication
        self._publisher = Publisher(publication, at.held)
        self._position = at.position
        self._is_released = not at.held
        self._is_whole = at.position == 0
        """Every job that has a record up to the position is known."""
        self._snapshots: dict[JobUid, Snapshot] | None = None
        self._closed: Mapping[JobUid, Seq] = {}

    @property
    def upto(self) -> SinkPosition:
        """Where a sink stands that has all that was given so far."""
        return beginning(self._publication, self._position)._replace(held=dict(self._publisher.held))

    async def more(self) -> AsyncIterator[PublishedEntry | None]:
        """Record by record what leaves, up to the end of the log as it is now; None for nothing.

        Before that, once: what was held, and can be read by this release. Raises LogUnavailable; this object is of no
        use then.
        """
        if not self._is_released:
            async for published in self._released():
                yield published
            self._is_released = True
        end = await self._log.end()
        async for records in self._log.scan(self._position):
            await self._know(records)
            for record in records:
                published = self._publisher.take(record)
                self._position = record.position
                yield published
        # in Kafka marks of transactions stand behind the last record
        self._position = max(self._position, end)

    # ---- jobs that were held -------------------------------------------------------------------------------

    async def _released(self) -> AsyncIterator[PublishedEntry | None]:
        held, now = dict(self._publisher.held), self._publisher.held
        before = Publisher(self._publication)
        async for record in self._records_of(held):
            published = before.take(record)
            if published is not None and record.seq >= held[record.job]:
                now[record.job] = record.seq + 1
                yield published
        for job, seq in held.items():
            if job in before.held:
                now[job] = max(seq, before.held[job])
            else:
                del now[job]
        yield None

    async def _records_of(self, jobs: Container[JobUid]) -> AsyncIterator[Record]:
        """The records of these jobs up to the position."""
        async for records in self._log.scan():
            for record in records:
                if record.position > self._position:
                    return
                if record.job in jobs:
                    yield record

    # ---- jobs that go on -----------------------------------------------------------------------------------

    async def _know(self, records: Sequence[Record]) -> None:
        """Every job of these records, which are the next ones, is known as it stands at the position."""
        if self._is_whole:
            return
        firsts: dict[JobUid, Record] = {}
        for record in records:
            if record.job not in self._publisher:
                firsts.setdefault(record.job, record)
        if self._log.finds_jobs:
            for first in firsts.values():
                await self._fold(first)
        elif firsts:
            await self._recall()
            if not self._is_whole and not all(map(self._recalled, firsts.values())):
                await self._fold_all()

    async def _fold(self, first: Record) -> None:
        """The job of `first` is known as it stands before it."""
        if first.seq == 1:
            return
        async for records in self._log.scan(job=first.job):
            for record in records:
                if record.position >= first.position:
                    return
                self._publisher.pass_by(record)

    async def _recall(self) -> None:
        """The snapshots are there, and jobs with records between these and the position are known."""
        if self._snapshots is not None:
            return
        covered, snapshots, self._closed, _ = await self._log.saved()
        self._snapshots = {snapshot.job: snapshot for snapshot in snapshots}
        self._is_whole = covered == 0
        async for records in self._log.scan(covered):
            for record in records:
                if record.position > self._position:
                    return
                if self._recalled(record):
                    self._publisher.pass_by(record)

    def _recalled(self, record: Record) -> bool:
        """The record's job is known as it stands before the record, or a little earlier."""
        job, snapshots = record.job, self._snapshots or {}
        if job in self._publisher:
            return True
        if (snapshot := snapshots.get(job)) is not None:
            is_known = snapshot.seq < record.seq and self._publisher.restore(snapshot)
            if is_known:
                del snapshots[job]
            return is_known
        if (seq := self._closed.get(job)) is not None:
            if seq >= record.seq:
                return False
            self._publisher.close(job, seq)
            return True
        return record.seq == 1

    async def _fold_all(self) -> None:
        """Every job is known as it stands at the position."""
        self._publisher = Publisher(self._publication, self._publisher.held)
        self._is_whole, self._snapshots = True, {}
        async for records in self._log.scan():
            for record in records:
                if record.position > self._position:
                    return
                self._publisher.pass_by(record)
