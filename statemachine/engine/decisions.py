"""A batch of observations of one log becomes entries; timers, snapshots and listeners follow them."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

from statemachine.engine.clock import Clock
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Listener, Pulse
from statemachine.engine.step import Delivery, Owner
from statemachine.engine.timers import Timers
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid
from statemachine.log.port import EventLog
from statemachine.log.reader import Folded
from statemachine.observations import Observation

log = logging.getLogger(__name__)

_SNAPSHOT_EVERY: Final = 2000
"""Entries after which changed states are saved: start-up folds at most so many (20 ms)."""


class Decisions(ABC):
    """The log of `owner` follows what is decided, and `observe` gets what its timers say.

    `listeners` are called with every entry once it is durable and folded, `silent_listeners` with every observation
    that changed nothing. With a `check` timers fire only while the clock can be trusted. `stamps`: the log stamps
    what it is given with its own time, so states can be saved to compare clocks while the log is idle.
    """

    def __init__(
        self,
        event_log: EventLog,
        owner: Owner,
        clock: Clock,
        check: ClockCheck | None = None,
        *,
        stamps: bool = False,
    ) -> None:
        self._log, self._owner = event_log, owner
        self._in_hand: set[JobUid] = set()
        """The jobs of the batch that is being decided; the batch may come from an inbox."""
        self._deciding = asyncio.Lock()
        self._timers = Timers(clock, self.observe, check, *((self._stamp,) if stamps else ()))
        self._entries = 0
        self._beats = 0
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Callable[[Observation], None]] = []
        self.log_error = ""
        """Why the log cannot be written at the moment; empty while it can."""

    @abstractmethod
    async def observe(self, observation: Observation) -> None:
        """Has `observation` decided; waits while too many are to be."""

    async def start(self) -> None:
        """Recovers the states from snapshots and the records behind them, and sets timers."""
        reader = self._owner.reader
        await reader.recover(self._log)
        for job in reader.open_jobs:
            self._timers.sync(job, reader.tracked(job).state.timers, {})

    async def decided(self, batch: Sequence[Delivery]) -> bool:
        """Decides the batch. False if the log cannot be written now; then it has nothing of the batch.

        Raises OwnerLost.
        """
        async with self._deciding:
            self._in_hand = {delivery.observation.job for delivery in batch}
            try:
                entries = await self._owner.take(batch)
            except LogUnavailable as error:
                self._unavailable(error)
                return False
            finally:
                self._beats += 1
                self._in_hand = set()
            self.log_error = ""
            self._announce(entries)
            await self._snapshot(len(entries))
            return True

    async def _read_what_others_wrote(self) -> None:
        """Folds the entries of another owner, unless a batch is in hand: that finds them. Raises LogUnavailable."""
        if self._log.is_exclusive or self._deciding.locked():
            return
        async with self._deciding:
            if await self._log.end() > self._owner.reader.position:
                self._announce(await self._owner.catch_up())

    def _unavailable(self, error: LogUnavailable) -> None:
        if not self.log_error:
            fields = {"action": "log-unavailable", "error": str(error)}
            log.warning("the log cannot be written, decisions wait", extra=fields)
        self.log_error = str(error)

    def _announce(self, entries: Sequence[Folded]) -> None:
        for folded in entries:
            self._timers.sync(folded.record.job, folded.state.timers, folded.before.timers)
            for listener in self.listeners:
                listener(folded)
        for observation in self._owner.silent:
            for silent_listener in self.silent_listeners:
                silent_listener(observation)

    def pulse(self) -> Pulse:
        """The progress of the decisions; timers only wait."""
        return Pulse(self._beats, self._deciding.locked())

    # ---- snapshots -----------------------------------------------------------------------------------------

    async def _stamp(self) -> None:
        """Saves states, which shows the log's time."""
        async with self._deciding:
            await self.save()

    async def _snapshot(self, entries: int) -> None:
        self._entries += entries
        if self._entries >= _SNAPSHOT_EVERY:
            await self.save()

    async def save(self) -> None:
        """Saves every state that changed since the last save, so that the next start is quick.

        Snapshots are a cache: if the log does not take them now, the next save has them.
        """
        self._entries = 0
        reader = self._owner.reader
        snapshots = reader.unsaved()
        try:
            await self._log.save_snapshots(reader.position, snapshots, reader.place)
        except LogUnavailable as error:
            log.warning("states were not saved", extra={"action": "snapshot", "error": str(error)})
        else:
            reader.saved(snapshots)
