"""Worlds on the partitioned log in which everything that follows the log runs in the processes of projectors.

These bring one history in SQL on, and feed the ledger's topic of public events, a topic of lineage and a web hook,
beside children, status and Events. Partitions go from one such process to the other, and its database has faults.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import ClassVar, Final
from unittest.mock import patch

from jobledger.wiring import Controller, sinks
from jobledger.wiring.ledger import Kafka, Ledger
from jobledger.wiring.roles import Role, Roles
from jobledger.wiring.sinks import Sinks, sinks_of
from statemachine.log.kafka.layout import EVENTS
from statemachine.log.port import Record
from tests.simulation import chaos, projected
from tests.simulation.chaos import Action
from tests.simulation.crash_points import HISTORY
from tests.simulation.kafka.invariants import OF_SINKS, no_event_is_published_twice, records
from tests.simulation.kafka.publishers import LINEAGE_TOPIC, SETTINGS, Receiver, received_by, unchecked_sinks
from tests.simulation.kafka.topics import LedgerTopics
from tests.simulation.on_kafka import KafkaProcess, KafkaWorld
from tests.simulation.shared_history import ODDS, SharedHistory, WithHistory
from tests.support.faults import Life

_SELDOM: Final = 20.0
"""Seconds between two looks at what users ask of sinks: here nobody asks for anything, and a look costs requests."""


class ViewsWorld(WithHistory, KafkaWorld):
    """A bridge, engines and projectors that also bring on a history and feed sinks."""

    odds: ClassVar[Mapping[str, float]] = {**KafkaWorld.odds, **ODDS}
    points: ClassVar[Mapping[str, int]] = {**KafkaWorld.points, **HISTORY}
    actions: ClassVar[Sequence[Action]] = (
        *KafkaWorld.actions,
        *projected.ACTIONS * 4,
        *[chaos.remove_pod] * 2,
    )
    lineage: ClassVar[Sequence[str]] = (LINEAGE_TOPIC,)

    def _prepare(self) -> None:
        super()._prepare()
        self.topics = LedgerTopics(self.brokers, self.operator)
        self.shared = SharedHistory(self._written)

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        """See World."""
        with unchecked_sinks(), patch.object(sinks, "LOOK", _SELDOM), super().surroundings():
            yield

    def _written(self) -> Sequence[Sequence[Record]]:
        return [records(partition) for partition in self.topics.parts(EVENTS.name)]

    @asynccontextmanager
    async def sinks_over(
        self, log_at: Kafka, ledger: Ledger, process: KafkaProcess
    ) -> AsyncIterator[Sinks | None]:
        """See KafkaWorld."""
        if Role.PROJECTORS not in process.roles:
            yield None
            return
        receiver = Receiver(
            self.topics.received, self.of_brokers, process.at_request, lambda: process.is_killed
        )
        async with sinks_of(SETTINGS, log_at, ledger) as made:
            assert made is not None
            yield received_by(receiver, made)

    def controller_over(self, ledger: Ledger, life: Life, roles: Roles, fed: Sinks | None) -> Controller:
        """See KafkaWorld."""
        if Role.PROJECTORS in roles:
            ledger = replace(ledger, streams=self.shared.streams(life, ledger.partitions.logs))
        return super().controller_over(ledger, life, roles, fed)

    def findings(self) -> Iterator[str]:
        """See World."""
        yield from self.shared.findings()
        for rule in (no_event_is_published_twice, *OF_SINKS):
            yield from rule(self.topics)
        for name, process in self.running.items():
            fed = process.controller.sinks
            if fed is not None and any(fed.lag_entries().values()):
                yield f"{name} says that sinks are behind: {fed.lag_entries()}"
