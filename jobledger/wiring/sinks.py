"""The sinks of public events that a process with the role of projectors feeds: a loop a sink and partition.

A sink that is down lags, and holds up nothing else: neither the engine nor other sinks wait for it, and health does
not ask about it. Where several processes project, each feeds the partitions of its share. What users ask for
(`jobledger events sinks`) is looked up every few seconds.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from jobledger.settings.model import Settings
from jobledger.settings.sinks import (
    ConfiguredSink,
    LineageOverKafka,
    LineageSink,
    TopicSink,
    WebHookSink,
    own_topic,
    sinks_in,
)
from jobledger.wiring.configured_sinks import ignored, lineage_topics, poster, target_of
from jobledger.wiring.fed_sink import FedSink, PublicationOnce, SinkLoop
from jobledger.wiring.ledger import Kafka, Ledger
from jobledger.wiring.positions import positions_beside
from statemachine.errors import ConfigError, JobledgerError
from statemachine.ids import Position
from statemachine.log.partitions import Partitions
from statemachine.log.positions import Positions, SinkOrders

log = logging.getLogger(__name__)

LOOK: Final = 2.0
"""Seconds between two looks at what users ask for."""


class Sinks:
    """All sinks of a process. `mine` says which partitions are its own to feed; `end` how far a partition goes."""

    def __init__(
        self,
        fed: Sequence[FedSink],
        partitions: Partitions,
        positions: Positions,
        publication: PublicationOnce,
    ) -> None:
        self.fed, self._positions = fed, positions
        self._loops = [
            SinkLoop(sink, number, partitions, publication)
            for sink in fed
            for number, _ in enumerate(partitions.logs)
        ]
        self._mine: Callable[[int], bool] = lambda _: True
        self._end: Callable[[int], Position] = lambda _: 0

    def begin(self, mine: Callable[[int], bool], end: Callable[[int], Position]) -> None:
        """From now on these say what is this process's, and where partitions end."""
        self._mine, self._end = mine, end

    def grown(self) -> None:
        """A partition is longer than it was. Loops of the others are left at rest."""
        for loop in self._loops:
            if loop.reached < self._end(loop.number):
                loop.grown.set()

    def shared(self) -> None:
        """Other partitions are this process's than before."""
        for loop in self._loops:
            if self._mine(loop.number):
                loop.grown.set()
            else:
                loop.interrupt()

    def loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What is to run, by name."""
        if self.fed:
            yield "sinks", self._look()
        for loop in self._loops:
            yield loop.name, loop.run(self._mine)

    async def _look(self) -> None:
        has_looked = False
        while True:
            try:
                orders = await self._positions.orders()
            except JobledgerError as error:
                level = logging.WARNING if has_looked else logging.INFO
                fields = {"action": "retry", "error": str(error)}
                log.log(level, "nobody can say what sinks are to do", extra=fields)
            else:
                self._obey(orders)
                has_looked = True
            await asyncio.sleep(LOOK)

    def _obey(self, orders: Mapping[str, SinkOrders]) -> None:
        were_not_on = {fed.name for fed in self.fed if fed.disabled != ""}
        for fed in self.fed:
            fed.obey(orders.get(fed.name, SinkOrders()))
        for loop in self._loops:
            if not loop.may_run():
                loop.interrupt()
            elif loop.fed.name in were_not_on:
                loop.grown.set()

    # ---- how they are doing --------------------------------------------------------------------------------

    def lag_entries(self) -> Mapping[str, int]:
        """How many entries of this process's partitions each sink has yet to get."""
        lags = dict.fromkeys((fed.name for fed in self.fed), 0)
        for loop in self._loops:
            if self._mine(loop.number):
                lags[loop.fed.name] += max(0, self._end(loop.number) - loop.reached)
        return lags

    def lag_seconds(self) -> Mapping[str, float]:
        """How old the oldest entry is that each sink has in hand; 0 without one."""
        lags = dict.fromkeys((fed.name for fed in self.fed), 0.0)
        for loop in self._loops:
            since = loop.feeder.waiting_since if loop.feeder is not None else None
            if since is not None:
                age = max(0.0, (datetime.now(UTC) - since).total_seconds())
                lags[loop.fed.name] = max(lags[loop.fed.name], age)
        return lags

    def settled(self) -> Mapping[tuple[str, str], int]:
        """Events that are settled, by sink and type."""
        counts: Counter[tuple[str, str]] = Counter()
        for loop in self._loops:
            for type_, count in (loop.feeder.settled if loop.feeder is not None else {}).items():
                counts[loop.fed.name, type_] += count
        return counts

    def scrubbed(self) -> int:
        """How many of these had something taken out of a text."""
        return sum(loop.feeder.scrubbed for loop in self._loops if loop.feeder is not None)


def _has_topic(configured: ConfiguredSink) -> bool:
    return isinstance(configured, LineageSink) and isinstance(configured.transport, LineageOverKafka)


def full_topic(settings: Settings, log_at: Path | Kafka) -> TopicSink | None:
    """The sink that gives every event of a ledger in Kafka to the topic of `events.kafka`; None where none does.

    Raises ConfigError.
    """
    if not isinstance(log_at, Kafka):
        return None
    for sink in _configured(settings, log_at):
        if isinstance(sink, TopicSink) and not (
            sink.url or sink.types or sink.namespaces or sink.label_selector
        ):
            return sink
    return None


def _configured(settings: Settings, log_at: Path | Kafka) -> Sequence[ConfiguredSink]:
    """The sinks of the settings; by default one, where the log is in Kafka, or its events are to go there."""
    if settings.events.sinks is None and (isinstance(log_at, Kafka) or settings.events.kafka.address):
        return (own_topic(),)
    return sinks_in(settings.events.sinks)


async def checked(settings: Settings, log_at: Path | Kafka) -> Sequence[ConfiguredSink]:
    """The sinks of the settings, whose addresses and keys can be used.

    Raises ConfigError.
    """
    configured = _configured(settings, log_at)
    if isinstance(log_at, Kafka):
        lineage_topics(configured, log_at.address)
    for sink in configured:
        if isinstance(sink, WebHookSink | LineageSink) and not _has_topic(sink):
            await poster(sink, ignored).close()
        elif isinstance(sink, TopicSink):
            target_of(settings, log_at, sink)
    return configured


@asynccontextmanager
async def sinks_of(settings: Settings, log_at: Path | Kafka, ledger: Ledger) -> AsyncIterator[Sinks | None]:
    """The sinks of the settings, to feed from the ledger; None without any.

    Raises ConfigError, LogUnavailable, StoreUnusable.
    """
    configured = await checked(settings, log_at)
    if not configured:
        yield None
        return
    publication = PublicationOnce(settings, log_at)
    if isinstance(
        log_at, Path
    ):  # in Kafka a topic or a right may be missing yet: that keeps only sinks waiting
        await publication.known()
    if not isinstance(log_at, Kafka):
        for sink in filter(_has_topic, configured):
            raise ConfigError(
                f"the sink {sink.name} writes to Kafka, and the log is in a file: use `type: http`"
            )
    async with AsyncExitStack() as stack:
        positions = await stack.enter_async_context(positions_beside(ledger.partitions, log_at))
        targets = partial(target_of, settings, log_at)
        mode = settings.events.kafka.mode
        fed = [FedSink(sink, ledger.partitions, positions, targets, log_at, mode=mode) for sink in configured]
        for fed_sink in fed:
            stack.push_async_callback(fed_sink.close)
        yield Sinks(fed, ledger.partitions, positions, publication)
