"""The states of jobs at the position where a projector starts in the middle of a log.

A log in Kafka has no index by job, so the states come from the log's snapshots and the entries behind these, and only
of jobs with new entries. A snapshot may be ahead of a view that was stopped for a while; then the projector folds the
whole log up to its position, once. After most starts a reader of the same process stands at the view's position: then
the projector copies its states, and reads nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from projectors.history.database import Database
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.codec import decode_brief
from statemachine.log.port import EventLog, Snapshot
from statemachine.log.reader import Reader
from statemachine.state import STATE_VERSION

_AT_A_TIME: Final = 500
_LAST: Final = """SELECT uid, last_seq, position FROM history_jobs, history_positions
    WHERE history_positions.partition = $1 AND uid IN ({})"""
_CLOSED: Final = """SELECT uid, last_seq, position FROM history_jobs, history_positions
    WHERE history_positions.partition = $1 AND uid IN ({}) AND NOT EXISTS
    (SELECT 1 FROM history_listing WHERE history_listing.uid = history_jobs.uid)"""
"""The jobs of these that are closed: no list has them any more."""


class PastStates:
    """The states of jobs as of position `upto` of `log`, where the view of `partition` in `database` is."""

    def __init__(self, log: EventLog, database: Database, partition: int, upto: Position) -> None:
        self._log, self._database, self._partition, self._upto = log, database, partition, upto
        self.seen: Position = upto
        """How far the view was when it was asked last: another process may have brought it there."""
        self._snapshots: dict[JobUid, Snapshot] = {}
        self._whole = upto == 0

    async def resume(self) -> Reader:
        """A reader at `upto`, which has to `know` jobs before it accepts more records of them."""
        reader = Reader(keeps=0, decode=decode_brief)
        if not self._whole and not await self._from_snapshots(reader):
            reader = Reader(keeps=0, decode=decode_brief)
            await self._fold_all(reader)
        reader.position = self._upto
        return reader

    async def know(self, reader: Reader, jobs: Collection[JobUid]) -> None:
        """Gives the reader the states of `jobs` at `upto`, unless it has them. Closed jobs have none."""
        if unknown := [job for job in jobs if job not in reader]:
            closed = await self._seqs(_CLOSED, unknown)
            reader.remember(closed)
            remaining = [] if self._whole else [job for job in unknown if job not in closed]
            if remaining and not await self._restore(reader, remaining):
                await self._fold_all(reader)

    async def _from_snapshots(self, reader: Reader) -> bool:
        """Gives the reader the jobs with entries behind the snapshots; False if the snapshots are not enough."""
        covered, snapshots, closed, _ = await self._log.saved()
        self._snapshots = {snapshot.job: snapshot for snapshot in snapshots}
        async for batch in self._log.scan(covered):
            records = [
                record for record in batch if record.position <= self._upto and record.job not in closed
            ]
            begun = {record.job for record in records} & self._snapshots.keys()
            if not await self._restore(reader, [job for job in begun if job not in reader]):
                return False
            for record in records:
                if record.seq > reader.tracked(record.job).seq:
                    reader.accept(record)
            if batch[-1].position > self._upto:
                break
        return True

    async def _restore(self, reader: Reader, jobs: Sequence[JobUid]) -> bool:
        """Gives the reader the jobs' snapshots; False if one is missing, unusable, or ahead of the view."""
        seqs = await self._seqs(_LAST, jobs)
        fitting = []
        for job in jobs:
            snapshot = self._snapshots.get(job)
            if snapshot is None:
                if job in seqs:
                    return False
            elif job in seqs:
                if snapshot.seq > seqs[job]:
                    return False
                fitting.append(snapshot)
            elif snapshot.version != STATE_VERSION:
                return False  # the view has no entry of the job, which may have been in quarantine before
            self._snapshots.pop(job, None)
        return not reader.restore(fitting)

    async def _fold_all(self, reader: Reader) -> None:
        """Folds every job that the reader does not know yet."""
        self._whole, self._snapshots, before = True, {}, {*reader.jobs, *reader.forgotten}
        async for batch in self._log.scan():
            for record in batch:
                if record.position <= self._upto and record.job not in before:
                    reader.accept(record)
            if batch[-1].position >= self._upto:
                break

    async def _seqs(self, query: str, jobs: Sequence[JobUid]) -> Mapping[JobUid, Seq]:
        """The number of the last entry that the view has of every job that the query selects."""
        seqs: dict[JobUid, Seq] = {}
        for some in _parts(jobs):
            places = ", ".join(f"${number}" for number, _ in enumerate(some, 2))
            for uid, seq, position in await self._database.fetch(
                query.format(places), self._partition, *some
            ):
                seqs[JobUid(uid)] = seq
                self.seen = max(self.seen, position)
        return seqs


def _parts(jobs: Sequence[JobUid]) -> Iterator[Sequence[JobUid]]:
    for start in range(0, len(jobs), _AT_A_TIME):
        yield jobs[start : start + _AT_A_TIME]
