"""The EventLog port: what the engine, the projectors and the CLI ask of a log.

One log instance is one partition. Adapters: `memory`, `sqlite`, `kafka`. One test suite runs on all of them
(`tests/ports/test_event_log.py`).
"""

import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.closed_jobs import ClosedJobs


class EntryDraft(Struct, frozen=True, gc=False):
    """An encoded entry that is to be appended; `moved`: it was decided in another log.

    `trace`: the W3C trace context (`traceparent`) of its observation; empty without tracing.
    """

    job: JobUid
    seq: Seq
    body: bytes
    moved: bool = False
    trace: str = ""


class Record(Struct, frozen=True, gc=False):
    """An entry as the log holds it: its bytes, and where it stands. Readers judge whether it is right.

    `moved`: the place of its observation is one of another log, and means nothing here. `trace`: see Draft. A log
    whose observations have no places keeps neither.
    """

    position: Position
    job: JobUid
    seq: Seq
    body: bytes
    moved: bool = False
    trace: str = ""


class NewRecords(NamedTuple):
    """What is new to a follower of a log: with `records` it knows everything up to `position`.

    `behind`: how many more records the log is known to have.
    """

    records: Sequence[Record]
    position: Position
    behind: int = 0


UNUSABLE: Final = 0
"""Version of a snapshot that holds no state: its job has to be folded from the first entry."""


class Snapshot(Struct, frozen=True, gc=False):
    """A job's state folded up to `seq`: a cache. `head`: that entry's hash; `version`: the state's layout.

    `source`: place of the last observation that caused an entry, where observations have places. `closed`: no entry
    follows, whatever the layout of the state. Not every log keeps the `body` of such a snapshot.
    """

    job: JobUid
    seq: Seq
    head: str
    version: int
    body: bytes
    source: Position = 0
    closed: bool = False


class Saved(NamedTuple):
    """The saved part of a log's jobs that a reader which goes on from there has to have in memory.

    `covered`: every entry up to this position is in `snapshots`, those of open jobs, or in one of `closed`, the last
    entries of the others. `source`: the last place of an observation that caused an entry.
    """

    covered: Position
    snapshots: Sequence[Snapshot]
    closed: ClosedJobs
    source: Position = 0

    @classmethod
    def of(cls, covered: Position, snapshots: Sequence[Snapshot], source: Position = 0) -> "Saved":
        """The snapshots, with those of closed jobs apart."""
        still_open = [snapshot for snapshot in snapshots if not snapshot.closed]
        closed = ClosedJobs({snapshot.job: snapshot.seq for snapshot in snapshots if snapshot.closed})
        return cls(covered, still_open, closed, source)


class DeadLetter(Struct, frozen=True, gc=False):
    """An observation that could not be read or decided, whole, with the error.

    The log sets `id` and `partition`; `retried_at`: when it was last sent to the engine again.
    """

    at: datetime
    job: JobUid
    observation: bytes
    error: str
    id: int = 0
    partition: int | None = None
    retried_at: datetime | None = None

    @property
    def name(self) -> str:
        """Its name in the ledger: `17`, or `3-17` in partition 3 of several."""
        return str(self.id) if self.partition is None else f"{self.partition}-{self.id}"


def as_string(text: str) -> bytes:
    """`text` as a whole string in the bytes of an entry."""
    return json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass")


class ReadableLog(Protocol):
    """A log for readers."""

    @property
    def finds_jobs(self) -> bool:
        """The log finds the records of one job without reading those of all others."""

    def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """The records behind position `after`, in log order, in batches, up to the end as it is now.

        With `job` only that job's, behind its entry `after_seq`.
        """

    async def first_records(self, text: str) -> Sequence[Record] | None:
        """The first record of every job in whose first record `text` stands as a string, or whose uid begins with it.

        So a name or a uid leads to the jobs that it may mean, and to others. A job that has lost its first entry has
        no name. None: only a read of the whole log can tell, as the log does not find single jobs, or has only a
        snapshot of some.
        """

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """All snapshots, and the position that they cover: every entry up to it is in one of them.

        A log with a key omits snapshots that no holder of the key has made; then they cover nothing.
        """

    async def saved(self) -> Saved:
        """The snapshots without states of closed jobs: there may be a million of them."""

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """All dead letters, oldest first."""

    async def dead_letter_count(self) -> int:
        """The number of dead letters."""


class EventLog(ReadableLog, Protocol):
    """An append-only log of entries, with the small stores that belong to it."""

    @property
    def is_exclusive(self) -> bool:
        """No other process can append while this log is open: appended entries follow what was there."""

    @property
    def entry_limit(self) -> int:
        """Bytes of the largest entry that the log takes; 0 without a limit."""

    @property
    def refused_snapshots(self) -> int:
        """The number of snapshots read so far and not used, as no holder of the log's key has made them."""

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        """All of `drafts` are durable, in this order, when this returns; or none is.

        Raises:
            SeqConflict: a (job, seq) is taken.
            LogUnavailable: the log cannot be written now (no space, locked); nothing was appended.
            OwnerLost: another process appends now, or it is unknown whether this was appended; open the log anew.
            StoreUnusable: the log can never be written (read-only, damaged, closed).
        """

    async def confirm_writer(self) -> None:
        """No other process has appended since this was opened to write. No check where several may write.

        Raises OwnerLost and StoreUnusable as `append` does.
        """

    def follow(self, after: Position = 0) -> AsyncIterator[NewRecords]:
        """The records behind position `after`, as they come, for ever; now and then none, in quiet times.

        Raises LogUnavailable; then the caller may call it again.
        """

    async def end(self) -> Position:
        """A position with all records at or before it; 0 in an empty log."""

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        """Replaces the snapshots of these jobs; from now on all snapshots together cover `position`.

        `source`: see Saved.
        """

    async def checkpoint(self, reader: str) -> Position:
        """The position that `reader` has saved; 0 without one, or (Kafka) a week after the last."""

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        """Saves that `reader` has reached `position`."""

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        """The letter is durable, also one that was retried in another log."""

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """Notes in a letter of this log when it was retried. The letter stays."""

    async def close(self) -> None:
        """Everything is flushed and released; idempotent."""
