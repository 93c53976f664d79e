"""Snapshots of a partition's jobs in a compacted topic, and the record that says what they cover.

All of a save is one transaction if it is small. A large one is several, each with the record that says how many
snapshots there are now; only the last one says that they cover more. So a save that breaks off covers nothing
wrongly, and snapshots that somebody has deleted are missed.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from statemachine.ids import Position
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import (
    COVERED,
    Covered,
    Row,
    covered_of,
    covered_row,
    snapshot_of,
    snapshot_row,
)
from statemachine.log.kafka.writing import Writer
from statemachine.log.port import Snapshot

_ROWS: Final = 1000
_BYTES: Final = 4 * 2**20
"""Of one transaction: it must end in time, and entries wait for it."""


class Snapshots:
    """The snapshots in a partition of the topic, which has to be there."""

    def __init__(self, topic: Partition) -> None:
        self._topic = topic
        self._covered: Position = 0
        self._jobs: set[bytes] | None = None  # of which there are snapshots, once they were read
        self._end = 0

    @property
    def is_loaded(self) -> bool:
        """It is known of which jobs there are snapshots."""
        return self._jobs is not None

    async def load(self) -> tuple[Position, Sequence[Snapshot]]:
        """See EventLog.snapshots."""
        covered = Covered()
        found: dict[bytes, Snapshot] = {}
        async for batch in self._topic.read(0, await self._topic.end(self._end)):
            for message in batch:
                if message.key == COVERED:
                    covered = covered_of(message)
                elif message.key and (snapshot := snapshot_of(message)):
                    found[message.key] = snapshot
                else:
                    found.pop(message.key or b"", None)  # deleted, or somebody has written over it
        self._jobs = set(found)
        self._covered = covered.position if found and len(found) == covered.count else 0
        return self._covered, list(found.values())

    async def save(self, writer: Writer, position: Position, snapshots: Sequence[Snapshot]) -> None:
        """See EventLog.save_snapshots."""
        jobs = await self._known()
        parts = list(_parts([snapshot_row(each) for each in snapshots]))
        for number, rows in enumerate(parts, 1):
            jobs = jobs | {each.key for each in rows}
            covered = Covered(position if number == len(parts) else self._covered, len(jobs))
            await self._write(writer, [*rows, covered_row(covered)])
            self._jobs, self._covered = jobs, covered.position

    async def drop(self, writer: Writer) -> None:
        """See EventLog.drop_snapshots."""
        for rows in _parts([Row(COVERED, None), *(Row(job, None) for job in await self._known())]):
            await self._write(writer, rows)
        self._jobs, self._covered = set(), 0

    async def _known(self) -> set[bytes]:
        if self._jobs is None:
            await self.load()
        return self._jobs or set()

    async def _write(self, writer: Writer, rows: Sequence[Row]) -> None:
        self._end = (await writer.write(self._topic.topic, rows))[-1] + 1


def _parts(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows in pieces of a transaction each; one that is empty if there are none."""
    part: list[Row] = []
    size = 0
    for row in rows:
        if part and (len(part) == _ROWS or size + row.size > _BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += row.size
    yield part
