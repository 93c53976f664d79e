"""Inbox → engine: the engine decides the observations of other processes; they are acknowledged once durable.

After a crash in between they are delivered again, and a duplicate changes nothing (design rule 3).
"""

import asyncio
import logging
from typing import Final

from statemachine.engine.clock import Clock
from statemachine.engine.embedded import Engine
from statemachine.engine.source import Pulse
from statemachine.engine.step import Delivery
from statemachine.errors import EntryUnreadable, LogUnavailable
from statemachine.log.codec import decode_observation
from statemachine.log.inbox import Inbox, Post
from statemachine.log.polling import Polling
from statemachine.log.port import DeadLetter, EventLog
from statemachine.observations import Observation

log = logging.getLogger(__name__)

_BATCH: Final = 256
_RETRY: Final = 0.2


class Drain:
    """Empties `inbox` into `engine`; unreadable observations go to the dead letters of `event_log`.

    `polling` says how often to read the inbox, by default as often as another process may write to it.
    """

    def __init__(
        self, inbox: Inbox, engine: Engine, event_log: EventLog, clock: Clock, polling: Polling | None = None
    ) -> None:
        self._inbox, self._engine, self._log, self._clock = inbox, engine, event_log, clock
        self._polling = polling or Polling()
        self._beats = 0
        self._busy = False

    async def empty(self) -> None:
        """Decides everything that was put before. Raises LogUnavailable."""
        while (await self._inbox.take(1)).posts:  # noqa: ASYNC110 - the step does the work
            await asyncio.sleep(await self._step())

    async def run(self) -> None:
        """Takes, decides and acknowledges observations, until it is cancelled."""
        while True:
            self._busy = True
            try:
                wait = await self._step()
            except LogUnavailable as error:
                fields = {"action": "retry", "error": str(error)}
                log.warning("the inbox cannot be read or written now", extra=fields)
                wait = _RETRY
            self._busy = False
            self._beats += 1
            await asyncio.sleep(wait)

    def pulse(self) -> Pulse:
        """The loop's progress."""
        return Pulse(self._beats, self._busy)

    async def _step(self) -> float:
        """Moves a batch from the inbox into the log. Returns the seconds until the next read."""
        taken = await self._inbox.take(_BATCH)
        if not taken.posts:
            return self._polling.after(news=False)
        readable = [
            Delivery(observation)
            for post in taken.posts
            if (observation := await self._read(post)) is not None
        ]
        if not await self._engine.decided(readable):
            return _RETRY
        await self._inbox.ack(taken.token)
        return 0.0 if len(taken.posts) == _BATCH else self._polling.after(news=True)

    async def _read(self, post: Post) -> Observation | None:
        """The observation; None if it is unreadable, and now a dead letter."""
        try:
            return decode_observation(post.body)
        except EntryUnreadable as error:
            fields = {"action": "dead-letter", "job": post.job}
            log.exception("an observation cannot be read", extra=fields)
            letter = DeadLetter(self._clock.now(), post.job, post.body, error.reason)
            await self._log.add_dead_letter(letter)
            return None
