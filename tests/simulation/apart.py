"""Worlds whose roles are apart: bridge, engine and projectors, each a process of simulated time with its own clock.

As with `--roles` beside one store: the engine owns the log, the others follow it, and what they notice goes through
the inbox. Any of them can be away by itself for as long as the others get by.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Final

from jobledger.wiring import Controller
from jobledger.wiring.roles import Role, Roles
from statemachine.engine.clock import Clock
from statemachine.log.inbox import Inbox
from statemachine.log.port import EventLog
from tests.simulation import chaos, chaos_cluster, chaos_log, chaos_parts
from tests.simulation.chaos import Action
from tests.simulation.crash_points import INBOX, USUAL
from tests.simulation.processes import Process
from tests.simulation.troubled import TroubledWorld
from tests.support.faults import FaultyLog, JumpingClock, Life
from tests.support.memory_log import MemoryLog
from tests.support.spread import FaultyInbox, FollowedLog, TellingInbox, TellingLog

PARTS: Final[Mapping[str, Roles]] = {
    "engine": frozenset({Role.ENGINE}),
    "bridge": frozenset({Role.BRIDGE}),
    "projectors": frozenset({Role.PROJECTORS}),
}

_USUAL: Final[tuple[Action, ...]] = (
    chaos.drop_watches,
    chaos.log_down,
    chaos.cluster_down,
    chaos.deny,
    chaos.delete_pod,
    chaos.evict,
    chaos.end_pod,
    chaos.end_pod,
    chaos.lose_sight,
    chaos.edit_spec,
    chaos.edit_spec,
    chaos.delete_job,
    chaos.tensorboard,
    chaos.squat,
    chaos.relabel_job,
)


class SkewedClock(JumpingClock):
    """The clock of one process: another one's, and what it is off."""

    def __init__(self, base: JumpingClock, start: datetime) -> None:
        super().__init__(start)
        self._base = base

    def true(self) -> datetime:
        """The time elsewhere."""
        return self._base.true()

    def now(self) -> datetime:
        """The time as this process believes it to be."""
        return self._base.now() + self.jumped


class ApartWorld(TroubledWorld):
    """A bridge, an engine and projectors; sometimes two bridges."""

    odds: ClassVar[Mapping[str, float]] = {**TroubledWorld.odds, "inbox_lost_reply": 0.1}
    actions: ClassVar[Sequence[Action]] = (
        *_USUAL,
        *chaos_cluster.ACTIONS,
        *chaos_log.ACTIONS,
        *chaos_parts.ACTIONS * 2,
    )
    points: ClassVar[Mapping[str, int]] = {**USUAL, **INBOX}
    keeps_reports: ClassVar[bool] = True
    quiet: ClassVar[float] = 400.0

    def _new_log(self) -> MemoryLog:
        self.followed = TellingLog()
        return self.followed

    def _prepare(self) -> None:
        super()._prepare()
        self.inbox = TellingInbox()
        self.clocks = {roles: SkewedClock(self.clock, self.start_at) for roles in PARTS.values()}
        self.parts: dict[str, Process] = {}
        self._extra: list[Process] = []

    # ---- what its processes have -----------------------------------------------------------------------------

    def log_of(self, life: Life, roles: Roles) -> EventLog:
        """See World."""
        return FaultyLog(self.log, life) if Role.ENGINE in roles else FollowedLog(self.followed, life)

    def inbox_of(self, life: Life) -> Inbox | None:
        """See World."""
        return FaultyInbox(self.inbox, life)

    def clock_of(self, roles: Roles) -> Clock:
        """See World."""
        return self.clocks[roles]

    def processes(self) -> Mapping[str, Process]:
        """See World."""
        return self.parts

    def believers(self) -> Mapping[str, Controller]:
        """See World."""
        return {name: process.controller for name, process in self.parts.items()}

    # ---- their lives -----------------------------------------------------------------------------------------

    async def keep_running(self) -> None:
        """Each part is started again whenever it has ended, after a while, or after as long as it is to be away."""
        async with asyncio.TaskGroup() as tasks:
            for name, roles in PARTS.items():
                tasks.create_task(self._keep(name, roles), name=f"keeper of {name}")

    async def _keep(self, name: str, roles: Roles) -> None:
        while True:
            process = self.parts[name] = Process(self, roles)
            await process.ended()
            await asyncio.sleep(self.chance.expovariate(1 / 2))
            await self.sleep_until(self.away_until.get(name, 0.0))
            self.note(f"{name} starts")

    def add_bridge(self) -> Process:
        """A second bridge runs beside the first, until it is killed."""
        process = Process(self, PARTS["bridge"])
        self._extra.append(process)
        return process

    async def end_processes(self) -> None:
        """See World."""
        await self.end_zombies()
        for part in self.parts.values():
            part.kill()
            await part.ended()

    async def end_zombies(self) -> None:
        """One bridge is left."""
        for process in self._extra:
            process.kill()
            await process.ended()
        self._extra = []

    def calm(self) -> None:
        """See World."""
        super().calm()
        for clock in self.clocks.values():
            clock.mend()
