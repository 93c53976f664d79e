"""One sink of public events in a process: opened when it is first fed, and a loop for each of its partitions."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jobledger.settings.model import Settings
from jobledger.settings.sinks import (
    ConfiguredSink,
    FilesSink,
    LineageOverKafka,
    LineageSink,
    StdoutSink,
    TopicSink,
    WebHookSink,
)
from jobledger.wiring.configured_sinks import chosen_by, poster, topic_sink
from jobledger.wiring.identity import identity_of
from jobledger.wiring.ledger import Kafka
from jobledger.wiring.publication import publication_of
from projectors.contract.binding import Mode
from projectors.contract.publication import Publication
from projectors.sinks.feeding import Feeder
from projectors.sinks.port import Sink
from projectors.sinks.webhook import SinkDisabled
from statemachine.backoff import backoff
from statemachine.errors import JobledgerError
from statemachine.ids import Position
from statemachine.log.partitions import Partitions
from statemachine.log.positions import Positions, SinkFailure, SinkOrders

if TYPE_CHECKING:
    from statemachine.log.kafka.publishing import Target

log = logging.getLogger(__name__)

_LONGEST_PAUSE: Final = 30.0
"""Seconds between two attempts to feed a sink that fails."""


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
        *,
        mode: Mode = "binary",
    ) -> None:
        self.name = configured.name
        self.chosen = chosen_by(configured)
        self.attempts: Counter[str] = Counter()
        self.failed = 0
        self.disabled: str | None = None
        self.resets: frozenset[int] = frozenset()
        self._configured, self._partitions, self.positions = configured, partitions, positions
        self._target_of, self._log_at, self._mode = target_of, log_at, mode
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
                mode = self._configured.mode or self._mode
                return await topic_sink(self.name, target, len(self._partitions.logs), mode, self._log_at)

    def _attempted(self, outcome: str) -> None:
        self.attempts[outcome] += 1

    async def _failed(self, failure: SinkFailure) -> None:
        await self.positions.fail(self.name, failure)
        self.failed += 1
        fields = {"action": "sink-failure", "sink": self.name, "event": failure.event, "error": failure.error}
        log.warning("an event is not delivered, and not sent again", extra=fields)

    def obey(self, orders: SinkOrders) -> None:
        """What users ask for is known."""
        self.disabled, self.resets, self.failed = orders

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

    async def ledger(self) -> str:
        """The id of the ledger. Raises as `known` does."""
        return (await identity_of(self._where, self._settings.ledger.name)).id


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

    @property
    def reached(self) -> Position:
        """The sink has everything up to this position; 0 before anybody knows."""
        return self.feeder.reached if self.feeder is not None else 0

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
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)  # it may have failed, or do so rather than end
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
