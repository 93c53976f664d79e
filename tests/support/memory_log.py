"""The event log in memory."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from statemachine.errors import SeqConflict
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.polling import polled
from statemachine.log.port import DeadLetter, EntryDraft, NewRecords, Record, Saved, Snapshot, as_string

BATCH = 1000
"""Records that `scan` returns at once."""


class MemoryLog:
    """An EventLog in lists and dicts. `close` keeps everything, so that a restart can be played on it."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._of_job: dict[JobUid, list[Record]] = {}
        self._taken: set[tuple[JobUid, Seq]] = set()
        self._snapshots: dict[JobUid, Snapshot] = {}
        self._covered: Position = 0
        self._source: Position = 0
        self._checkpoints: dict[str, Position] = {}
        self._letters: list[DeadLetter] = []

    @property
    def is_exclusive(self) -> bool:
        """See EventLog: several owners of one list play several machines."""
        return False

    @property
    def refused_snapshots(self) -> int:
        """See EventLog: no other process writes these."""
        return 0

    @property
    def entry_limit(self) -> int:
        """See EventLog."""
        return 0

    @property
    def finds_jobs(self) -> bool:
        """See ReadableLog."""
        return True

    async def confirm_writer(self) -> None:
        """See EventLog: many write."""

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        """See EventLog."""
        keys: set[tuple[JobUid, Seq]] = set()
        for draft in drafts:
            key = draft.job, draft.seq
            if key in self._taken or key in keys:
                raise SeqConflict(draft.job, draft.seq, self._last_seq(draft.job))
            keys.add(key)
        self._taken |= keys
        return [self._add(draft) for draft in drafts]

    def _last_seq(self, job: JobUid) -> Seq:
        return max((record.seq for record in self._of_job.get(job, ())), default=0)

    def _add(self, draft: EntryDraft) -> Record:
        record = Record(len(self._records) + 1, draft.job, draft.seq, draft.body, draft.moved)
        self._records.append(record)
        self._of_job.setdefault(draft.job, []).append(record)
        return record

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See EventLog."""
        if job is None:
            records = self._records[after:]  # a record's position is its index + 1
        else:
            mine = self._of_job.get(job, ())
            records = [record for record in mine if record.position > after and record.seq > after_seq]
        for start in range(0, len(records), BATCH):
            yield records[start : start + BATCH]

    async def first_records(self, text: str) -> Sequence[Record] | None:
        """See ReadableLog."""
        firsts = [record for record in self._records if record.seq == 1]
        if not self._snapshots.keys() <= {record.job for record in firsts}:
            return None
        named = as_string(text)
        return [record for record in firsts if named in record.body or record.job.startswith(text)]

    async def follow(self, after: Position = 0) -> AsyncIterator[NewRecords]:
        """See EventLog."""
        async for followed in polled(self, after):
            yield followed

    async def end(self) -> Position:
        """See EventLog."""
        return len(self._records)

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """See EventLog."""
        return self._covered, list(self._snapshots.values())

    async def saved(self) -> Saved:
        """See EventLog."""
        return Saved.of(*await self.snapshots(), self._source)

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        """See EventLog."""
        self._snapshots.update((snapshot.job, snapshot) for snapshot in snapshots)
        self._covered, self._source = position, source

    def forget_snapshots(self) -> None:
        """Somebody deletes all of them."""
        self._snapshots.clear()
        self._covered = self._source = 0

    async def checkpoint(self, reader: str) -> Position:
        """See EventLog."""
        return self._checkpoints.get(reader, 0)

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        """See EventLog."""
        self._checkpoints[reader] = position

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        """See EventLog."""
        self._letters.append(replace(letter, id=len(self._letters) + 1))

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """See EventLog."""
        self._letters[letter.id - 1] = replace(self._letters[letter.id - 1], retried_at=at)

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """See EventLog."""
        return list(self._letters)

    async def dead_letter_count(self) -> int:
        """See EventLog."""
        return len(self._letters)

    async def close(self) -> None:
        """See EventLog."""
