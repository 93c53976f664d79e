"""The engine of a log: a queue in front of its decisions."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Final

from statemachine.engine.clock import Clock
from statemachine.engine.decisions import Decisions
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Pulse
from statemachine.engine.step import Delivery, Owner
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid
from statemachine.log.port import EventLog
from statemachine.observations import Observation

_BATCH: Final = 256
"""The most observations decided in one go: bounds the time for which a batch blocks the loop (some 15 ms)."""

_QUEUE: Final = 4096
_RETRY: Final = 0.2
"""Seconds between attempts while the log cannot be written."""

_OTHERS: Final = 30.0
"""Seconds between two reads of what another process has written that was believed dead, or believes this one so."""

_Asker = asyncio.Future[None]
"""Stands in the queue, and is done when everything before it is in the log."""


class Engine(Decisions):
    """A Source: takes observations from anywhere in the process and makes the log follow them."""

    def __init__(
        self, event_log: EventLog, owner: Owner, clock: Clock, check: ClockCheck | None = None
    ) -> None:
        super().__init__(event_log, owner, clock, check)
        self._queue: asyncio.Queue[Observation | _Asker] = asyncio.Queue(_QUEUE)
        self._waiting: Counter[JobUid] = Counter()
        """The number of observations of each job in the queue, or being decided."""
        self._askers: set[_Asker] = set()

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

    async def run(self) -> None:
        """Decides, for ever. A cancelled batch is in the log whole, or not at all."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._timers.run(), name="timers")
            tasks.create_task(self._decide(), name="engine")
            tasks.create_task(self._follow_others(), name="others")

    async def _follow_others(self) -> None:
        """Reads now and then what another owner has written: nothing here may ever be observed of it.

        Views and timers wait for an entry that was written after this owner had recovered, by one that was believed
        dead.
        """
        while True:
            await asyncio.sleep(_OTHERS)
            with suppress(LogUnavailable):
                await self._read_what_others_wrote()

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

    def _unavailable(self, error: LogUnavailable) -> None:
        super()._unavailable(error)
        for asker in self._askers:
            if not asker.done():
                asker.set_exception(LogUnavailable(self.log_error))

    async def fresh(self, job: JobUid) -> None:
        """Everything observed of `job` so far is in the log, and so in its state. Raises LogUnavailable.

        A batch that is being written counts, too: the log may have it before this process knows. So does what another
        process has written that believes this one dead: it may have asked for pods that this one would delete.
        """
        if self._waiting[job]:
            await self._queue_taken()
        elif job in self._in_hand:  # a batch from an inbox
            async with self._deciding:
                pass
            self._check_log()
        await self._read_what_others_wrote()

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
        """The progress of the loop that decides."""
        return {"engine": self.pulse()}
