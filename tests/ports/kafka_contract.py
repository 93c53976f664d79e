"""The stages of the suite of Kafka's contract: the model on simulated time, and a real broker."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from aiokafka import ConsumerRebalanceListener, TopicPartition

from statemachine.engine.kafka.aiokafka_feed import AiokafkaFeed
from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.processor import ProcessorContext
from statemachine.log.kafka import clients
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import EVENTS, JOBS, OBSERVATIONS
from statemachine.log.kafka.topics import apply
from statemachine.log.port import EventLog
from tests.support.kafka_model.brokers import START
from tests.support.kafka_model.installed import brokers_at
from tests.support.processes import ProcessLoop
from tests.support.simulated import LoopClock, run_simulated

P = ParamSpec("P")
T = TypeVar("T")

SESSION = 3.0
"""Seconds of silence after which a member of a group is put out."""

PATIENCE = 60.0
"""Seconds that a test waits for what has to happen; on a real broker that turns a hang into a failure."""


class Runner(Protocol):
    """Runs what a test does to its end."""

    def __call__(self, doing: Coroutine[Any, Any, T]) -> T:
        """What it gives."""


async def _nothing(_: int) -> EventLog:
    raise AssertionError("nothing is decided here")


class Stage:
    """Brokers with the topics of a ledger of two partitions, and the clients that a test has opened."""

    def __init__(self, address: Address, run: Runner) -> None:
        self.address, self.run = address, run
        self._opened: list[Any] = []
        self.events = TopicPartition(address.topic(EVENTS.name), 0)
        self.snapshots = TopicPartition(address.topic(JOBS.name), 0)
        self.observations = address.topic(OBSERVATIONS.name)

    async def writer(self, name: str = "writer") -> Any:
        """A producer with a transactional id, as the log has one for each partition."""
        return await self._started(clients.producer(self.address, f"{self.address.prefix}-{name}"))

    async def sender(self) -> Any:
        """A producer without one, as the outbox has."""
        return await self._started(clients.producer(self.address))

    async def reader(self, *parts: TopicPartition, isolation: str = "read_committed", group: str = "") -> Any:
        """A consumer that has these partitions, and stands at their beginning."""
        whole = f"{self.address.prefix}.{group}" if group else None
        made = await self._started(clients.consumer(self.address, whole, wait=0.05, isolation=isolation))
        made.assign(parts)
        for tp in parts:
            made.seek(tp, 0)
        return made

    async def member(self) -> "Member":
        """A member of the engines' group, as a feed is one."""
        assignment = Assignment(ProcessorContext(_nothing, LoopClock(START), lambda _: 0))
        made = AiokafkaFeed(self.address, assignment, session=SESSION)._consumer()
        member = Member(await self._started(made))
        made.subscribe([self.observations], listener=member)
        return member

    async def close(self) -> None:
        """Nothing that was opened is open any more."""
        await asyncio.gather(*(clients.stopped(client) for client in self._opened))

    async def _started(self, client: Any) -> Any:
        self._opened.append(client)
        async with asyncio.timeout(PATIENCE):
            await client.start()
        return client


class Member(ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
    """A member of a group: what was dealt to it last. Not `attentive`, it does not say that it gives up its share."""

    def __init__(self, consumer: Any) -> None:
        self.consumer = consumer
        self.shares: list[frozenset[int]] = []
        self.attentive = asyncio.Event()
        self.attentive.set()

    @property
    def share(self) -> frozenset[int]:
        """The partitions that it has."""
        return self.shares[-1] if self.shares else frozenset()

    async def on_partitions_revoked(self, _: Iterable[TopicPartition]) -> None:
        """Called before the group deals out anew."""
        await self.attentive.wait()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Called when the group has dealt out."""
        self.shares.append(frozenset(tp.partition for tp in assigned))


def on_the_model(server: str = "model:9092") -> Stage:
    """The model, on simulated time. To be used while it is `installed`."""
    address = Address((server,))

    def run(doing: Coroutine[Any, Any, T]) -> T:
        async def main() -> T:
            brokers_at(server)
            await apply(address, partitions=2, replication=1)
            return await doing

        return run_simulated(main(), 1, ProcessLoop)

    return Stage(address, run)


def on_real_brokers(address: Address) -> Stage:
    """Real brokers that have the topics."""

    def run(doing: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(doing)

    return Stage(address, run)


def on_stage(
    test: Callable[Concatenate[Stage, P], Coroutine[Any, Any, None]],
) -> Callable[..., None]:
    """A test that runs on the `stage`'s time, and closes what it has opened."""

    @wraps(test)
    def run(stage: Stage, *arguments: P.args, **fixtures: P.kwargs) -> None:
        async def whole() -> None:
            try:
                async with asyncio.timeout(2 * PATIENCE):
                    await test(stage, *arguments, **fixtures)
            finally:
                await stage.close()

        stage.run(whole())

    return run


async def until(holds: Callable[[], Any]) -> None:
    """`holds` is true; it may be a coroutine function."""
    async with asyncio.timeout(PATIENCE):
        while True:
            result = holds()
            if asyncio.iscoroutine(result):
                result = await result
            if result:
                return
            await asyncio.sleep(0.02)


async def values(reader: Any, tp: TopicPartition) -> Sequence[bytes]:
    """All that the reader may read of a partition now, from its beginning."""
    end = (await reader.end_offsets([tp]))[tp]
    reader.seek(tp, 0)
    texts: list[bytes] = []
    async with asyncio.timeout(PATIENCE):
        while await reader.position(tp) < end:
            for messages in (await reader.getmany(tp, timeout_ms=50)).values():
                texts += [message.value for message in messages]
    return texts
