"""The control loop: bridge → engine → projectors, or those roles of it that this process is there for."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from jobledger.program.garbage import collect_rarely
from jobledger.telemetry.instruments import Instruments
from jobledger.wiring.audit import Audit
from jobledger.wiring.bridge_role import BridgeRole, Guard, Turn, unsent
from jobledger.wiring.engine_role import EngineRole
from jobledger.wiring.ledger import Ledger
from jobledger.wiring.levels import Levels
from jobledger.wiring.options import ControllerOptions
from jobledger.wiring.projector_role import Mine, ProjectorRole, streams_of
from jobledger.wiring.roles import Role
from jobledger.wiring.sinks import Sinks
from jobledger.wiring.states import LatestStates
from k8s_bridge.context import NoSignals
from k8s_bridge.port import Cluster
from k8s_bridge.watchers import Bridge, Sink, unguarded
from projectors.sweeper import Sweeper
from projectors.workqueue import WorkQueue
from statemachine.engine.clock import Clock
from statemachine.engine.source import Pulse
from statemachine.errors import InvariantBroken
from statemachine.log.partitions import as_one
from statemachine.log.reader import Reader


def _unanswered() -> int:
    """For a cluster that is never slow."""
    return 0


class Controller:
    """The roles of one process over a ledger and a cluster, built with what they need, and run side by side.

    A bridge watches only when it is its `turn`; `guard` knows whether a policy guards who is named on jobs (None:
    nobody could). `answered` counts the answers of the cluster, by which stuck differs from slow. Projectors feed
    the `sinks`.
    """

    def __init__(
        self,
        ledger: Ledger,
        cluster: Cluster,
        clock: Clock,
        options: ControllerOptions | None = None,
        *,
        instruments: Instruments | None = None,
        turn: Turn = nullcontext,
        guard: Guard | None = None,
        answered: Callable[[], int] = _unanswered,
        sinks: Sinks | None = None,
    ) -> None:
        self.sinks = sinks
        self.ledger, self.cluster = ledger, cluster
        self.options = options = options or ControllerOptions()
        self.instruments = instruments or Instruments()
        self._answered = answered
        readers = [Reader(keeps=options.keeps) for _ in ledger.partitions.logs]
        self.reader = as_one(readers, ledger.partitions.number_of)
        self.engine = EngineRole(ledger, readers, clock, options.roles, self.instruments)
        source = self.engine.source
        self.states = LatestStates(self.reader, ledger.partitions, source.fresh, options.attended)
        observe = self.instruments.sink(source.observe)
        self.projectors = self._projectors(readers, observe, clock)
        self.bridge_role = self._bridge_role(observe, clock, turn, guard)

    # ---- its roles -----------------------------------------------------------------------------------------

    def _projectors(self, readers: Sequence[Reader], observe: Sink, clock: Clock) -> ProjectorRole | None:
        if Role.PROJECTORS not in self.options.roles:
            return None
        mine = Mine(self.ledger.partitions, self.ledger.share)
        cluster = self.instruments.cluster(self.cluster)
        options, instruments = self.options, self.instruments
        if self.sinks is not None:
            self.sinks.begin(mine.partition, lambda number: readers[number].position)
        levels = Levels(
            self.states, cluster, observe, clock, mine.job, options=options, instruments=instruments
        )
        return ProjectorRole(
            levels,
            streams_of(
                mine,
                readers,
                self.states,
                cluster,
                rush=levels.rush,
                startup=levels.startup,
                beside=self.ledger.streams,
            ),
            Sweeper(self.states, cluster, mine.job),
            mine=mine,
            reader=self.reader,
            cluster=self.cluster,
            decides=self.engine.decides,
            sinks=self.sinks,
        )

    def _bridge_role(self, observe: Sink, clock: Clock, turn: Turn, guard: Guard | None) -> BridgeRole | None:
        """Projectors need a watch, too; without the role of a bridge it sends nothing."""
        options, roles = self.options, self.options.roles
        if not roles & {Role.BRIDGE, Role.PROJECTORS}:
            return None
        sends = Role.BRIDGE in roles
        opened = partial(
            Bridge,
            self.cluster,
            observe if sends else unsent,
            self.states,
            self.projectors or NoSignals(),
            silence=options.silence,
            chance=options.jitter.random,
            attended=options.attended,
            concealed=options.env_values.concealed,
            guarded=guard.since if guard is not None else unguarded,
        )
        audit = Audit(self.states, self.cluster, observe, clock) if sends else None
        return BridgeRole(opened, turn, guard, audit)

    # ---- its life ------------------------------------------------------------------------------------------

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Recovers, says `started`, then works until it is cancelled; states are saved at the end."""
        await self.engine.start(self.projectors)
        collect_rarely()
        if self.projectors is not None:
            self.projectors.start()
        try:
            async with asyncio.TaskGroup() as tasks:
                for name, loop in self._loops():
                    tasks.create_task(_for_ever(name, loop), name=name)
                started()
        finally:
            await self.engine.source.save()

    def _loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        for role in (self.engine, self.bridge_role, self.projectors):
            if role is not None:
                yield from role.loops()

    async def stop(self) -> None:
        """Nothing new is taken up, and what was is done: now `run` can be cancelled without loss of work."""
        if self.bridge_role is not None:
            self.bridge_role.stop()
        if self.projectors is not None:
            await self.projectors.finish()
        await self.engine.source.finish()

    async def catch_up(self) -> None:
        """Every stream projector is at the end of the log. For a controller that does not run (any more)."""
        if self.projectors is not None:
            await self.projectors.views.catch_up()

    async def settled(self) -> None:
        """Returns once the start leaves time for what nobody waits for, which is at once where nothing projects."""
        if self.projectors is not None:
            await self.projectors.levels.startup.over()

    # ---- how it is doing -----------------------------------------------------------------------------------

    def pulses(self) -> dict[str, Pulse]:
        """How the loops are doing, by name. Those that wait for the cluster are alive while it answers."""
        answered, pulses = self._answered(), self.engine.pulses()
        for role in (self.bridge_role, self.projectors):
            if role is not None:
                pulses |= role.pulses(answered)
        return pulses

    @property
    def log_error(self) -> str:
        """Why the log cannot be read or written at the moment; empty while it can."""
        return self.engine.log_error or (self.projectors.share_error if self.projectors is not None else "")

    @property
    def waits(self) -> Mapping[str, str]:
        """The stream projectors that cannot go on at the moment, and why."""
        return self.projectors.views.waits() if self.projectors is not None else {}

    @property
    def bridge(self) -> Bridge | None:
        """What watches the cluster now."""
        return self.bridge_role.bridge if self.bridge_role is not None else None

    @property
    def queues(self) -> Mapping[str, WorkQueue]:
        """The work queues of this process, by name."""
        return self.projectors.queues if self.projectors is not None else {}

    @property
    def unconfirmed(self) -> int:
        """For how many jobs nothing is made here, as the cluster does not confirm their objects."""
        return self.projectors.levels.confirming.refused if self.projectors is not None else 0

    @property
    def lags(self) -> Mapping[str, int]:
        """How many entries each stream projector has yet to see."""
        return self.projectors.views.lags() if self.projectors is not None else {}

    @property
    def tells(self) -> bool:
        """This process counts what the log holds. Of engines there may be several, where they are workers."""
        return self.projectors is not None if self.ledger.outbox is not None else self.engine.decides

    @property
    def leads(self) -> bool | None:
        """It is this process's turn to say what it observes; None for one that never does."""
        return self.bridge is not None if Role.BRIDGE in self.options.roles else None


async def _for_ever(name: str, loop: Coroutine[Any, Any, None]) -> None:
    await loop
    raise InvariantBroken(f"the loop of {name} ended by itself")
