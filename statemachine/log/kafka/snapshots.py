"""Snapshots of a partition's jobs in a compacted topic, and the record that says what they cover.

An open job has a record of its own. Closed jobs share pages: their uids, each with the number of its last entry.

All of a save is one transaction if it is small. A large one is several, each with the record that says how many
jobs there are now; only the last one says that they cover more. So a save that breaks off covers nothing
wrongly, and snapshots that somebody has deleted are missed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import (
    CLOSED,
    COVERED,
    Covered,
    Row,
    covered_of,
    covered_row,
    page_of,
    page_row,
    snapshot_of,
    snapshot_row,
)
from statemachine.log.kafka.writing import Writer
from statemachine.log.port import Saved, Snapshot

_ROWS: Final = 1000
_BYTES: Final = 4 * 2**20
"""Of one transaction: it must end in time, and entries wait for it."""

_PAGE: Final = 1000
"""Closed jobs on a page, 40 KB: the last one is written again whenever some more are closed."""


@dataclass(slots=True)
class _Held:
    """What the topic holds: the jobs that have a snapshot, and how many are closed, with the last page of these."""

    open: set[JobUid] = field(default_factory=set)
    closed: int = 0
    number: int = 0
    page: Mapping[JobUid, Seq] = field(default_factory=dict)


class _Write(NamedTuple):
    """A record to be written, and what the topic holds by it."""

    row: Row
    opened: JobUid | None = None
    number: int = 0
    page: Mapping[JobUid, Seq] | None = None


class Snapshots:
    """The snapshots in a partition of the topic, which has to be there."""

    def __init__(self, topic: Partition) -> None:
        self._topic = topic
        self._covered: Position = 0
        self._held: _Held | None = None  # once it was read
        self._end = 0

    @property
    def is_loaded(self) -> bool:
        """It is known of which jobs there are snapshots."""
        return self._held is not None

    async def load(self) -> Saved:
        """See EventLog.saved."""
        covered = Covered()
        found: dict[bytes, Snapshot] = {}
        pages: dict[bytes, tuple[int, dict[JobUid, Seq]]] = {}
        async for batch in self._topic.read(0, await self._topic.end(self._end)):
            for message in batch:
                key = message.key or b""
                if key == COVERED:
                    covered = covered_of(message)
                elif key.startswith(CLOSED) and (page := page_of(message)):
                    pages[key] = page
                elif key and (snapshot := snapshot_of(message)):
                    found[key] = snapshot
                else:  # deleted, or somebody has written over it
                    found.pop(key, None)
                    pages.pop(key, None)
        closed = {job: seq for _, page in pages.values() for job, seq in page.items()}
        still_open = [each for each in found.values() if each.job not in closed]
        last = max(pages.values(), key=_number, default=(0, {}))
        self._held = _Held({each.job for each in still_open}, len(closed), *last)
        count = len(still_open) + len(closed)
        self._covered = covered.position if count and count == covered.count else 0
        return Saved(self._covered, still_open, closed, covered.source)

    async def save(
        self, writer: Writer, position: Position, snapshots: Sequence[Snapshot], source: Position
    ) -> None:
        """See EventLog.save_snapshots."""
        held = await self._known()
        parts = list(_parts(list(_writes(held, snapshots))))
        for number, part in enumerate(parts, 1):
            for each in part:
                _hold(held, each)
            upto = position if number == len(parts) else self._covered
            covered = Covered(upto, len(held.open) + held.closed, source)
            try:
                await self._write(writer, [*(each.row for each in part), covered_row(covered)])
            except BaseException:
                self._held = None  # who knows
                raise
            self._covered = upto

    async def drop(self, writer: Writer) -> None:
        """See EventLog.drop_snapshots."""
        held = await self._known()
        pages = (CLOSED + b"%d" % number for number in range(held.number + 1))
        rows = [Row(key, None) for key in (COVERED, *pages, *(job.encode() for job in held.open))]
        for part in _parts([_Write(each) for each in rows]):
            await self._write(writer, [each.row for each in part])
        self._held, self._covered = _Held(), 0

    async def _known(self) -> _Held:
        if self._held is None:
            await self.load()
        return self._held or _Held()

    async def _write(self, writer: Writer, rows: Sequence[Row]) -> None:
        self._end = (await writer.write(self._topic.topic, rows))[-1] + 1


def _writes(held: _Held, snapshots: Sequence[Snapshot]) -> Iterator[_Write]:
    """What saves the snapshots: those of closed jobs go from their own records to pages."""
    number, page = held.number, dict(held.page)
    closed = {each.job: each.seq for each in snapshots if each.closed}
    for job, seq in closed.items():
        if len(page) >= _PAGE and job not in page:
            yield _Write(page_row(number, page), number=number, page=page)
            number, page = number + 1, {}
        page[job] = seq
    if closed:
        yield _Write(page_row(number, page), number=number, page=page)
    for each in snapshots:
        if not each.closed:
            yield _Write(snapshot_row(each), opened=each.job)
        elif each.job in held.open:
            yield _Write(Row(each.job.encode(), None))


def _hold(held: _Held, write: _Write) -> None:
    if write.opened is not None:
        held.open.add(write.opened)
    if write.page is not None:
        before = len(held.page) if write.number == held.number else 0
        held.closed += len(write.page) - before
        held.number, held.page = write.number, write.page
        held.open.difference_update(write.page)


def _number(page: tuple[int, Mapping[JobUid, Seq]]) -> int:
    return page[0]


def _parts(writes: Sequence[_Write]) -> Iterator[list[_Write]]:
    """The writes in pieces of a transaction each; one that is empty if there are none."""
    part: list[_Write] = []
    size = 0
    for each in writes:
        if part and (len(part) == _ROWS or size + each.row.size > _BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += each.row.size
    yield part
