"""Engines, publishers, a bridge and the model of Kafka, all of one seed, on simulated time.

Each engine is a process with the product's worker, feed, assignment and log as they are, each publisher one with its
sinks; only the clients of Kafka are the model's. The bridge puts what is observed of the jobs into the outbox, again
and again until that is taken.
"""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Final

from aiokafka import TopicPartition

from statemachine.engine.clock import Clock
from statemachine.engine.kafka.offsets import GROUP
from statemachine.engine.kafka.worker import Worker
from statemachine.errors import LogUnavailable
from statemachine.ids import Position
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import CLOUDEVENTS, EVENTS, OBSERVATIONS
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.topics import apply
from statemachine.log.port import Record
from statemachine.log.reader import Folded
from statemachine.observations import Observation
from tests.simulation.kafka.clients import Client
from tests.simulation.kafka.lives import life
from tests.simulation.kafka.publishers import LINEAGE_TOPIC, SLOTS, Publisher
from tests.simulation.kafka.topics import Topics
from tests.support.kafka_model.brokers import START, Brokers
from tests.support.kafka_model.wire import Link, Odds, linked
from tests.support.processes import Process
from tests.support.simulated import LoopClock

_AGAIN: Final = 0.3
"""Seconds until the bridge puts again what was not taken."""


class Still:
    """A clock that stands: no timer fires, and what is decided depends on the observations alone."""

    def now(self) -> datetime:
        """The beginning."""
        return START


class Engine(Client):
    """One engine, from its start until it has ended or was killed."""

    def __init__(self, world: "World", number: int) -> None:
        super().__init__(world, f"engine-{number}")
        self.worker = Worker(self.address, "aiokafka", world.clock, session=world.session)
        self.worker.listeners.append(self._tell)
        self.process.start(self._run())

    async def _run(self) -> None:
        try:
            await self.worker.run()
        except Exception as error:  # noqa: BLE001 - whatever ends an engine is a finding
            self.world.broken.append(f"{self.process.name} died: {error!r}")

    def _tell(self, folded: Folded) -> None:
        if not self.process.is_killed:
            self.world.announced.append(folded.record)


@dataclass
class World(Topics):
    """Everything that belongs to one seed. To be made in the running loop. `fences`: the model does, as it has to."""

    seed: int
    fences: bool = True
    chance: Random = field(init=False)
    odds: Odds = field(default_factory=Odds)
    broken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    """How often each fault came."""
    announced: list[Record] = field(default_factory=list)
    """What listeners of engines have heard, as decided and durable."""
    engines: list[Engine] = field(default_factory=list)
    publishers: list[Publisher] = field(default_factory=list)
    received: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        chance = self.chance = Random(self.seed)
        self.brokers = Brokers(chance)
        self.brokers.transactions.fences = self.fences
        self.address = Address(("operator:9092",))
        linked("operator:9092", Link(self.brokers, "operator"))
        self.bridge = Process("bridge")
        linked("bridge:9092", Link(self.brokers, "bridge", self.odds))
        self.partitions = chance.choice((2, 3, 4))
        self.wanted = chance.choice((2, 2, 3))
        """How many engines there are, when all is well."""
        self.slots = [chance.randrange(SLOTS) for _ in range(self.partitions)]
        """Which publisher has to publish a partition, by number."""
        self.session = chance.choice((3.0, 6.0))
        self.is_timed = self.seed % 2 == 1
        self.clock: Clock = LoopClock(START) if self.is_timed else Still()
        self.sudden = 0.0
        """How likely a process ends, or stands still, at a request of it."""

    # ---- engines -------------------------------------------------------------------------------------------------

    def start_engine(self) -> Engine:
        """One more engine."""
        engine = Engine(self, len(self.engines) + 1)
        self.engines.append(engine)
        self.note(f"{engine.process.name} starts")
        return engine

    def running(self) -> list[Engine]:
        """The engines that live, frozen ones too."""
        return [engine for engine in self.engines if engine.is_running]

    async def keep_running(self) -> None:
        """There are as many engines and publishers as there should be, a moment after one has gone."""
        while True:
            if len(self.running()) < self.wanted:
                self.start_engine()
            if vacant := set(range(SLOTS)) - {publisher.slot for publisher in self.publishing()}:
                self.start_publisher(min(vacant))
            await asyncio.sleep(self.chance.expovariate(1 / 2))

    def at_request(self, client: Client, weight: float) -> None:
        """The process asks brokers for something, or was heard: a moment at which it may end, or stand still."""
        if self.chance.random() < self.sudden * weight:
            what = "publisher " if isinstance(client, Publisher) else ""
            if self.chance.random() < 0.5:
                self.did[f"{what}killed at a request"] += 1
                self.note(f"{client.process.name} is killed at a request")
                client.kill()
            else:
                self.did[f"{what}frozen at a request"] += 1
                self.freeze(client)

    def freeze(self, client: Client) -> None:
        """The process stands still for a while, often until others have taken over."""
        seconds = self.session * self.chance.choice((0.3, 1.5, 3.0)) * (0.5 + self.chance.random())
        self.note(f"{client.process.name} stands still for {seconds:.1f} s")
        client.process.freeze()
        self.brokers.soon(seconds, client.process.resume)

    # ---- publishers ----------------------------------------------------------------------------------------------

    def start_publisher(self, slot: int) -> None:
        """One more publisher."""
        publisher = Publisher(self, len(self.publishers) + 1, slot)
        self.publishers.append(publisher)
        self.note(f"{publisher.process.name} starts in slot {slot}")

    def publishing(self) -> list[Publisher]:
        """The publishers that live, frozen ones too."""
        return [publisher for publisher in self.publishers if publisher.is_running]

    def share_of(self, slot: int) -> frozenset[int]:
        """The partitions that the slot is dealt."""
        return frozenset(number for number, dealt in enumerate(self.slots) if dealt == slot)

    def deal(self) -> None:
        """Partitions are dealt out anew, and publishers hear of it one after the other."""
        self.slots = [self.chance.randrange(SLOTS) for _ in self.slots]
        self.note(f"the partitions are of slots {self.slots}")
        for publisher in self.publishing():
            self.brokers.soon(self.chance.uniform(0.0, 4.0), publisher.deal)

    # ---- the bridge ----------------------------------------------------------------------------------------------

    async def make_topics(self) -> None:
        """The ledger has its topics."""
        await apply(self.address, partitions=self.partitions, replication=1, lineage=[LINEAGE_TOPIC])

    async def observe(self) -> None:
        """The bridge puts what is observed when it is, some of it twice, and what was not taken once more."""
        count = self.chance.randint(3, 8)
        lives = [life(self.chance, f"job-{number}", self.chance.uniform(0, 20)) for number in range(count)]
        coming = sorted(
            (observation for one in lives for observation in one), key=lambda observation: observation.at
        )
        loop, begun = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        outbox: KafkaOutbox | None = None
        while coming:
            due = (coming[0].at - START).total_seconds() - (loop.time() - begun)
            await asyncio.sleep(max(0.0, due) + self.chance.expovariate(5.0))
            batch = [coming.pop(0) for _ in range(min(len(coming), self.chance.choice((1, 1, 3, 10))))]
            outbox = await self._put(outbox, batch)
            if self.chance.random() < 0.1:
                self.did["repeats"] += 1
                outbox = await self._put(outbox, [self.chance.choice(batch)])

    async def _put(self, outbox: KafkaOutbox | None, batch: Sequence[Observation]) -> KafkaOutbox:
        while True:
            try:
                outbox = outbox or await KafkaOutbox.open(Address(("bridge:9092",)))
                await outbox.put(batch)
            except LogUnavailable:
                self.did["put again"] += 1
                await asyncio.sleep(_AGAIN)
            else:
                return outbox

    # ---- what there is -------------------------------------------------------------------------------------------

    def is_all_decided(self) -> bool:
        """The group is at the end of all observations, by its own account."""
        group = self.address.topic(GROUP)
        return all(
            (self.brokers.groups.committed(group, partition.tp) or 0) == partition.end
            for partition in self.parts(OBSERVATIONS.name)
        )

    def is_all_published(self) -> bool:
        """Every slot has a publisher that has published its share, by its own account, and it can be read."""
        slots = {publisher.slot for publisher in self.publishing()}
        if len(slots) < SLOTS or not all(publisher.is_done for publisher in self.publishing()):
            return False
        topics = (self.address.topic(CLOUDEVENTS.name), LINEAGE_TOPIC)
        partitions = [partition for topic in topics for partition in self.parts_of(topic)]
        return all(partition.last_stable == partition.end for partition in partitions)

    def end_of(self, number: int) -> Position:
        """Behind all that can be read of a partition of the events."""
        return self.brokers.partition(TopicPartition(self.address.topic(EVENTS.name), number)).last_stable

    def entries(self) -> int:
        """How many entries anybody can read."""
        return sum(len(partition.visible()) for partition in self.parts(EVENTS.name))

    def note(self, text: str) -> None:
        """Something was done to the system: part of the story that a failure prints."""
        self.notes.append(f"{asyncio.get_running_loop().time():8.3f} {text}")

    def listen(self) -> logging.Handler:
        """Errors that are logged from now on are findings."""
        return _Errors(self.broken)


class _Errors(logging.Handler):
    """Whatever is logged as an error is a finding."""

    def __init__(self, broken: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._broken = broken

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        error = record.exc_info[1] if record.exc_info else None
        self._broken.append(f"logged: {record.getMessage()}: {error!r}")
