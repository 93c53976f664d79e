"""The states of jobs in a process that does not decide: it reads the log, and sends what it notices to the inbox."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from statemachine.engine.polling import Polling
from statemachine.engine.source import Listener, Pulse
from statemachine.errors import LogUnavailable
from statemachine.log.inbox import Inbox
from statemachine.log.port import EventLog
from statemachine.log.reader import Reader
from statemachine.observations import Observation

log = logging.getLogger(__name__)

_BATCH: Final = 256
_QUEUE: Final = 4096
_RETRY: Final = 0.2


class Follower:
    """A Source over a log that another process writes; `reader` is advanced by nobody else.

    `silent_listeners` are never called: only who decides knows what changed nothing.
    """

    def __init__(self, event_log: EventLog, reader: Reader, inbox: Inbox) -> None:
        self._log, self._reader, self._inbox = event_log, reader, inbox
        self._queue: asyncio.Queue[Observation] = asyncio.Queue(_QUEUE)
        self._reading = self._sending = False
        self._read = self._sent = 0
        self._read_error = self._send_error = ""
        self._polling = Polling()
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Callable[[Observation], None]] = []

    @property
    def log_error(self) -> str:
        """Why the log cannot be read, or the inbox not be written; empty while both can."""
        return self._read_error or self._send_error

    async def observe(self, seen: Observation) -> None:
        """`seen` is in the queue; waits while that is full.

        It reaches the inbox, or is lost in a crash, after which whoever noticed it notices it again.
        """
        await self._queue.put(seen)

    async def start(self) -> None:
        """States are recovered from snapshots and the tail."""
        await self._reader.recover(self._log)

    async def run(self) -> None:
        """Reads and sends, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(), name="follower")
            tasks.create_task(self._send(), name="outbox")

    async def finish(self) -> None:
        """Everything observed so far is in the inbox; returns at once if that cannot be written now."""
        if not self.log_error:
            await self._queue.join()

    async def save(self) -> None:
        """The states are the engine's to save."""

    def pulses(self) -> dict[str, Pulse]:
        """The loop that reads, and the one that sends."""
        return {
            "follower": Pulse(self._read, self._reading),
            "outbox": Pulse(self._sent, self._sending),
        }

    async def _follow(self) -> None:
        while True:
            before = self._reader.position
            self._reading = True
            self._read_error = await self._catch_up()
            self._reading = False
            self._read += 1
            news = self._reader.position != before
            await asyncio.sleep(_RETRY if self._read_error else self._polling.after(news=news))

    async def _catch_up(self) -> str:
        """Everybody has been told what is new in the log; why not, if not."""
        try:
            async for folded in self._reader.catch_up(self._log):
                for listener in self.listeners:
                    listener(folded)
        except LogUnavailable as error:
            return self._unavailable(error)
        return ""

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
        """The batch is in the inbox; why not, if not."""
        try:
            await self._inbox.put(batch)
        except LogUnavailable as error:
            return self._unavailable(error)
        finally:
            self._sent += 1
        return ""

    def _unavailable(self, error: LogUnavailable) -> str:
        if not self.log_error:
            fields = {"action": "log-unavailable", "error": str(error)}
            log.warning("the log cannot be reached, views wait", extra=fields)
        return str(error)
