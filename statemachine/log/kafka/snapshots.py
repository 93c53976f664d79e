"""Snapshots of a partition's jobs in a compacted topic, and the record that says what they cover.

An open job has a record of its own. Closed jobs share pages: their uids, each with the number of its last entry.

All of a save is one transaction if it is small. A large one is several, each with the record that says how many
jobs there are now; only the last one says that they cover more. So a save that breaks off covers nothing
wrongly, and snapshots that somebody has deleted are missed.

With a seal records have a MAC in a header, where older releases do not look.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.closed_jobs import ClosedJobs
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import (
    CLOSED,
    COVERED,
    Covered,
    Message,
    Row,
    covered_of,
    covered_row,
    mac_of,
    page_of,
    page_row,
    snapshot_of,
    snapshot_row,
    with_mac,
)
from statemachine.log.kafka.writing import Writer
from statemachine.log.port import Saved, Snapshot
from statemachine.log.seal import MacPair, Seal, holds, warn_of_refused

_ROWS: Final = 1000
_BYTES: Final = 4 * 2**20
"""Of one transaction: it must end in time, and entries wait for it."""

_PAGE: Final = 1000
"""Closed jobs on a page, 40 KB: the last one is written again whenever some more are closed."""


@dataclass(slots=True)
class _Held:
    """What the topic holds: the jobs that have a snapshot, and how many are closed, with the last page of these.

    `open` and `page_member` are members of `total`, the sum of the set (see `seal`); all 0 without a seal. `refused`
    are the keys of records whose MAC does not hold: the next save removes them.
    """

    open: dict[JobUid, int] = field(default_factory=dict)
    closed: int = 0
    number: int = 0
    page: Mapping[JobUid, Seq] = field(default_factory=dict)
    page_member: int = 0
    total: int = 0
    refused: set[bytes] = field(default_factory=set)


class _Write(NamedTuple):
    """A record to be written, and what the topic holds by it."""

    row: Row
    opened: JobUid | None = None
    number: int = 0
    page: Mapping[JobUid, Seq] | None = None
    member: int = 0


@dataclass(slots=True)
class _Reading:
    """What is read: snapshots and pages by the keys of their records, with their members of the sum."""

    covered: Covered = field(default_factory=Covered)
    mac: bytes = b""
    snapshots: dict[bytes, tuple[Snapshot, int]] = field(default_factory=dict)
    pages: dict[bytes, tuple[int, dict[JobUid, Seq], int]] = field(default_factory=dict)
    refused: set[bytes] = field(default_factory=set)

    def take(self, message: Message, seal: Seal | None) -> None:
        """The record is in the place of the one before it under its key; one whose MAC does not hold is not used."""
        key, value = message.key or b"", message.value
        if key == COVERED:
            self.covered, self.mac = covered_of(message), mac_of(message)
            return
        self.snapshots.pop(key, None)
        self.pages.pop(key, None)
        self.refused.discard(key)
        if not key or value is None:
            return
        mark = seal.mark(key, value) if seal else MacPair(b"", 0)
        if seal and not holds(mac_of(message), mark.mac):
            self.refused.add(key)
        elif key.startswith(CLOSED):
            if page := page_of(message):
                self.pages[key] = *page, mark.member
        elif snapshot := snapshot_of(message):
            self.snapshots[key] = snapshot, mark.member


class Snapshots:
    """The snapshots in a partition of the topic, which has to be there."""

    def __init__(self, topic: Partition, seal: Seal | None = None) -> None:
        self._topic, self._seal = topic, seal
        self._covered: Position = 0
        self._held: _Held | None = None  # once it was read
        self._end = 0
        self.refused = 0
        """How many were read so far whose MAC does not hold."""

    @property
    def is_loaded(self) -> bool:
        """It is known of which jobs there are snapshots."""
        return self._held is not None

    async def load(self) -> Saved:
        """See EventLog.saved."""
        reading = _Reading()
        async for batch in self._topic.read(0, await self._topic.end(self._end)):
            for message in batch:
                reading.take(message, self._seal)
        closed = ClosedJobs()
        for _, page, _ in reading.pages.values():
            closed.update(page)
        still_open = [one for one in reading.snapshots.values() if one[0].job not in closed]
        number, page, member = max(reading.pages.values(), key=_number, default=(0, {}, 0))
        self._held = _Held(
            {snapshot.job: own for snapshot, own in still_open},
            len(closed),
            number,
            page,
            member,
            sum(own for _, own in still_open) + sum(own for _, _, own in reading.pages.values()),
            reading.refused,
        )
        counts = len(still_open) + len(closed) == reading.covered.count > 0
        whole = self._is_whole(reading, self._held)
        self._covered = reading.covered.position if counts and whole else 0
        self.refused += warn_of_refused(len(reading.refused) or int(counts and not whole), str(self._topic))
        snapshots = [snapshot for snapshot, _ in still_open]
        return Saved(self._covered, snapshots, closed, reading.covered.source if whole else 0)

    def _is_whole(self, reading: _Reading, held: _Held) -> bool:
        """The record that says what is covered is about this very set."""
        if self._seal is None:
            return True
        return holds(reading.mac, self._whole(self._seal, covered_row(reading.covered), held))

    @staticmethod
    def _whole(seal: Seal, row: Row, held: _Held) -> bytes:
        return seal.whole(row.value or b"", held.total)

    async def save(
        self, writer: Writer, position: Position, snapshots: Sequence[Snapshot], source: Position
    ) -> None:
        """See EventLog.save_snapshots."""
        held = await self._known()
        parts = list(_parts(list(_writes(held, snapshots, self._seal))))
        for number, part in enumerate(parts, 1):
            for write in part:
                _hold(held, write)
            upto = position if number == len(parts) else self._covered
            row = covered_row(Covered(upto, len(held.open) + held.closed, source))
            if self._seal is not None:
                row = with_mac(row, self._whole(self._seal, row, held))
            try:
                await self._write(writer, [*(write.row for write in part), row])
            except BaseException:
                self._held = None  # who knows
                raise
            self._covered = upto
        held.refused.clear()

    async def _known(self) -> _Held:
        if self._held is None:
            await self.load()
        return self._held or _Held()

    async def _write(self, writer: Writer, rows: Sequence[Row]) -> None:
        self._end = (await writer.write(self._topic.topic, rows))[-1] + 1


def _writes(held: _Held, snapshots: Sequence[Snapshot], seal: Seal | None) -> Iterator[_Write]:
    """What saves the snapshots: those of closed jobs go from their own records to pages."""
    yield from (_Write(Row(key, None)) for key in sorted(held.refused))
    number, page = held.number, dict(held.page)
    closed = {snapshot.job: snapshot.seq for snapshot in snapshots if snapshot.closed}
    for job, seq in closed.items():
        if len(page) >= _PAGE and job not in page:
            yield _sealed(_Write(page_row(number, page), number=number, page=page), seal)
            number, page = number + 1, {}
        page[job] = seq
    if closed:
        yield _sealed(_Write(page_row(number, page), number=number, page=page), seal)
    for snapshot in snapshots:
        if not snapshot.closed:
            yield _sealed(_Write(snapshot_row(snapshot), opened=snapshot.job), seal)
        elif snapshot.job in held.open:
            yield _Write(Row(snapshot.job.encode(), None))


def _sealed(write: _Write, seal: Seal | None) -> _Write:
    if seal is None:
        return write
    mark = seal.mark(write.row.key, write.row.value or b"")
    return write._replace(row=with_mac(write.row, mark.mac), member=mark.member)


def _hold(held: _Held, write: _Write) -> None:
    if write.opened is not None:
        held.total += write.member - held.open.get(write.opened, 0)
        held.open[write.opened] = write.member
    if write.page is not None:
        again = write.number == held.number
        held.closed += len(write.page) - (len(held.page) if again else 0)
        held.total += write.member - (held.page_member if again else 0)
        held.number, held.page, held.page_member = write.number, write.page, write.member
        held.total -= sum(held.open.pop(job, 0) for job in write.page)


def _number(page: tuple[int, Mapping[JobUid, Seq], int]) -> int:
    return page[0]


def _parts(writes: Sequence[_Write]) -> Iterator[list[_Write]]:
    """The writes in pieces of a transaction each; one that is empty if there are none."""
    part: list[_Write] = []
    size = 0
    for write in writes:
        if part and (len(part) == _ROWS or size + write.row.size > _BYTES):
            yield part
            part, size = [], 0
        part.append(write)
        size += write.row.size
    yield part
