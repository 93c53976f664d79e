"""The states of jobs in a process that does not decide: it reads the log, and sends observations to the engine."""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from statemachine.engine.source import Listener, Pulse
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.inbox import Outbox
from statemachine.log.partitions import first
from statemachine.log.port import EventLog, Record
from statemachine.log.reader import Reader
from statemachine.observations import Observation

log = logging.getLogger(__name__)

_BATCH: Final = 256
_QUEUE: Final = 4096
_RETRY: Final = 0.2


class Follower:
    """A Source over logs that other processes write, each with a reader that only this follower advances.

    `silent_listeners` are never called: only an engine knows which observations changed nothing.
    """

    def __init__(
        self,
        followed: Sequence[tuple[EventLog, Reader]],
        outbox: Outbox,
        number_of: Callable[[JobUid], int] = first,
    ) -> None:
        self._reads = [_Read(*pair) for pair in followed]
        self._number_of = number_of
        self._outbox = outbox
        self._queue: asyncio.Queue[Observation] = asyncio.Queue(_QUEUE)
        self._sending = False
        self._sent = 0
        self._send_error = ""
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Callable[[Observation], None]] = []
        self.refused_listeners: list[Callable[[], None]] = []
        """Called for a record that the reader does not accept: streams have to pass it, too."""

    @property
    def log_error(self) -> str:
        """Why a log cannot be read, or observations cannot be sent; empty while both work."""
        return next((read.error for read in self._reads if read.error), self._send_error)

    @property
    def unread(self) -> Mapping[int, int]:
        """By number of the log, how many more records it is known to have than were read."""
        return {number: read.behind for number, read in enumerate(self._reads)}

    async def observe(self, observation: Observation) -> None:
        """Puts `observation` into the queue; waits while that is full.

        A crash may lose it: then the bridge observes the same again after the restart.
        """
        await self._queue.put(observation)

    async def start(self) -> None:
        """Recovers the states from snapshots and the records behind them."""
        for read in self._reads:
            await read.reader.recover(read.log)
            read.reader.leave_saving()

    async def run(self) -> None:
        """Reads and sends, for ever."""
        async with asyncio.TaskGroup() as tasks:
            for read in self._reads:
                tasks.create_task(read.follow(self._announce), name="follower")
            tasks.create_task(self._send(), name="outbox")

    async def fresh(self, job: JobUid) -> None:
        """The states hold what was in the partition of `job` at the time of the call. Raises LogUnavailable."""
        await self._reads[self._number_of(job)].catch_up()

    async def finish(self) -> None:
        """Waits until everything observed so far is sent; returns at once if that is impossible now."""
        if not self.log_error:
            await self._queue.join()

    async def save(self) -> None:
        """Does nothing: the engine saves states."""

    def pulses(self) -> dict[str, Pulse]:
        """The progress of the slowest loop that reads a log, and of the one that sends."""
        return {
            # a log that does not grow gives an empty batch, now and then
            "follower": Pulse(min((read.beats for read in self._reads), default=0), busy=True),
            "outbox": Pulse(self._sent, self._sending),
        }

    def _announce(self, reader: Reader, batch: Sequence[Record]) -> None:
        """Folds new records of a log, and calls the listeners."""
        for record in batch:
            if (folded := reader.accept(record)) is not None:
                for listener in self.listeners:
                    listener(folded)
            else:
                for refused in self.refused_listeners:
                    refused()
        reader.leave_saving()

    async def _send(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            self._sending = True
            while error := await self._put(batch):
                self._send_error = error
                await asyncio.sleep(_RETRY)
            self._sending, self._send_error = False, ""
            for _ in batch:
                self._queue.task_done()

    async def _put(self, batch: list[Observation]) -> str:
        """Sends the batch. Returns why that is impossible, or an empty text."""
        try:
            await self._outbox.put(batch)
        except LogUnavailable as error:
            return _unreached(error, self._send_error)
        finally:
            self._sent += 1
        return ""


class _Read:
    """One log that is followed."""

    def __init__(self, event_log: EventLog, reader: Reader) -> None:
        self.log, self.reader = event_log, reader
        self.beats = 0
        self.error = ""
        self.behind = 0
        self._reached: Position = 0
        self._news = asyncio.Event()
        self._looking = asyncio.Lock()
        self._looked = -math.inf

    async def catch_up(self) -> None:
        """Waits until everything in the log is announced. Calls during a look at its end share the next look."""
        called = asyncio.get_running_loop().time()
        async with self._looking:
            if self._looked >= called:
                return
            begun = asyncio.get_running_loop().time()
            await self._reach(await self.log.end())
            self._looked = begun

    async def _reach(self, end: Position) -> None:
        while max(self._reached, self.reader.position) < end:
            if self.error:
                raise LogUnavailable(self.error)
            await self._news.wait()

    async def follow(self, announce: Callable[[Reader, Sequence[Record]], None]) -> None:
        """Announces what is new in the log, for ever."""
        while True:
            try:
                async for batch, position, behind in self.log.follow(self.reader.position):
                    announce(self.reader, batch)
                    self.error, self._reached, self.behind = "", position, behind
                    self._look_up()
            except LogUnavailable as error:
                self.error = _unreached(error, self.error)
            self._look_up()
            await asyncio.sleep(_RETRY)

    def _look_up(self) -> None:
        """Wakes those who wait for records, to check for theirs."""
        self.beats += 1
        self._news.set()
        self._news.clear()


def _unreached(error: LogUnavailable, before: str) -> str:
    """The text of an error, which is logged once, not at every attempt."""
    if not before:
        fields = {"action": "log-unavailable", "error": str(error)}
        log.warning("the log cannot be reached, views wait", extra=fields)
    return str(error)
