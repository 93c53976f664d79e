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
from typing import TYPE_CHECKING, Any, Final

from jobledger.settings.model import Settings
from jobledger.settings.sinks import (
    ConfiguredSink,
    FilesSink,
    LineageOverHttp,
    LineageOverKafka,
    LineageSink,
    StdoutSink,
    TopicSink,
    WebHookSink,
    own_topic,
    sinks_in,
)
from jobledger.wiring.ledger import Kafka, Ledger
from jobledger.wiring.positions import positions_beside
from jobledger.wiring.publication import publication_of
from k8s_bridge.selectors import Selector
from projectors.contract.publication import Publication
from projectors.sinks.feeding import Chosen, Feeder
from projectors.sinks.filtering import Filter
from projectors.sinks.lineage import lineage_sink, runs_of
from projectors.sinks.port import Sink
from projectors.sinks.webhook import Failed, Receiver, SinkDisabled, WebHook
from statemachine.engine.backoff import backoff
from statemachine.errors import ConfigError, JobledgerError
from statemachine.ids import Position
from statemachine.log.partitions import Partitions
from statemachine.log.positions import Positions, SinkFailure

if TYPE_CHECKING:
    from statemachine.log.kafka.publishing import Target

log = logging.getLogger(__name__)

LOOK: Final = 2.0
"""Seconds between two looks at what users ask for."""

_LONGEST_PAUSE: Final = 30.0


class FedSink:
    """A sink of the process: opened when it is first fed, and how it is doing.

    `attempts`: what deliveries came to; `disabled`: why it is off, empty if it is on; None before anybody looked.
    """

    def __init__(
        self,
        configured: ConfiguredSink,
        partitions: Partitions,
        positions: Positions,
        target_of: "Callable[[TopicSink], Target]",
        log_at: Path | Kafka,
    ) -> None:
        self.name = configured.name
        self.chosen = chosen_by(configured)
        self.attempts: Counter[str] = Counter()
        self.failed = 0
        self.disabled: str | None = None
        self.resets: frozenset[int] = frozenset()
        self._configured, self._partitions, self.positions = configured, partitions, positions
        self._target_of, self._log_at = target_of, log_at
        self._opening = asyncio.Lock()
        self._sink: Sink | None = None

    async def sink(self) -> Sink:
        """The sink, opened now if nobody did before. Raises ConfigError, LogUnavailable, StoreUnusable."""
        async with self._opening:
            if self._sink is None:
                self._sink = await self._opened()
            return self._sink

    async def _opened(self) -> Sink:
        match self._configured:
            case LineageSink(transport=LineageOverKafka(topic=topic)) if isinstance(self._log_at, Kafka):
                from projectors.sinks.lineage_topic import LineageTopicSink
                from statemachine.log.kafka.publishing import Target

                target = Target.of(self._log_at.address, topic)
                return await LineageTopicSink.of(self.name, target, len(self._partitions.logs))
            case WebHookSink() | LineageSink():
                return poster(self._configured, self._failed, self._attempted)
            case FilesSink():
                from projectors.sinks.file import FileSink

                count = len(self._partitions.logs)
                return FileSink.open(self._configured.path, count, self._partitions.number_of)
            case StdoutSink():
                from projectors.sinks.stdout import StdoutSink as Stdout

                return Stdout(self.name)
            case TopicSink():
                target = self._target_of(self._configured)
                return await topic_sink(self._configured, target, len(self._partitions.logs))

    def _attempted(self, outcome: str) -> None:
        self.attempts[outcome] += 1

    async def _failed(self, failure: SinkFailure) -> None:
        await self.positions.fail(self.name, failure)
        self.failed += 1
        fields = {"action": "sink-failure", "sink": self.name, "event": failure.event, "error": failure.error}
        log.warning("an event is not delivered, and not sent again", extra=fields)

    async def look(self, partitions: Sequence[int]) -> None:
        """What users ask for is known. Raises LogError."""
        asked = [number for number in partitions if await self.positions.reset_asked(self.name, number)]
        self.resets = frozenset(asked)
        self.failed = len(await self.positions.failures(self.name))
        self.disabled = await self.positions.disabled(self.name)

    async def disable(self, why: str) -> None:
        """The sink is off, also after a restart."""
        await self.positions.switch(self.name, disabled=why)
        self.disabled = why

    async def close(self) -> None:
        """Everything is released."""
        if self._sink is not None:
            await self._sink.close()


class PublicationOnce:
    """What is configured of public events, once the ledger has said what it is called."""

    def __init__(self, settings: Settings, where: Path | Kafka) -> None:
        self._settings, self._where = settings, where
        self._asking = asyncio.Lock()
        self._known: Publication | None = None

    async def known(self) -> Publication:
        """It is. Raises ConfigError, LogUnavailable, StoreUnusable."""
        async with self._asking:
            if self._known is None:
                self._known = await publication_of(self._settings, self._where)
            return self._known


class SinkLoop:
    """Feeds one sink with one partition, as long as that is this process's."""

    def __init__(
        self, fed: FedSink, number: int, partitions: Partitions, publication: PublicationOnce
    ) -> None:
        self.fed, self.number = fed, number
        self.feeder: Feeder | None = None
        self.name = f"sink-{fed.name}" + (f"-{number}" if len(partitions.logs) > 1 else "")
        self.grown = asyncio.Event()
        self.waits = ""
        """Why the sink cannot be fed at the moment; empty while it can."""
        self._log, self._publication = partitions.logs[number], publication
        self._work: asyncio.Task[None] | None = None
        self._failures = 0

    def may_run(self) -> bool:
        """Nobody has switched the sink off, or asked that it goes on elsewhere."""
        return self.fed.disabled == "" and self.number not in self.fed.resets

    def interrupt(self) -> None:
        """What is being delivered is left, as it may not go on so."""
        if self._work is not None:
            self._work.cancel()
        self.grown.set()

    async def run(self, mine: Callable[[int], bool]) -> None:
        """The sink has what the log has, whenever that has grown; for ever."""
        while True:
            self.grown.clear()
            pause = None
            if not mine(self.number) or self.fed.disabled != "":
                self._forget()
            elif not await self._fed():
                self._failures += 1
                pause = backoff(self._failures, first=1.0, most=_LONGEST_PAUSE)
            else:
                self._failures = 0
            if pause is not None:
                await asyncio.sleep(pause)
            else:
                await self.grown.wait()

    def _forget(self) -> None:
        if self.feeder is not None:
            self.feeder.forget()

    async def _fed(self) -> bool:
        """The sink was fed to the end of the log, or interrupted; False if it has to be tried again."""
        self._work = asyncio.create_task(self._advance(), name=self.name)
        try:
            await asyncio.wait([self._work])
        finally:
            work, self._work = self._work, None
            if not work.done():
                work.cancel()
                await asyncio.wait([work])
        if work.cancelled():
            self._forget()
            return True
        return self._noted(work.exception())

    def _noted(self, error: BaseException | None) -> bool:
        before, self.waits = self.waits, str(error or "")
        if error is None:
            if before:
                log.info("a sink is fed again", extra={"action": "resume", "sink": self.name})
            return True
        fields = {"action": "retry", "sink": self.name, "error": str(error)}
        if not isinstance(error, JobledgerError):
            log.error("a sink failed, and is tried again", extra=fields, exc_info=error)
        elif not before:
            log.warning("a sink cannot be fed now", extra=fields)
        return False

    async def _advance(self) -> None:
        positions, name = self.fed.positions, self.fed.name
        sink = await self.fed.sink()
        if self.feeder is None:
            self.feeder = Feeder(
                self._log,
                self.number,
                sink,
                await self._publication.known(),
                positions=positions,
                chosen=self.fed.chosen,
            )
        if self.number in self.fed.resets:
            self.feeder.forget()  # it will do as it is asked
            self.fed.resets -= {self.number}
        try:
            await self.feeder.advance()
        except SinkDisabled as error:
            self.feeder.forget()
            await self.fed.disable(str(error))
            log.warning("a sink is off", extra={"action": "sink-off", "sink": name, "error": str(error)})


class Sinks:
    """All sinks of a process. `mine` says which partitions are its own to feed; `end` how far a partition goes."""

    def __init__(self, fed: Sequence[FedSink], partitions: Partitions, publication: PublicationOnce) -> None:
        self.fed = fed
        self._loops = [
            SinkLoop(each, number, partitions, publication)
            for each in fed
            for number, _ in enumerate(partitions.logs)
        ]
        self._mine: Callable[[int], bool] = lambda _: True
        self._end: Callable[[int], Position] = lambda _: 0

    def begin(self, mine: Callable[[int], bool], end: Callable[[int], Position]) -> None:
        """From now on these say what is this process's, and where partitions end."""
        self._mine, self._end = mine, end

    def grown(self) -> None:
        """The log is longer than it was."""
        for loop in self._loops:
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
        while True:
            for fed in self.fed:
                await self._look_at(fed)
            await asyncio.sleep(LOOK)

    async def _look_at(self, fed: FedSink) -> None:
        loops = [loop for loop in self._loops if loop.fed is fed]
        before = fed.disabled
        try:
            await fed.look([loop.number for loop in loops if self._mine(loop.number)])
        except JobledgerError as error:
            fields = {"action": "retry", "sink": fed.name, "error": str(error)}
            log.log(
                logging.INFO if before is None else logging.WARNING,
                "nobody can say what a sink is to do",
                extra=fields,
            )
            return
        for loop in loops:
            if not loop.may_run():
                loop.interrupt()
            elif before != "":
                loop.grown.set()

    # ---- how they are doing --------------------------------------------------------------------------------

    def lag_entries(self) -> Mapping[str, int]:
        """How many entries of this process's partitions each sink has yet to get."""
        lags = dict.fromkeys((fed.name for fed in self.fed), 0)
        for loop in self._loops:
            if self._mine(loop.number):
                reached = loop.feeder.reached if loop.feeder is not None else 0
                lags[loop.fed.name] += max(0, self._end(loop.number) - reached)
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


def chosen_by(configured: ConfiguredSink) -> Chosen:
    """What of an entry the sink gets."""
    selector = Selector.of(configured.label_selector)
    if isinstance(configured, LineageSink):
        return runs_of(Filter((), configured.namespaces, selector).of)
    return Filter(configured.types, configured.namespaces, selector).of


def poster(
    configured: WebHookSink | LineageSink, failed: Failed, attempted: Callable[[str], None] = lambda _: None
) -> WebHook:
    """The sink that posts what it gets. Raises ConfigError."""
    if isinstance(configured, WebHookSink):
        keys = tuple(key.secret_file for key in configured.keys)
        return WebHook(_receiver(configured, configured, keys), failed, attempted=attempted)
    there = configured.transport
    if isinstance(there, LineageOverKafka):
        raise ConfigError(f"the sink {configured.name} writes to a topic: nothing is posted")
    keys = (there.api_key_file,) if there.api_key_file else ()
    return lineage_sink(_receiver(configured, there, keys), failed, attempted=attempted)


def _receiver(
    configured: WebHookSink | LineageSink, there: WebHookSink | LineageOverHttp, keys: tuple[Path, ...]
) -> Receiver:
    return Receiver(
        configured.name,
        there.url.get_secret_value(),
        keys,
        there.insecure,
        there.concurrency,
        there.give_up_after,
    )


async def topic_sink(configured: TopicSink, topic: "Target", partitions: int) -> Sink:
    """The sink of a topic. Raises ConfigError, LogUnavailable, StoreUnusable."""
    from projectors.sinks.kafka import KafkaSink
    from projectors.sinks.topic import TopicSink as OtherTopic

    if configured.url:
        return await OtherTopic.open(topic, partitions, configured.mode)
    return await KafkaSink.open(configured.name, topic, partitions, configured.mode)


def _has_topic(configured: ConfiguredSink) -> bool:
    return isinstance(configured, LineageSink) and isinstance(configured.transport, LineageOverKafka)


async def checked(settings: Settings, log_at: Path | Kafka) -> Sequence[ConfiguredSink]:
    """The sinks of the settings, whose addresses and keys can be used; a ledger in Kafka has one by default.

    Raises ConfigError.
    """
    configured = sinks_in(settings.events.sinks)
    if settings.events.sinks is None and isinstance(log_at, Kafka):
        configured = (own_topic(),)
    for each in configured:
        if isinstance(each, WebHookSink | LineageSink) and not _has_topic(each):
            await poster(each, _ignored).close()
        elif isinstance(each, TopicSink):
            _target_of(settings, log_at, each)
    return configured


def _target_of(settings: Settings, log_at: Path | Kafka, configured: TopicSink) -> "Target":
    """Where the sink writes to. Raises ConfigError."""
    from jobledger.wiring.topics import topic_of

    return topic_of(f"the sink {configured.name}", configured.url or "kafka:", log_at, settings)


async def _ignored(_: SinkFailure) -> None:
    """Nothing is sent."""


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
    if isinstance(log_at, Path):
        await (
            publication.known()
        )  # in Kafka a topic or a right may be missing yet: that keeps sinks waiting alone
    if not isinstance(log_at, Kafka):
        for sink in filter(_has_topic, configured):
            raise ConfigError(
                f"the sink {sink.name} writes to Kafka, and the log is in a file: use `type: http`"
            )
    async with AsyncExitStack() as stack:
        positions = await stack.enter_async_context(positions_beside(ledger.partitions, log_at))
        target_of = partial(_target_of, settings, log_at)
        fed = [FedSink(each, ledger.partitions, positions, target_of, log_at) for each in configured]
        for each in fed:
            stack.push_async_callback(each.close)
        yield Sinks(fed, ledger.partitions, publication)
