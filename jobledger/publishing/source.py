"""A log → its public events, from the first entry on, and further as it grows."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from jobledger.settings.model import Settings
from jobledger.wiring.cluster import log_of
from jobledger.wiring.ledger import reading
from jobledger.wiring.publication import publication_of
from projectors.contract.publication import Publication
from projectors.contract.stream import PublishedEntry, Publisher
from projectors.sinks.feeding import Chosen, Feeder, all_of
from projectors.sinks.port import Sink
from statemachine.ids import JobUid
from statemachine.log.partitions import Partitions
from statemachine.log.polling import Polling
from statemachine.log.port import Record
from statemachine.log.positions import Positions

_LONGEST: Final = 1.0
"""Seconds between two looks at a log at which nothing happens."""


class Source:
    """The public events of the ledger in `partitions`; `publisher` says which jobs are held."""

    def __init__(self, partitions: Partitions, publication: Publication) -> None:
        self._partitions = partitions
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
        self, sink: Sink, positions: Positions | None = None, chosen: Chosen = all_of, *, late: bool = False
    ) -> Sequence[Feeder]:
        """What feeds the sink, partition by partition; `late`: with what comes from now on, if it has nothing yet."""
        return [
            Feeder(
                log,
                number,
                sink,
                self._publication,
                positions=positions,
                chosen=chosen,
                start=await log.end() if late else 0,
            )
            for number, log in enumerate(self._partitions.logs)
        ]

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


@asynccontextmanager
async def source_of(settings: Settings, url: str | None) -> AsyncIterator[Source]:
    """The source at `url`, by default the store. Raises ConfigError, LogUnavailable, StoreUnusable."""
    where = log_of(url, settings) if url else settings.store
    publication = await publication_of(settings, where)
    async with reading(where) as partitions:
        yield Source(partitions, publication)
