"""Worlds whose log is the partitioned one: whole processes of the product over the model of Kafka's contract.

Engines are workers that partitions are assigned to, projectors share the partitions out among themselves, and the
bridge puts what it observes into the outbox. Any of them is killed, frozen, stopped or cut off by itself, and brokers
are away, while users, kubelets and the API server do what they do in every world.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from functools import partial
from inspect import iscoroutinefunction
from random import Random
from typing import Any, ClassVar, Final, cast
from unittest.mock import patch

from jobledger.wiring import Controller
from jobledger.wiring.ledger import Kafka, Ledger, ledger_of
from jobledger.wiring.options import ControllerOptions
from jobledger.wiring.roles import Role, Roles
from jobledger.wiring.sinks import Sinks
from k8s_bridge.port import Cluster
from statemachine.engine import clock
from statemachine.engine.clock import Clock
from statemachine.engine.kafka import aiokafka_feed, share
from statemachine.errors import LogUnavailable
from statemachine.log.kafka import reading
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import DEAD_LETTERS, EVENTS
from statemachine.log.kafka.records import Message, letter_of, record_of, retry_of
from statemachine.log.kafka.topics import apply
from tests.simulation import chaos, chaos_kafka, chaos_log, chaos_parts
from tests.simulation.apart import PARTS, ApartWorld
from tests.simulation.chaos import Action
from tests.simulation.crash_points import OF_THE_LOG, USUAL
from tests.simulation.processes import Process
from tests.simulation.troubled import TroubledWorld
from tests.support.api_faults import TroubledCluster
from tests.support.faults import Life
from tests.support.kafka_model.brokers import Brokers
from tests.support.kafka_model.installed import installed
from tests.support.kafka_model.partitions import ModelPartition
from tests.support.kafka_model.wire import Link, Odds, linked
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.processes import Process as System
from tests.support.processes import ProcessLoop, current
from tests.support.simulated import SimulatedLoop, run_simulated

_SESSION: Final = 6.0
"""Seconds after which a group puts out who is not heard of."""

_OPERATOR: Final = Address(("operator:9092",))

_POLL_MS: Final = 1000
"""Milliseconds that an engine waits for observations: ten times a second it would ask in vain."""

_PATIENT: Final = 10
"""Seconds that every consumer waits once no fault happens any more: nine tenths of a world are rest."""

_OF_READS: Final = 0.05
"""The share of requests that only read at which a process may die: there are so many."""

_REQUESTS: Final = {"refused": 0.1, "lost": 0.03, "unanswered": 0.05, "late": 0.02}
"""The largest share of requests that a fault meets; each is possible in a part of the seeds."""


class MirroredLog(MemoryLog):
    """What consumers can read of all partitions, in the order in which it could be read."""

    def __init__(self, world: "KafkaWorld") -> None:
        super().__init__()
        self._world = world

    def follow_brokers(self, brokers: Brokers) -> None:
        """From now on it has what they have."""
        for tp in brokers.parts(_OPERATOR.topic(EVENTS.name)):
            self._take(brokers.partition(tp), 0, entries=True)
        for tp in brokers.parts(_OPERATOR.topic(DEAD_LETTERS.name)):
            self._take(brokers.partition(tp), 0, entries=False)

    def _take(self, partition: ModelPartition, at: int, *, entries: bool) -> None:
        read, at = partition.read(at, partition.end + 1, committed=True)
        messages = cast(list[Message], read)
        if entries:
            self._records += map(record_of, messages)
            self._world.weather.passages.stepped()
        else:
            letters = (message for message in messages if retry_of(message) is None)
            self._letters += (letter_of(message, partition.tp.partition) for message in letters)
        partition.when_changed(partial(self._take, partition, at, entries=entries))


class Outside:
    """The cluster as processes reach it: what has arrived there is done, and pods live on, after they have died."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster, self._context = cluster, Context()

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._cluster, name)
        return partial(self._call, attribute) if iscoroutinefunction(attribute) else attribute

    async def _call(self, call: Callable[..., Coroutine[Any, Any, Any]], *given: Any, **options: Any) -> Any:
        return await asyncio.get_running_loop().create_task(call(*given, **options), context=self._context)


class KafkaProcess(Process):
    """One run of a process, from its start to its end. Killed, it does nothing any more, and holds what it had."""

    def __init__(self, world: "KafkaWorld", name: str, roles: Roles) -> None:
        self._world: KafkaWorld = world
        self.life = Life(world.weather, self._fell)
        self.link = Link(world.brokers, name, world.wire, moment=self.at_request)
        self.roles = roles
        self._address = Address((f"{name}-{len(world.lives)}:9092",))
        linked(self._address.servers[0], self.link)
        self._system = System(name)
        self._killed = asyncio.get_running_loop().create_future()
        self.task = self._system.start(self._run())
        world.lives.append(self)

    async def _run(self) -> None:
        world, kafka = self._world, Kafka(self._address, "aiokafka", "", _SESSION)
        try:
            async with ledger_of(kafka, self.roles) as ledger, world.sinks_over(kafka, ledger, self) as sinks:
                self.controller = world.controller_over(ledger, self.life, self.roles, sinks)
                await self.controller.run()
        except LogUnavailable as error:
            world.note(f"{self._system.name} gave up: {error}")
        except Exception as error:  # noqa: BLE001 - whatever ends a process is a finding
            world.broken.append(f"{self._system.name} died: {error!r}")

    def at_request(self, produces: bool) -> None:
        """It sends something, or was heard; there are few requests that others see (`produces`)."""
        world = self._world
        if self._system.is_frozen or not (produces or world.of_brokers.random() < _OF_READS):
            return
        if world.weather.strikes("died_at_request"):
            world.note(f"{self._system.name} dies at a request")
            self.kill()

    @property
    def is_killed(self) -> bool:
        """It does nothing any more."""
        return self._system.is_killed

    def _fell(self) -> None:
        self._world.note(f"{self._system.name} crashed in the middle of a call")
        self._end()

    def kill(self) -> None:
        """See Process."""
        self.life.kill()
        self._end()

    def _end(self) -> None:
        self._system.kill()
        self.link.is_cut = True
        if not self._killed.done():
            self._killed.set_result(None)

    def freeze(self) -> None:
        """It does nothing until `resume`."""
        self._system.freeze()

    def resume(self) -> None:
        """It goes on as if no time had passed."""
        self._system.resume()

    async def ended(self) -> None:
        """See Process."""
        await asyncio.wait([self.task, self._killed], return_when=asyncio.FIRST_COMPLETED)

    async def bury(self) -> None:
        """Nothing of it is left."""
        self.kill()
        await self._system.bury()


class KafkaWorld(ApartWorld):
    """A bridge, engines and projectors on the partitioned log; sometimes two bridges."""

    actions: ClassVar[Sequence[Action]] = tuple(
        action
        for action in (*ApartWorld.actions, *chaos_kafka.ACTIONS * 2)
        if action not in (chaos.log_down, chaos_parts.freeze, *chaos_log.ACTIONS)
    )
    odds: ClassVar[Mapping[str, float]] = {**TroubledWorld.odds, "died_at_request": 0.02}
    of_requests: ClassVar[Mapping[str, float]] = _REQUESTS
    points: ClassVar[Mapping[str, int]] = {
        point: share for point, share in USUAL.items() if point not in OF_THE_LOG
    }
    lineage: ClassVar[Sequence[str]] = ()
    """Topics that sinks of lineage write to."""
    operator: ClassVar[Address] = _OPERATOR
    loop: ClassVar[type[SimulatedLoop]] = ProcessLoop

    def _new_log(self) -> MemoryLog:
        self.mirror = MirroredLog(self)
        return self.mirror

    def _prepare(self) -> None:
        super()._prepare()
        chance = Random(f"{self.seed} of brokers")
        self.of_brokers = chance
        self.brokers = Brokers(chance, self.start_at)
        self.partitions = chance.choice((1, 2, 3))
        self.engines, self.projectors = chance.choice((1, 2)), chance.choice((1, 2, 2))
        self.brokers.marker_lag = chance.choice((0.002, 0.05, 0.5))
        likely = {
            name: chance.random() * most for name, most in self.of_requests.items() if chance.random() < 0.5
        }
        self.wire = Odds(**likely, slow=chance.choice((0.001, 0.01, 0.1)))
        self.outside = Outside(self.cluster)
        self.lives: list[KafkaProcess] = []
        self.running: dict[str, KafkaProcess] = {}

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        """See World: clients that processes make are the model's, and their clocks the world's."""
        clocks = patch.object(clock, "WallClock", self._clock_here)
        patient = patch.object(aiokafka_feed, "_POLL_MS", _POLL_MS)  # what comes wakes who waits for it
        with installed(), clocks, patient:
            linked(_OPERATOR.servers[0], Link(self.brokers, "operator"))
            topics = apply(_OPERATOR, partitions=self.partitions, replication=1, lineage=self.lineage)
            run_simulated(topics, self.seed)
            self.mirror.follow_brokers(self.brokers)
            yield

    @contextmanager
    def resting(self) -> Iterator[None]:
        """See World: consumers wait longer for what does not come, and members say less often that they are there."""
        self.brokers.beats_apart = _SESSION / 3
        with (
            patch.object(reading, "_SILENCE", _PATIENT),
            patch.object(aiokafka_feed, "_POLL_MS", _PATIENT * 1000),
            patch.object(share, "_POLL_MS", _PATIENT * 1000),
        ):
            yield

    def _clock_here(self) -> Clock:
        system = current()
        assert system is not None
        return self.clock_of(next(life.roles for life in self.lives if life._system is system))

    # ---- their lives -----------------------------------------------------------------------------------------

    async def keep_running(self) -> None:
        """See World."""
        async with asyncio.TaskGroup() as tasks:
            for name, roles in self._wanted():
                tasks.create_task(self._keep(name, roles), name=f"keeper of {name}")

    def _wanted(self) -> Iterator[tuple[str, Roles]]:
        for name, roles in PARTS.items():
            count = {"engine": self.engines, "projectors": self.projectors}.get(name, 1)
            yield from ((f"{name}-{number}" if count > 1 else name, roles) for number in range(1, count + 1))

    async def _keep(self, name: str, roles: Roles) -> None:
        while True:
            process = self.running[name] = KafkaProcess(self, name, roles)
            await process.ended()
            await asyncio.sleep(self.chance.expovariate(1 / 2))
            await self.sleep_until(self.away_until.get(name, 0.0))
            self.note(f"{name} starts")

    def add_bridge(self) -> Process:
        """See ApartWorld."""
        process = KafkaProcess(self, "second bridge", PARTS["bridge"])
        self._extra.append(process)
        return process

    async def end_processes(self) -> None:
        """See World."""
        for life in self.lives:
            await life.bury()

    def calm(self) -> None:
        """See World. All clocks go alike, those of brokers too: engines compare (ADR 0024)."""
        super().calm()
        self.brokers.ahead = self.clocks[PARTS["engine"]].jumped
        self.wire.calm()
        self.brokers.come_back()
        for life in self.lives:
            life.link.is_down = False
            life.resume()

    # ---- what its processes have -----------------------------------------------------------------------------

    def cluster_of(self, life: Life) -> Cluster:
        """See World."""
        return TroubledCluster(cast(MemoryCluster, self.outside), life, self.past)

    @asynccontextmanager
    async def sinks_over(self, _: Kafka, __: Ledger, ___: KafkaProcess) -> AsyncIterator[Sinks | None]:
        """What a process that has opened the ledger feeds with public events."""
        yield None

    def controller_over(self, ledger: Ledger, life: Life, roles: Roles, fed: Sinks | None) -> Controller:
        """What runs in a process that has opened the ledger."""
        options = ControllerOptions(**self.options(roles))
        return Controller(ledger, self.cluster_of(life), self.clock_of(roles), options, sinks=fed)

    def processes(self) -> Mapping[str, Process]:
        """See World."""
        return self.running

    def believers(self) -> Mapping[str, Controller]:
        """See World. An engine's states are its worker's."""
        return {
            name: process.controller
            for name, process in self.running.items()
            if Role.ENGINE not in process.roles
        }
