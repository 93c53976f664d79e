"""The states of jobs in a process that does not decide: it reads the log, and sends what it notices to who does."""

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
    """A Source over logs that others write, each with the reader that follows it and that nobody else advances.

    `silent_listeners` are never called: only who decides knows what changed nothing.
    """

    def __init__(
        self,
        followed: Sequence[tuple[EventLog, Reader]],
        outbox: Outbox,
        number_of: Callable[[JobUid], int] = first,
    ) -> None:
        self._reads = [_Read(*each) for each in followed]
        self._number_of = number_of
        self._outbox = outbox
        self._queue: asyncio.Queue[Observation] = asyncio.Queue(_QUEUE)
        self._sending = False
        self._sent = 0
        self._send_error = ""
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Callable[[Observation], None]] = []
        self.refused_listeners: list[Callable[[], None]] = []
        """Called when the log has grown by a record that is not accepted: streams have to pass it, too."""

    @property
    def log_error(self) -> str:
        """Why a log cannot be read, or nothing be sent; empty while all can."""
        return next((each.error for each in self._reads if each.error), self._send_error)

    @property
    def unread(self) -> Mapping[int, int]:
        """By number of the log, how far it is known to go on behind what was read."""
        return {number: each.behind for number, each in enumerate(self._reads)}

    async def observe(self, seen: Observation) -> None:
        """`seen` is in the queue; waits while that is full.

        It is sent, or is lost in a crash, after which whoever noticed it notices it again.
        """
        await self._queue.put(seen)

    async def start(self) -> None:
        """States are recovered from snapshots and the tail."""
        for each in self._reads:
            await each.reader.recover(each.log)
            each.reader.leave_saving()

    async def run(self) -> None:
        """Reads and sends, for ever."""
        async with asyncio.TaskGroup() as tasks:
            for each in self._reads:
                tasks.create_task(each.follow(self._tell), name="follower")
            tasks.create_task(self._send(), name="outbox")

    async def fresh(self, job: JobUid) -> None:
        """The states hold what was in the partition of `job` when this was asked. Raises LogUnavailable."""
        await self._reads[self._number_of(job)].catch_up()

    async def finish(self) -> None:
        """Everything observed so far was sent; returns at once if that is impossible now."""
        if not self.log_error:
            await self._queue.join()

    async def save(self) -> None:
        """The states are the engine's to save."""

    def pulses(self) -> dict[str, Pulse]:
        """The loop of the log that was heard of least, and the one that sends."""
        return {
            # also a log that does not grow says so, now and then
            "follower": Pulse(min((each.beats for each in self._reads), default=0), busy=True),
            "outbox": Pulse(self._sent, self._sending),
        }

    def _tell(self, reader: Reader, batch: Sequence[Record]) -> None:
        """Everybody has been told what is new in a log."""
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
        """The batch was sent; why not, if not."""
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
        """Everything is told that is in the log now. Who asks while somebody looks shares the next look."""
        asked = asyncio.get_running_loop().time()
        async with self._looking:
            if self._looked >= asked:
                return
            begun = asyncio.get_running_loop().time()
            await self._reach(await self.log.end())
            self._looked = begun

    async def _reach(self, end: Position) -> None:
        while max(self._reached, self.reader.position) < end:
            if self.error:
                raise LogUnavailable(self.error)
            await self._news.wait()

    async def follow(self, tell: Callable[[Reader, Sequence[Record]], None]) -> None:
        """What is new in the log is told, for ever."""
        while True:
            try:
                async for batch, position, behind in self.log.follow(self.reader.position):
                    tell(self.reader, batch)
                    self.error, self._reached, self.behind = "", position, behind
                    self._look_up()
            except LogUnavailable as error:
                self.error = _unreached(error, self.error)
            self._look_up()
            await asyncio.sleep(_RETRY)

    def _look_up(self) -> None:
        """Whoever waits for news looks whether it is what it waits for."""
        self.beats += 1
        self._news.set()
        self._news.clear()


def _unreached(error: LogUnavailable, before: str) -> str:
    """What is wrong; it is logged once, not at every attempt."""
    if not before:
        fields = {"action": "log-unavailable", "error": str(error)}
        log.warning("the log cannot be reached, views wait", extra=fields)
    return str(error)
