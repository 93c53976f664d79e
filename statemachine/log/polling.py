"""How often to poll a log that does not announce what another process has written."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from statemachine.ids import Position
from statemachine.log.port import EventLog, NewRecords

_SHORTEST: Final = 0.01
_LONGEST: Final = 0.05
_GROWTH: Final = 1.2


class Polling:
    """Seconds to wait between polls: few after new records, which come in bursts, more in quiet times.

    `longest`: the most seconds.
    """

    def __init__(self, longest: float = _LONGEST) -> None:
        self._wait, self._longest = _SHORTEST, longest

    def after(self, *, news: bool) -> float:
        """Seconds to the next poll, after one with or without `news`."""
        self._wait = _SHORTEST if news else min(self._longest, self._wait * _GROWTH)
        return self._wait


async def polled(log: EventLog, after: Position) -> AsyncIterator[NewRecords]:
    """`EventLog.follow` for a log that does not announce new records."""
    polling = Polling()
    while True:
        before = after
        async for batch in log.scan(after):
            after = batch[-1].position
            yield NewRecords(batch, after)
        news = after != before
        if not news:
            yield NewRecords((), after)
        await asyncio.sleep(polling.after(news=news))
