"""Which jobs have changed: a coalescing stream for anybody who shows jobs live.

Entries come in from the engine, as soon as they are durable; uids go out to any number of readers. A reader
that is slow gets a job once for any number of changes, so nothing piles up.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from statemachine.ids import JobUid
from statemachine.log.reader import Folded


class Changes(AsyncIterator[JobUid]):
    """One reader's view of the feed: the jobs that changed since it last asked, for ever."""

    def __init__(self) -> None:
        self._changed: dict[JobUid, None] = {}
        self._ready = asyncio.Event()

    def mark(self, job: JobUid) -> None:
        """`job` is to be looked at again."""
        self._changed[job] = None
        self._ready.set()

    def __aiter__(self) -> "Changes":
        return self

    async def __anext__(self) -> JobUid:
        while not self._changed:
            self._ready.clear()
            await self._ready.wait()
        job = next(iter(self._changed))
        del self._changed[job]
        return job


class EntryFeed:
    """Hands every entry on: to listeners whole, to readers as the uid of its job."""

    def __init__(self) -> None:
        self._readers: list[Changes] = []
        self._listeners: list[Callable[[Folded], None]] = []

    def tell(self, folded: Folded) -> None:
        """An entry was appended."""
        for reader in self._readers:
            reader.mark(folded.record.job)
        for listener in list(self._listeners):
            listener(folded)

    @contextmanager
    def changes(self) -> Iterator[Changes]:
        """What changes from now on."""
        reader = Changes()
        self._readers.append(reader)
        try:
            yield reader
        finally:
            self._readers.remove(reader)

    @contextmanager
    def listening(self, listener: Callable[[Folded], None]) -> Iterator[None]:
        """`listener` is called with every entry from now on, in log order."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)
