"""What a projector that starts in the middle of a log has to know of jobs: their states as of there.

A log in Kafka has no index by job, so they come from the log's snapshots and the entries behind these. Only jobs that
something happens to are looked for. A snapshot may be ahead of the view, which was stopped for a while; then, once,
all of the log up to there is folded. None of it is read where a reader of the same process stands at the view's
position: then its states are copied, as after most starts.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from projectors.history.database import Database
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.codec import decode_told
from statemachine.log.port import EventLog, Snapshot
from statemachine.log.reader import Reader
from statemachine.state import STATE_VERSION

_AT_A_TIME: Final = 500
_LAST: Final = "SELECT uid, last_seq FROM history_jobs WHERE uid IN ({})"
_CLOSED: Final = """SELECT uid, last_seq FROM history_jobs WHERE uid IN ({}) AND NOT EXISTS
    (SELECT 1 FROM history_listing WHERE history_listing.uid = history_jobs.uid)"""
"""Those that are listed no more."""


class Past:
    """The states of jobs as of position `upto` of `log`, where the view in `database` is."""

    def __init__(self, log: EventLog, database: Database, upto: Position) -> None:
        self._log, self._database, self._upto = log, database, upto
        self._snapshots: dict[JobUid, Snapshot] = {}
        self._whole = upto == 0

    async def resume(self) -> Reader:
        """A reader at `upto`, to be told of jobs before it sees more of them."""
        reader = Reader(keeps=0, decode=decode_told)
        if not self._whole and not await self._from_snapshots(reader):
            reader = Reader(keeps=0, decode=decode_told)
            await self._fold_all(reader)
        reader.position = self._upto
        return reader

    async def know(self, reader: Reader, jobs: Collection[JobUid]) -> None:
        """The reader knows `jobs` as they were at `upto`, as far as it did not know them already.

        Of closed ones only the view knows: the memory that they would take is better used.
        """
        if unknown := [each for each in jobs if each not in reader]:
            closed = await self._seqs(_CLOSED, unknown)
            reader.remember(closed)
            left = [] if self._whole else [each for each in unknown if each not in closed]
            if left and not await self._restore(reader, left):
                await self._fold_all(reader)

    async def _from_snapshots(self, reader: Reader) -> bool:
        """The reader knows the jobs whose last entries are not in all snapshots; False if those do not tell."""
        covered, snapshots, closed, _ = await self._log.saved()
        self._snapshots = {each.job: each for each in snapshots}
        async for batch in self._log.scan(covered):
            records = [each for each in batch if each.position <= self._upto and each.job not in closed]
            begun = {each.job for each in records} & self._snapshots.keys()
            if not await self._restore(reader, [each for each in begun if each not in reader]):
                return False
            for each in records:
                if each.seq > reader.tracked(each.job).seq:
                    reader.accept(each)
            if batch[-1].position > self._upto:
                break
        return True

    async def _restore(self, reader: Reader, jobs: Sequence[JobUid]) -> bool:
        """The reader knows the jobs by their snapshots; False if those do not tell, or are ahead of the view."""
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
                return False  # no entry of it is in the view, and it may be in quarantine since before
            self._snapshots.pop(job, None)
        return not reader.restore(fitting)

    async def _fold_all(self, reader: Reader) -> None:
        """The reader knows every job, those as before that it knew."""
        self._whole, self._snapshots, known = True, {}, {*reader.jobs, *reader.forgotten}
        async for batch in self._log.scan():
            for record in batch:
                if record.position <= self._upto and record.job not in known:
                    reader.accept(record)
            if batch[-1].position >= self._upto:
                break

    async def _seqs(self, query: str, jobs: Sequence[JobUid]) -> Mapping[JobUid, Seq]:
        """The last entries that the view has of those of the jobs that the query selects."""
        found: dict[JobUid, Seq] = {}
        for some in _parts(jobs):
            places = ", ".join(f"${number}" for number, _ in enumerate(some, 1))
            rows = await self._database.fetch(query.format(places), *some)
            found |= {JobUid(uid): seq for uid, seq in rows}
        return found


def _parts(jobs: Sequence[JobUid]) -> Iterator[Sequence[JobUid]]:
    for start in range(0, len(jobs), _AT_A_TIME):
        yield jobs[start : start + _AT_A_TIME]
