"""The engine of a log: a queue in front of the owner, its timers, and who is told of entries."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from statemachine.engine.clock import Clock
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Listener, Pulse
from statemachine.engine.step import Owner, Seen
from statemachine.engine.timers import Timers
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid
from statemachine.log.port import EventLog
from statemachine.log.reader import Folded
from statemachine.observations import Observation

log = logging.getLogger(__name__)

_BATCH: Final = 256
"""Most observations decided in one go: bounds the time a batch holds up the loop (some 15 ms)."""

_QUEUE: Final = 4096
_SNAPSHOT_EVERY: Final = 2000
"""Entries after which changed states are saved: start-up folds at most so many (20 ms)."""

_RETRY: Final = 0.2
"""Seconds between attempts while the log cannot be written."""

_Asker = asyncio.Future[None]
"""Somebody who waits until what stood before it in the queue is in the log."""


class Engine:
    """A Source: takes observations from anywhere in the process and makes the log follow them.

    With a `check` its timers fire only while the clock can be trusted. `stamps`: what the log is given is compared
    with it, so an idle log can be asked.
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
        """How many observations of each job are in the queue, or in hand."""
        self._askers: set[_Asker] = set()
        self._in_hand: set[JobUid] = set()
        """The jobs of the batch that is being decided; it may come from an inbox instead of the queue."""
        self._deciding = asyncio.Lock()
        self._timers = Timers(clock, self.observe, check, *((self._stamp,) if stamps else ()))
        self._entries = 0
        self._beats = 0
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Callable[[Observation], None]] = []
        self.log_error = ""
        """Why the log cannot be written at the moment; empty while it can."""

    async def observe(self, seen: Observation) -> None:
        """`seen` is in the queue; waits while that is full.

        It reaches the owner, or is lost in a crash, after which whoever noticed it notices it again.
        """
        self._waiting[seen.job] += 1
        try:
            await self._queue.put(seen)
        except asyncio.CancelledError:
            self._forget(seen.job)
            raise

    async def start(self) -> None:
        """States are recovered from snapshots and the tail; timers are set."""
        await self._owner.reader.recover(self._log)
        reader = self._owner.reader
        for job in reader.open_jobs:
            self._timers.sync(job, reader.tracked(job).state.timers, {})

    async def run(self) -> None:
        """Decides, for ever. A batch that a cancellation meets is in the log whole, or not at all."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._timers.run(), name="timers")
            tasks.create_task(self._decide(), name="engine")

    async def _decide(self) -> None:
        while True:
            taken = [await self._queue.get()]
            while len(taken) < _BATCH and not self._queue.empty():
                taken.append(self._queue.get_nowait())
            batch = [Seen(each) for each in taken if not isinstance(each, asyncio.Future)]
            while batch and not await self.decided(batch):  # noqa: ASYNC110 - nobody says when the log is back
                await asyncio.sleep(_RETRY)
            for each in taken:
                self._taken(each)

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

    async def decided(self, batch: Sequence[Seen]) -> bool:
        """The batch is in the log; False: it cannot be written now, and nothing of the batch is in it.

        Raises OwnerLost.
        """
        async with self._deciding:
            self._in_hand = {each.observation.job for each in batch}
            try:
                folded = await self._owner.take(batch)
            except LogUnavailable as error:
                self._unavailable(error)
                return False
            finally:
                self._beats += 1
                self._in_hand = set()
            self.log_error = ""
            self._tell(folded)
            for each in self._owner.silent:
                for silent_listener in self.silent_listeners:
                    silent_listener(each)
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

    def _tell(self, folded: Sequence[Folded]) -> None:
        for each in folded:
            self._timers.sync(each.record.job, each.state.timers, each.before.timers)
            for listener in self.listeners:
                listener(each)

    async def _stamp(self) -> None:
        """States are saved, which has the log say what time it is."""
        async with self._deciding:
            await self.save()

    async def _snapshot(self, entries: int) -> None:
        self._entries += entries
        if self._entries >= _SNAPSHOT_EVERY:
            await self.save()

    async def fresh(self, job: JobUid) -> None:
        """Everything observed of `job` so far is in the log, and so in its state. Raises LogUnavailable.

        An entry that is on its way into the log may be there already, when nobody knows it yet.
        """
        if self._waiting[job]:
            await self._queue_taken()
        elif job in self._in_hand:  # a batch from an inbox
            async with self._deciding:
                pass
            self._check_log()

    async def _queue_taken(self) -> None:
        """What is in the queue now is in the log. Raises LogUnavailable."""
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
        """Everything observed so far is in the log; returns at once if that cannot be written now."""
        if not self.log_error:
            await self._queue.join()

    def pulses(self) -> dict[str, Pulse]:
        """The loop that decides; timers only wait."""
        return {"engine": Pulse(self._beats, self._deciding.locked())}

    async def save(self) -> None:
        """Every state that changed since the last time is saved, so that the next start is quick.

        They are a cache: if the log does not take them now, it will be given them the next time.
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
