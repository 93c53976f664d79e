"""Processes that publish the events of the simulated ledger: the product's sinks as they are, but for a web hook's.

Each of them has a slot, and which slot a partition is of is dealt out anew now and then. They hear of that one after
the other, so for a while two feed a partition, or nobody does.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jobledger.settings.events import EventsSettings, LedgerSettings
from jobledger.settings.model import Settings
from jobledger.settings.sinks import sinks_in
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

_LOOK: Final = 1.0
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
    "simulated", (), SETTINGS.events.actors, USUAL, SETTINGS.events.classification
)


class Receiver:
    """What a publisher hands its web hook: the world keeps it, after some time on the way."""

    name = "pager"

    def __init__(self, publisher: "Publisher") -> None:
        self._publisher = publisher

    async def deliver(self, batch: Batch) -> None:
        """See Sink. The publisher may end on the way there, and back."""
        publisher, world = self._publisher, self._publisher.world
        publisher.moment(True)
        await asyncio.sleep(world.chance.expovariate(2.0))
        if not publisher.process.is_killed:
            world.received[batch.partition] += [str(event.attributes["id"]) for event in batch.events]
            publisher.moment(True)
            await asyncio.sleep(0)

    async def close(self) -> None:
        """See Sink."""


class Publisher(Client):
    """One publisher in a slot, from its start until it has ended or was killed."""

    def __init__(self, world: "World", number: int, slot: int) -> None:
        super().__init__(world, f"publisher-{number}")
        self.slot = slot
        self._mine = world.share_of(slot)
        self._sinks: Sinks | None = None
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
        async with reading(log_at) as partitions, sinks_of(SETTINGS, log_at, Ledger(partitions)) as sinks:
            assert sinks is not None
            for fed in sinks.fed:
                if fed.name == Receiver.name:
                    fed._sink = Receiver(self)
            sinks.begin(lambda number: number in self._mine, self.world.end_of)
            self._sinks = sinks
            async with asyncio.TaskGroup() as tasks:
                for name, loop in sinks.loops():
                    tasks.create_task(loop, name=name)
                while True:
                    sinks.grown()
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
