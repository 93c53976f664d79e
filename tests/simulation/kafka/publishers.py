"""Processes that publish the events of the simulated ledger: the product's sinks as they are, but for a web hook's.

Each of them has a slot, and which slot a partition is of is dealt out anew now and then. They hear of that one after
the other, so for a while two feed a partition, or nobody does.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from jobledger.settings.events import EventsSettings, LedgerSettings
from jobledger.settings.model import Settings
from jobledger.settings.sinks import ConfiguredSink, sinks_in
from jobledger.wiring import sinks
from jobledger.wiring.configured_sinks import lineage_topics
from jobledger.wiring.ledger import Kafka, Ledger, reading
from jobledger.wiring.sinks import Sinks, sinks_of
from projectors.contract.gpus import USUAL
from projectors.contract.publication import Publication
from projectors.sinks.port import Batch
from statemachine.errors import JobledgerError
from statemachine.log.kafka.address import Address
from tests.simulation.kafka.clients import Client

if TYPE_CHECKING:
    from tests.simulation.kafka.world import World

SLOTS: Final = 2
"""How many publishers there are, when all is well."""

_LOOK: Final = 2.0
"""Seconds between two looks at whether the log has grown."""

_AGAIN: Final = 1.0
"""Seconds until a publisher that could not start is started again."""

SETTINGS: Final = Settings(
    store=Path("unused.db"),
    ledger=LedgerSettings(name="simulated"),
    events=EventsSettings(sinks=Path(__file__).with_name("sinks.yaml")),
)
_, LINEAGE, _ = SINKS = sinks_in(SETTINGS.events.sinks)
(LINEAGE_TOPIC,) = lineage_topics(SINKS, Address(("any:9092",)))
PUBLICATION: Final = Publication(
    "simulated", (SETTINGS.events.labels,), SETTINGS.events.actors, USUAL, SETTINGS.events.classification
)


@dataclass
class Receiver:
    """What a publisher hands its web hook is kept in `received`, by partition, after some time on the way.

    The publisher, which may end on the way there and back (`moment`), is asked whether it still lives.
    """

    received: defaultdict[int, list[str]]
    chance: Random
    moment: Callable[[bool], None]
    is_killed: Callable[[], bool]
    name: str = "pager"

    async def deliver(self, batch: Batch) -> None:
        """See Sink."""
        self.moment(True)
        await asyncio.sleep(self.chance.expovariate(2.0))
        if not self.is_killed():
            self.received[batch.partition] += [str(event.attributes["id"]) for event in batch.events]
            self.moment(True)
            await asyncio.sleep(0)

    async def close(self) -> None:
        """See Sink."""


def received_by(receiver: Receiver, made: Sinks) -> Sinks:
    """The sinks that were made, whose web hook is the receiver."""
    for fed in made.fed:
        if fed.name == receiver.name:
            fed._sink = receiver
    return made


def unchecked_sinks() -> AbstractContextManager[object]:
    """The sinks of settings are not checked: there is no key to read, and nobody to post to."""

    async def unchecked(settings: Settings, _: object) -> Sequence[ConfiguredSink]:
        return sinks_in(settings.events.sinks)

    return patch.object(sinks, "checked", unchecked)


class Publisher(Client):
    """One publisher in a slot, from its start until it has ended or was killed."""

    def __init__(self, world: "World", number: int, slot: int) -> None:
        super().__init__(world, f"publisher-{number}")
        self.slot = slot
        self._mine = world.share_of(slot)
        self._sinks: Sinks | None = None
        self._receiver = Receiver(world.received, world.chance, self.moment, lambda: self.process.is_killed)
        self.process.start(self._run())

    async def _run(self) -> None:
        while True:
            try:
                await self._feed()
            except JobledgerError:
                self.world.did["publisher starts again"] += 1
                self._sinks = None
                await asyncio.sleep(_AGAIN)

    async def _feed(self) -> None:
        log_at = Kafka(self.address, "aiokafka", "", self.world.session)
        async with reading(log_at) as partitions, sinks_of(SETTINGS, log_at, Ledger(partitions)) as made:
            assert made is not None
            fed = self._sinks = received_by(self._receiver, made)
            fed.begin(lambda number: number in self._mine, self.world.end_of)
            async with asyncio.TaskGroup() as tasks:
                for name, loop in fed.loops():
                    tasks.create_task(loop, name=name)
                while True:
                    fed.grown()
                    await asyncio.sleep(_LOOK)

    def deal(self) -> None:
        """It hears what its slot is dealt now."""
        self._mine = self.world.share_of(self.slot)
        if self._sinks is not None:
            self._sinks.shared()

    @property
    def is_done(self) -> bool:
        """It has heard what its share is, and published all of that, by its own account."""
        has_heard = self._mine == self.world.share_of(self.slot)
        return has_heard and self._sinks is not None and not any(self._sinks.lag_entries().values())
