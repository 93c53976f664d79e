"""The engine of a log: a queue in front of the owner, timers of jobs, and listeners for entries."""

import asyncio
import logging
from collections import Counter
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

_BATCH: Final = 256
"""The most observations decided in one go: bounds the time for which a batch blocks the loop (some 15 ms)."""

_QUEUE: Final = 4096
_SNAPSHOT_EVERY: Final = 2000
"""Entries after which changed states are saved: start-up folds at most so many (20 ms)."""

_RETRY: Final = 0.2
"""Seconds between attempts while the log cannot be written."""

_Asker = asyncio.Future[None]
"""Stands in the queue, and is done when everything before it is in the log."""


class Engine:
    """A Source: takes observations from anywhere in the process and makes the log follow them.

    With a `check` timers fire only while the clock can be trusted. `stamps`: the log stamps what it is given with its
    own time, so the engine can save states to compare clocks while the log is idle.
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
        self._log = event_log
        self._owner = owner
        self._queue: asyncio.Queue[Observation | _Asker] = asyncio.Queue(_QUEUE)
        self._waiting: Counter[JobUid] = Counter()
        """The number of observations of each job in the queue, or being decided."""
        self._askers: set[_Asker] = set()
        self._in_hand: set[JobUid] = set()
        """The jobs of the batch that is being decided; the batch may come from an inbox instead of the queue."""
        self._deciding = asyncio.Lock()
        self._timers = Timers(clock, self.observe, check, *((self._stamp,) if stamps else ()))
        self._entries = 0
        self._beats = 0
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Callable[[Observation], None]] = []
        self.log_error = ""
        """Why the log cannot be written at the moment; empty while it can."""

    async def observe(self, observation: Observation) -> None:
        """Puts `observation` into the queue; waits while that is full.

        A crash may lose it: then the bridge observes the same again after the restart.
        """
        self._waiting[observation.job] += 1
        try:
            await self._queue.put(observation)
        except asyncio.CancelledError:
            self._forget(observation.job)
            raise

    async def start(self) -> None:
        """Recovers the states from snapshots and the records behind them, and sets timers."""
        await self._owner.reader.recover(self._log)
        reader = self._owner.reader
        for job in reader.open_jobs:
            self._timers.sync(job, reader.tracked(job).state.timers, {})

    async def run(self) -> None:
        """Decides, for ever. A cancelled batch is in the log whole, or not at all."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._timers.run(), name="timers")
            tasks.create_task(self._decide(), name="engine")

    async def _decide(self) -> None:
        while True:
            taken = [await self._queue.get()]
            while len(taken) < _BATCH and not self._queue.empty():
                taken.append(self._queue.get_nowait())
            batch = [Delivery(item) for item in taken if not isinstance(item, asyncio.Future)]
            while batch and not await self.decided(batch):  # noqa: ASYNC110 - a log does not announce its return
                await asyncio.sleep(_RETRY)
            for item in taken:
                self._taken(item)

    def _taken(self, item: "Observation | _Asker") -> None:
        self._queue.task_done()
        if not isinstance(item, asyncio.Future):
            self._forget(item.job)
        elif not item.done():
            item.set_result(None)

    def _forget(self, job: JobUid) -> None:
        self._waiting[job] -= 1
        if not self._waiting[job]:
            del self._waiting[job]

    async def decided(self, batch: Sequence[Delivery]) -> bool:
        """Decides the batch. False if the log cannot be written now; then it has nothing of the batch.

        Raises OwnerLost.
        """
        async with self._deciding:
            self._in_hand = {delivery.observation.job for delivery in batch}
            try:
                folded = await self._owner.take(batch)
            except LogUnavailable as error:
                self._unavailable(error)
                return False
            finally:
                self._beats += 1
                self._in_hand = set()
            self.log_error = ""
            self._announce(folded)
            for observation in self._owner.silent:
                for silent_listener in self.silent_listeners:
                    silent_listener(observation)
            await self._snapshot(len(folded))
            return True

    def _unavailable(self, error: LogUnavailable) -> None:
        if not self.log_error:
            fields = {"action": "log-unavailable", "error": str(error)}
            log.warning("the log cannot be written, decisions wait", extra=fields)
        self.log_error = str(error)
        for asker in self._askers:
            if not asker.done():
                asker.set_exception(LogUnavailable(self.log_error))

    def _announce(self, folded: Sequence[Folded]) -> None:
        for entry in folded:
            self._timers.sync(entry.record.job, entry.state.timers, entry.before.timers)
            for listener in self.listeners:
                listener(entry)

    async def _stamp(self) -> None:
        """Saves states, which shows the log's time."""
        async with self._deciding:
            await self.save()

    async def _snapshot(self, entries: int) -> None:
        self._entries += entries
        if self._entries >= _SNAPSHOT_EVERY:
            await self.save()

    async def fresh(self, job: JobUid) -> None:
        """Everything observed of `job` so far is in the log, and so in its state. Raises LogUnavailable.

        A batch that is being written counts, too: the log may have it before this process knows.
        """
        if self._waiting[job]:
            await self._queue_taken()
        elif job in self._in_hand:  # a batch from an inbox
            async with self._deciding:
                pass
            self._check_log()

    async def _queue_taken(self) -> None:
        """Waits until what is in the queue now is in the log. Raises LogUnavailable."""
        self._check_log()
        asker: _Asker = asyncio.get_running_loop().create_future()
        self._askers.add(asker)
        try:
            await self._queue.put(asker)
            await asker
        finally:
            self._askers.discard(asker)

    def _check_log(self) -> None:
        if self.log_error:
            raise LogUnavailable(self.log_error)

    async def finish(self) -> None:
        """Waits until everything observed so far is in the log; returns at once if that cannot be written now."""
        if not self.log_error:
            await self._queue.join()

    def pulses(self) -> dict[str, Pulse]:
        """The progress of the loop that decides; timers only wait."""
        return {"engine": Pulse(self._beats, self._deciding.locked())}

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
