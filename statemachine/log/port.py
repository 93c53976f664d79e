"""The EventLog port: what the engine, the projectors and the CLI ask of a log, whatever holds it.

One log instance is one partition. Adapters: `memory`, `sqlite`, `kafka`. One test suite runs on all of them
(`tests/ports/test_event_log.py`).
"""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from statemachine.ids import JobUid, Position, Seq


@dataclass(frozen=True, slots=True)
class Draft:
    """An encoded entry that is to be appended; `moved`: it was decided in another log.

    `trace`: the W3C trace context (`traceparent`) that its observation came with, where somebody traces.
    """

    job: JobUid
    seq: Seq
    body: bytes
    moved: bool = False
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """An entry as the log holds it: its bytes, and where it stands. Nothing is said about its being right.

    `moved`: the place of its observation is one of another log, and means nothing here. `trace`: see Draft. A log
    whose observations have no places keeps neither.
    """

    position: Position
    job: JobUid
    seq: Seq
    body: bytes
    moved: bool = False
    trace: str = ""


class Followed(NamedTuple):
    """What is new to whoever follows a log: with `records` it knows everything up to `position`.

    `behind`: how far the log is known to go on from there.
    """

    records: Sequence[Record]
    position: Position
    behind: int = 0


UNUSABLE: Final = 0
"""Version of a snapshot that holds no state: its job has to be folded from the first entry."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A job's state folded up to `seq`: a cache. `head`: that entry's hash; `version`: the state's layout.

    `source`: place of the last observation that caused an entry, where observations have places. `closed`: nothing
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
    """What was saved of the jobs of a log, as far as whoever goes on from there has to have it in memory.

    `covered`: every entry up to this position is in `snapshots`, those of open jobs, or in one of `closed`, the last
    entries of the others. `source`: the last place of an observation that caused an entry.
    """

    covered: Position
    snapshots: Sequence[Snapshot]
    closed: dict[JobUid, Seq]
    source: Position = 0

    @classmethod
    def of(cls, covered: Position, snapshots: Sequence[Snapshot], source: Position = 0) -> "Saved":
        """Those of closed jobs put apart."""
        still_open = [each for each in snapshots if not each.closed]
        return cls(covered, still_open, {each.job: each.seq for each in snapshots if each.closed}, source)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An observation that could not be read or decided, whole, with the error.

    `id` and `partition` are given by the log; `retried_at`: when it was last sent to whoever decides once more.
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
        """What tells it from all others of the ledger: `17`, or `3-17` in partition 3 of several."""
        return str(self.id) if self.partition is None else f"{self.partition}-{self.id}"


def as_string(text: str) -> bytes:
    """`text` as it stands in the bytes of an entry where it is a whole string."""
    return json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass")


class ReadableLog(Protocol):
    """What can be read of a log by whoever only wants to know."""

    @property
    def finds_jobs(self) -> bool:
        """The records of one job are found without reading those of all others."""

    def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """The records behind position `after`, in log order, in batches, up to the end as it is now.

        With `job` only that job's, behind its entry `after_seq`.
        """

    async def first_records(self, text: str) -> Sequence[Record] | None:
        """The first record of every job in whose first record `text` stands as a string, or whose uid begins with it.

        So a name or a uid leads to the jobs that may be meant, and to others. A job that has lost its first entry has
        no name; none is found by it. None: only a reading of everything can tell, as where jobs are not found one by
        one, or of some nothing is left but a snapshot.
        """

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """All snapshots, and the position that they cover: every entry up to it is in one of them.

        A log with a key leaves out what no holder of the key has made; then they cover nothing.
        """

    async def saved(self) -> Saved:
        """The same, without states of closed jobs: there may be a million of them."""

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """All dead letters, oldest first."""

    async def dead_letter_count(self) -> int:
        """How many there are."""


class EventLog(ReadableLog, Protocol):
    """An append-only log of entries with the small stores that belong to it."""

    @property
    def is_exclusive(self) -> bool:
        """Nobody else can append while this is open: what was appended follows what was there."""

    @property
    def entry_limit(self) -> int:
        """Bytes of the largest entry that it takes; 0 where any is taken."""

    @property
    def refused_snapshots(self) -> int:
        """How many snapshots were read so far that are not used, as no holder of the log's key has made them."""

    async def append(self, drafts: Sequence[Draft]) -> Sequence[Record]:
        """All of `drafts` are durable, in this order, when this returns; or none is.

        Raises:
            SeqConflict: a (job, seq) is taken.
            LogUnavailable: the log cannot be written now (no space, locked); nothing was appended.
            OwnerLost: somebody else appends now, or nobody knows whether this was appended; open the log anew.
            StoreUnusable: it never will (read-only, damaged, closed).
        """

    async def confirm_writer(self) -> None:
        """Nobody else has appended since this was opened to write. Where many write it says nothing.

        Raises OwnerLost and StoreUnusable as `append` does.
        """

    def follow(self, after: Position = 0) -> AsyncIterator[Followed]:
        """The records behind position `after`, as they come, for ever; none now and then, if none comes.

        Raises LogUnavailable, and can then be asked again.
        """

    async def end(self) -> Position:
        """A position with all records at or before it; 0 in an empty log."""

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        """Replace the snapshots of these jobs; from now on all snapshots together cover `position`.

        `source`: see Saved.
        """

    async def drop_snapshots(self) -> None:
        """No snapshot is left. Loses nothing but time."""

    async def checkpoint(self, reader: str) -> Position:
        """How far `reader` has come; 0 for one that never said, or (Kafka) has not said for a week."""

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        """`reader` has come as far as `position`."""

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        """The letter is durable; one that was retried elsewhere still is."""

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """The letter, which is one of this log, says that it was retried then. It stays what it is."""

    async def close(self) -> None:
        """Everything is flushed and released; idempotent."""
