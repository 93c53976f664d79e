"""What leads from one process of simulated time to another: a log that says when it grows, and an inbox.

Processes that follow a file look into it every few hundredths of a second. On simulated time that would be most of
the work; so here a process that looks sleeps until there is something, and then for as long as it might have slept.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

from statemachine.errors import LogUnavailable
from statemachine.ids import Position
from statemachine.log.inbox import MemoryInbox, Taken
from statemachine.log.port import EntryDraft, NewRecords, Record
from statemachine.observations import Observation
from tests.support.faults import FaultyLog, Life
from tests.support.memory_log import MemoryLog

_BETWEEN_LOOKS: Final = 0.05


class Bell:
    """Wakes everybody who waits, once for each ring."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """There is something new."""
        self._rung.set()
        self._rung = asyncio.Event()

    async def wait(self) -> None:
        """It was rung after this was called."""
        await self._rung.wait()


class TellingLog(MemoryLog):
    """A log in memory that rings when it grows."""

    def __init__(self) -> None:
        super().__init__()
        self.bell = Bell()

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        """See EventLog."""
        records = await super().append(drafts)
        self.bell.ring()
        return records


class FollowedLog(FaultyLog):
    """The log as one life sees it that does not write it."""

    def __init__(self, log: TellingLog, life: Life) -> None:
        super().__init__(log, life)
        self._bell = log.bell

    async def follow(self, after: Position = 0) -> AsyncIterator[NewRecords]:
        """See EventLog. The end of the log is compared first: a ring in between is not missed."""
        while True:
            async for batch in self.scan(after):
                after = batch[-1].position
                yield NewRecords(batch, after)
            if await self.end() == after:
                yield NewRecords((), after)
                if await self._log.end() == after:
                    await self._bell.wait()
            await asyncio.sleep(self._weather.chance.uniform(0, _BETWEEN_LOOKS))


class TellingInbox(MemoryInbox):
    """An inbox in memory that rings when something is put into it."""

    def __init__(self) -> None:
        super().__init__()
        self.bell = Bell()

    async def put(self, observations: Sequence[Observation]) -> None:
        """See Inbox."""
        await super().put(observations)
        self.bell.ring()


class FaultyInbox:
    """The inbox as one life sees it: it is in the same file as the log, and away when that is."""

    def __init__(self, inbox: TellingInbox, life: Life) -> None:
        self._inbox, self._life, self._weather = inbox, life, life.weather
        self._is_known_empty = False

    async def _meet(self, point: str = "") -> None:
        await self._life.travel(point)
        down = asyncio.get_running_loop().time() < self._weather.log_down_until
        if down or self._weather.strikes("log_fails"):
            self._life.pass_by("after the inbox did not answer")
            raise LogUnavailable("the inbox does not answer")

    async def put(self, observations: Sequence[Observation]) -> None:
        """See Inbox."""
        await self._meet("before put")
        await self._inbox.put(observations)
        await self._life.travel("after put")
        if self._weather.strikes("inbox_lost_reply"):
            self._life.pass_by("after a lost reply of the inbox")
            raise LogUnavailable("the outcome of the transaction is unknown")

    async def take(self, limit: int) -> Taken:
        """See Inbox. A caller that asks an empty one again waits until it is not."""
        await self._meet("before take")
        if self._is_known_empty and not await self._inbox.waiting():
            await self._inbox.bell.wait()
            await self._life.thawed()
        taken = await self._inbox.take(limit)
        self._is_known_empty = not taken.posts
        self._life.check()
        self._life.pass_by("after take")
        return taken

    async def ack(self, token: int) -> None:
        """See Inbox."""
        await self._meet("before ack")
        await self._inbox.ack(token)
        await self._life.travel("after ack")

    async def waiting(self) -> int:
        """See Inbox."""
        await self._meet()
        return await self._inbox.waiting()
