"""Is the process alive, and may it serve? Judged by what its loops have got done, not by their being there.

A process that hangs as a whole does not answer at all, which says the same.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from statemachine.engine.source import Pulse
from statemachine.errors import ClusterError, LogError

if TYPE_CHECKING:
    from jobledger.wiring.controller import Controller

PATIENCE: Final = 60.0
"""Seconds that a loop may have the same work in hand."""

READER: Final = "health"
"""The name under which a checkpoint is saved, to see that the log takes a write."""

_WRITE: Final = 5.0
_STANDBY: Final = "standby: "


class Leadership(Protocol):
    """The part of a lease that health speaks of."""

    is_held: bool
    error: str
    tries: int

    @property
    def holder(self) -> str:
        """Who has it; empty if nobody is known to."""


class KindWatch(Protocol):
    """The watch of one kind; `error` says why it cannot go on at the moment."""

    kind: str
    error: str


@runtime_checkable
class Watching(Protocol):
    """A cluster that is watched kind by kind."""

    @property
    def watches(self) -> Sequence[KindWatch]:
        """All of them."""


class HealthReport(NamedTuple):
    """What keeps the process from serving, and what else there is to know, a sentence each."""

    troubles: list[str]
    notes: list[str]

    @property
    def status(self) -> str:
        """`ok`, `not ready`, or `standby`: there to take over."""
        if self.troubles:
            return "not ready"
        return "standby" if any(note.startswith(_STANDBY) for note in self.notes) else "ok"


class Stall:
    """Notices loops that are busy with one and the same thing for `PATIENCE` seconds; `clock` is monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, tuple[int, float]] = {}

    def look(self, pulses: Mapping[str, Pulse]) -> list[str]:
        """The loops that do not get on, a sentence each. To be asked now and then: that is when it learns."""
        now = self._clock()
        before, self._since = self._since, {}
        stalls = []
        for name, pulse in pulses.items():
            if not pulse.busy:
                continue
            beats, since = before.get(name, (pulse.beats, now))
            self._since[name] = (beats, since) if beats == pulse.beats else (pulse.beats, now)
            stuck = now - self._since[name][1]
            if stuck > PATIENCE:
                stalls.append(f"the loop of {name} has made no progress for {stuck:.0f} s")
        return stalls


class Health:
    """The health of a process: of its `controller`, once there is one, and of its `lease`, if it needs one."""

    def __init__(self, controller: "Controller | None" = None) -> None:
        self.controller = controller
        self.lease: Leadership | None = None
        self.waits_for = ""
        """Why the controller cannot begin yet; empty if nothing keeps it from that."""
        self._stall = Stall()

    def stuck(self) -> list[str]:
        """The loops that do not get on: restarting the process may help."""
        pulses = self.controller.pulses() if self.controller else {}
        if self.lease is not None:
            pulses["lease"] = Pulse(self.lease.tries, busy=True)
        return self._stall.look(pulses)

    async def readiness(self) -> HealthReport:
        """Whether the process may serve. One that waits for its turn may: it is there to take over."""
        troubles, notes = self._turn()
        controller = self.controller  # it may be another one before the log has answered
        if controller is not None:
            troubles += self._loops(controller)
            troubles += await self._write(controller)
            if not troubles:
                notes += _failing(controller)
            if controller.ledger.check is not None and controller.ledger.check.trouble:
                notes.append(controller.ledger.check.trouble)
            notes += [f"the view {name} waits: {why}" for name, why in controller.waits.items()]
        elif not troubles and not notes:
            troubles.append(self.waits_for or "the controller is starting")
        return HealthReport(troubles, notes)

    def _turn(self) -> tuple[list[str], list[str]]:
        lease = self.lease
        if lease is None or lease.is_held:
            return [], []
        if lease.error:
            return [f"the lease cannot be had: {lease.error}"], []
        if lease.holder:
            return [], [f"{_STANDBY}{lease.holder} has the lease"]
        return ["the lease has not been asked for yet"], []

    def _loops(self, controller: "Controller") -> list[str]:
        reasons = []
        if controller.log_error:
            reasons.append(f"the log cannot be reached: {controller.log_error}")
        if controller.engine.worker is not None:
            reasons += controller.engine.worker.report().stalls
        standby = self.lease is not None and not self.lease.is_held
        bridge = controller.bridge
        if (
            controller.bridge_role is not None
            and not standby
            and (bridge is None or not bridge.progress.synced)
        ):
            why = [bridge.progress.error] if bridge and bridge.progress.error else _failing(controller)
            reasons.append(": ".join(["the cluster has not been listed yet", *why[:1]]))
        return reasons

    async def _write(self, controller: "Controller") -> list[str]:
        try:
            async with asyncio.timeout(_WRITE):
                for event_log in controller.ledger.partitions.logs[:1]:
                    await event_log.save_checkpoint(READER, 0)
        except TimeoutError:
            return [f"the log has not taken a write for {_WRITE:.0f} s"]
        except (LogError, ClusterError) as error:
            return [f"the log cannot be written: {error}"]
        return []


def _failing(controller: "Controller") -> list[str]:
    """The watches that cannot go on at the moment, and why."""
    if not isinstance(controller.cluster, Watching):
        return []
    return [
        f"the watch of {watch.kind} waits: {watch.error}"
        for watch in controller.cluster.watches
        if watch.error
    ]
