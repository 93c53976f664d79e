"""A log's public events → a sink: from behind the last one that it has, and further as the log grows."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from jobledger.publishing.source import Source
from projectors.contract.page import PublicEvent
from projectors.contract.stream import PublishedEntry
from projectors.sinks.port import Batch, Sink, Telling
from statemachine.errors import ConfigError

_MOST: Final = 200
"""Entries that are delivered at once."""

Chosen = Callable[[PublishedEntry], Sequence[PublicEvent]]


def _all(published: PublishedEntry) -> Sequence[PublicEvent]:
    return published.events


class Feeder:
    """Feeds `sink` from `source`: all events, or of an entry those that `chosen` gives.

    `delivered`: how many events so far; `caught_up`: the log has been read to its end once.

    The log is read from its first entry on, as every state behind an entry is needed; what the sink has is left out.
    """

    def __init__(self, source: Source, sink: Sink, chosen: Chosen = _all) -> None:
        self._source, self._sink, self._chosen = source, sink, chosen
        self._last: dict[int, str] = {}
        self.delivered = 0
        self.caught_up = False

    async def feed(self, *, follow: bool = False) -> AsyncIterator[None]:
        """Delivers all events of the log, and yields where it ends, each time if it is followed.

        Raises ConfigError: the last event that the sink has is none of this log.
        """
        await self._look()
        entries: list[PublishedEntry] = []
        partition = 0
        async for published in self._source.published(follow=follow):
            number = partition if published is None else self._source.number_of(published.entry.job)
            if published is None or number != partition or len(entries) >= _MOST:
                await self._deliver(partition, entries)
                entries, partition = [], number
            if published is None:
                self._check()
                self.caught_up = True
                yield
            else:
                entries.append(published)

    async def _look(self) -> None:
        if isinstance(self._sink, Telling):
            lasts = {number: await self._sink.last(number) for number in range(self._source.partitions)}
            self._last = {number: last for number, last in lasts.items() if last is not None}

    async def _deliver(self, partition: int, entries: Sequence[PublishedEntry]) -> None:
        events = self._new(partition, [event for published in entries for event in self._chosen(published)])
        if events:
            await self._sink.deliver(Batch(partition, events, self._source.upto(entries[-1].position)))
            self.delivered += len(events)

    def _new(self, partition: int, events: Sequence[PublicEvent]) -> Sequence[PublicEvent]:
        last = self._last.get(partition)
        if last is None:
            return events
        for place, event in enumerate(events, 1):
            if event.attributes["id"] == last:
                del self._last[partition]
                return events[place:]
        return ()

    def _check(self) -> None:
        for last in self._last.values():
            raise ConfigError(
                f"the last event in {self._sink.name}, {last}, is none that this release makes of the log: it is of "
                "another ledger or a later release; give another directory"
            )
