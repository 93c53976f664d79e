"""A log → its public events, from the first entry on, and further as it grows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Final

from jobledger.publishing.beginnings import BEGINNING, Begin, Behind, places_behind
from jobledger.publishing.cursors import LogPlace, short_id
from jobledger.publishing.dating import DISORDER, position_since
from jobledger.settings.model import Settings
from jobledger.wiring.cluster import log_of
from jobledger.wiring.identity import identity_of
from jobledger.wiring.ledger import reading
from jobledger.wiring.publication import publication_of
from projectors.contract.publication import Publication
from projectors.contract.stream import PublishedEntry, Publisher
from projectors.sinks.feeding import Chosen, Feeder, Start, Starting, all_of
from projectors.sinks.port import Sink
from statemachine.ids import JobUid
from statemachine.log.identity import Identity
from statemachine.log.partitions import Partitions
from statemachine.log.polling import Polling
from statemachine.log.port import EventLog, Record
from statemachine.log.positions import Positions

_LONGEST: Final = 1.0
"""Seconds between two looks at a log at which nothing happens."""


class Source:
    """The public events of the ledger in `partitions`; `publisher` says which jobs are held.

    `identify` gives the ledger's identity, which is asked for where a cursor has to be of this ledger.
    """

    def __init__(
        self, partitions: Partitions, publication: Publication, identify: Callable[[], Awaitable[Identity]]
    ) -> None:
        self._partitions, self._identify = partitions, identify
        self.publisher = Publisher(publication)
        self._publication = publication

    @property
    def ledger(self) -> str:
        """Its name."""
        return self._publication.ledger

    @property
    def partitions(self) -> int:
        """Their number."""
        return len(self._partitions.logs)

    def number_of(self, job: JobUid) -> int:
        """The number of the job's partition."""
        return self._partitions.number_of(job)

    async def feeders(
        self,
        sink: Sink,
        positions: Positions | None = None,
        chosen: Chosen = all_of,
        begin: Begin = BEGINNING,
    ) -> Sequence[Feeder]:
        """What feeds the sink, partition by partition: from `begin` on, if it has nothing yet.

        Raises ConfigError: the cursor is of another ledger.
        """
        starts = await self._starts(begin)
        return [
            Feeder(log, number, sink, self._publication, positions=positions, chosen=chosen, start=start)
            for number, (log, start) in enumerate(zip(self._partitions.logs, starts, strict=True))
        ]

    async def behind(self, begin: Begin) -> Behind:
        """Chooses the events from there on. Raises ConfigError: the cursor is of another ledger."""
        return Behind(await self._places(begin), self.number_of)

    async def _starts(self, begin: Begin) -> Sequence[Starting | None]:
        logs = self._partitions.logs
        if begin == BEGINNING:
            return [None] * len(logs)
        if begin.since is not None:  # it takes a while to find, and a sink that goes on does not need it
            return [partial(_start_since, log, begin.since) for log in logs]
        return [partial(_start_at, place) for place in await self._places(begin)]

    async def _places(self, begin: Begin) -> Sequence[LogPlace]:
        logs = self._partitions.logs
        if begin.since is not None:
            return [await _since(log, begin.since) for log in logs]
        if begin == BEGINNING:
            return [LogPlace()] * len(logs)
        ends = [await log.end() for log in logs]
        if begin.cursor is None:
            return [LogPlace(end) for end in ends]
        return places_behind(begin.cursor, short_id((await self._identify()).id), ends)

    async def published(self, *, follow: bool = False) -> AsyncIterator[PublishedEntry | None]:
        """Entry by entry, a partition behind the other; None where the log ends, each time if it is followed."""
        after = [0] * len(self._partitions.logs)
        polling = Polling(_LONGEST)
        while True:
            before = sum(after)
            async for records in self._news(after):
                for record in records:
                    if (published := self.publisher.take(record)) is not None:
                        yield published
            yield None
            if not follow:
                return
            await asyncio.sleep(polling.after(news=sum(after) != before))

    async def _news(self, after: list[int]) -> AsyncIterator[Sequence[Record]]:
        for number, log in enumerate(self._partitions.logs):
            async for records in log.scan(after[number]):
                after[number] = records[-1].position
                yield records


async def _since(log: EventLog, at: datetime) -> LogPlace:
    return LogPlace(await position_since(log, await log.end(), at, DISORDER))


async def _start_since(log: EventLog, at: datetime) -> Start:
    return Start((await _since(log, at)).position)


async def _start_at(place: LogPlace) -> Start:
    return Start(place.whole, place.event)


@asynccontextmanager
async def source_of(settings: Settings, url: str | None) -> AsyncIterator[Source]:
    """The source at `url`, by default the store. Raises ConfigError, LogUnavailable, StoreUnusable."""
    where = log_of(url, settings) if url else settings.store
    publication = await publication_of(settings, where)
    async with reading(where) as partitions:
        yield Source(partitions, publication, lambda: identity_of(where, settings.ledger.name))
