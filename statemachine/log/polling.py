"""How often to look for what nobody tells: another process has written something."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from statemachine.ids import Position
from statemachine.log.port import EventLog, Followed

_SHORTEST: Final = 0.01
_LONGEST: Final = 0.05
_GROWTH: Final = 1.2


class Polling:
    """Seconds to wait between looks: few while there is news, for that comes in bursts, more when it is quiet.

    `longest`: how many at most.
    """

    def __init__(self, longest: float = _LONGEST) -> None:
        self._wait, self._longest = _SHORTEST, longest

    def after(self, *, news: bool) -> float:
        """Seconds to the next look, after one that found `news` or did not."""
        self._wait = _SHORTEST if news else min(self._longest, self._wait * _GROWTH)
        return self._wait


async def polled(log: EventLog, after: Position) -> AsyncIterator[Followed]:
    """`EventLog.follow` for a log that tells nobody when it grows."""
    polling = Polling()
    while True:
        before = after
        async for batch in log.scan(after):
            after = batch[-1].position
            yield Followed(batch, after)
        news = after != before
        if not news:
            yield Followed((), after)
        await asyncio.sleep(polling.after(news=news))
