"""What a projector that starts in the middle of a log has to know of jobs: their states as of there.

A log in Kafka has no index by job, so they come from the log's snapshots and the entries behind these. Only jobs that
something happens to are looked for. A snapshot may be ahead of the view, which was stopped for a while; then, once,
all of the log up to there is folded.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from projectors.history.database import Database
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.port import EventLog, Snapshot
from statemachine.log.reader import UNUSABLE, Reader
from statemachine.state import STATE_VERSION

_AT_A_TIME: Final = 500
_LAST: Final = "SELECT uid, last_seq FROM history_jobs"


class Past:
    """The states of jobs as of position `upto` of `log`, where the view in `database` is."""

    def __init__(self, log: EventLog, database: Database, upto: Position) -> None:
        self._log, self._database, self._upto = log, database, upto
        self._snapshots: dict[JobUid, Snapshot] = {}
        self._whole = upto == 0

    async def resume(self) -> Reader:
        """A reader at `upto`, to be told of jobs before it sees more of them."""
        reader = Reader()
        if not self._whole and not await self._from_snapshots(reader):
            reader = Reader()
            await self._fold_all(reader)
        reader.position = self._upto
        return reader

    async def know(self, reader: Reader, jobs: Collection[JobUid]) -> None:
        """The reader knows `jobs` as they were at `upto`, as far as it did not know them already."""
        unknown = [] if self._whole else [each for each in jobs if each not in reader]
        if unknown and not await self._restore(reader, unknown):
            await self._fold_all(reader)

    async def _from_snapshots(self, reader: Reader) -> bool:
        """The reader knows the jobs whose last entries are not in all snapshots; False if those do not tell."""
        covered, snapshots = await self._log.snapshots()
        self._snapshots = {each.job: _worth_keeping(each) for each in snapshots}
        async for batch in self._log.scan(covered):
            records = [each for each in batch if each.position <= self._upto]
            begun = {each.job for each in records} & self._snapshots.keys()
            if not await self._restore(reader, [each for each in begun if each not in reader]):
                return False
            for each in records:
                if each.seq > reader.tracked(each.job).seq:
                    reader.accept(each)
            if len(records) < len(batch):
                break
        return True

    async def _restore(self, reader: Reader, jobs: Sequence[JobUid]) -> bool:
        """The reader knows the jobs by their snapshots; False if those do not tell, or are ahead of the view."""
        seqs = await self._last_seqs(jobs)
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
                return False  # no entry of it is in the view, and it may be in quarantine since before
            self._snapshots.pop(job, None)
        return not reader.restore(fitting)

    async def _fold_all(self, reader: Reader) -> None:
        """The reader knows every job, those as before that it knew."""
        self._whole, self._snapshots, known = True, {}, set(reader.jobs)
        async for batch in self._log.scan():
            for record in batch:
                if record.position <= self._upto and record.job not in known:
                    reader.accept(record)
            if batch[-1].position >= self._upto:
                break

    async def _last_seqs(self, jobs: Sequence[JobUid]) -> Mapping[JobUid, Seq]:
        """The last entries that the view has of them."""
        found: dict[JobUid, Seq] = {}
        for some in _parts(jobs):
            places = ", ".join(f"${number}" for number, _ in enumerate(some, 1))
            query = f"{_LAST} WHERE uid IN ({places})"
            found |= {JobUid(uid): seq for uid, seq in await self._database.fetch(query, *some)}
        return found


def _worth_keeping(snapshot: Snapshot) -> Snapshot:
    """Most jobs are over, and nothing happens to them any more: the memory that their states take is better used."""
    is_over = b'"closed":true' in snapshot.body
    return replace(snapshot, version=UNUSABLE, body=b"") if is_over else snapshot


def _parts(jobs: Sequence[JobUid]) -> Iterator[Sequence[JobUid]]:
    for start in range(0, len(jobs), _AT_A_TIME):
        yield jobs[start : start + _AT_A_TIME]
