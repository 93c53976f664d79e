"""A PublicStream made from the entries of the log: each is projected when somebody reads there, and kept for others.

Readers that go through the log, and those that wait at its end, share stretches (`stretches`, `sharing`): fifty who
listen cost one projection.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import NamedTuple

from jobledger.publishing.cursors import Cursor, LogPlace, in_log, short_id
from jobledger.publishing.dating import position_since
from jobledger.publishing.public_stream import Portion
from jobledger.publishing.sharing import SharedPart, budget
from jobledger.publishing.stretches import LogStretch
from projectors.contract.publication import Publication
from statemachine.log.partitions import Partitions
from statemachine.log.port import ReadableLog


class Naming(NamedTuple):
    """Whose events they are: the ledger's id, and what is configured."""

    id: str
    publication: Publication


Named = Callable[[], Awaitable[Naming]]
"""Asked once, when somebody first reads: then a ledger that has no name yet gets one."""

Listening = Callable[[Callable[[object], None]], AbstractContextManager[None]]
"""Calls what it is given with every new entry, as long as it is entered."""


class ProjectedStream:
    """The public events of the logs in `partitions`; `listening` says when these grow."""

    def __init__(self, partitions: Partitions, named: Named, listening: Listening) -> None:
        self._logs: Sequence[ReadableLog] = partitions.logs
        self._ends = [log.end for log in partitions.logs]
        self._named, self._listening = named, listening
        self._naming: Naming | None = None
        self._parts: list[SharedPart[LogPlace]] = []

    async def ledger(self) -> str:
        """See PublicStream."""
        return short_id((await self._name()).id)

    async def _name(self) -> Naming:
        if self._naming is None:
            self._naming = await self._named()
        return self._naming

    async def read(self, partition: int, after: LogPlace) -> Portion[LogPlace]:
        """See PublicStream."""
        publication = (await self._name()).publication
        if not self._parts:
            self._parts = [self._part(log, publication) for log in self._logs]
        return await self._parts[partition].read(after)

    def _part(self, log: ReadableLog, publication: Publication) -> SharedPart[LogPlace]:
        size = budget(len(self._logs))
        return SharedPart(lambda after: LogStretch(log, after.whole, publication, size))

    async def resumed(self, cursor: Cursor) -> Sequence[LogPlace]:
        """See PublicStream."""
        return in_log(cursor, await self.ledger(), await self.ends())

    async def earliest(self) -> Sequence[LogPlace]:
        """See PublicStream: a log keeps all entries."""
        return [LogPlace()] * len(self._logs)

    async def ends(self) -> Sequence[LogPlace]:
        """See PublicStream."""
        return [LogPlace(await end()) for end in self._ends]

    async def since(self, at: datetime) -> Sequence[LogPlace]:
        """See PublicStream."""
        return [
            LogPlace(await position_since(log, end.position, at))
            for log, end in zip(self._logs, await self.ends(), strict=True)
        ]

    @contextmanager
    def growing(self) -> Iterator[asyncio.Event]:
        """See PublicStream."""
        grown = asyncio.Event()
        with self._listening(lambda _: grown.set()):
            yield grown
