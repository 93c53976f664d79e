"""How often to look for what nobody tells: another process has written something."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from statemachine.ids import Position

if TYPE_CHECKING:
    from statemachine.log.port import EventLog, Record

_SHORTEST: Final = 0.01
_LONGEST: Final = 0.05
_GROWTH: Final = 1.2


class Polling:
    """Seconds to wait between looks: few while there is news, for that comes in bursts, more when it is quiet."""

    def __init__(self) -> None:
        self._wait = _SHORTEST

    def after(self, *, news: bool) -> float:
        """Seconds to the next look, after one that found `news` or did not."""
        self._wait = _SHORTEST if news else min(_LONGEST, self._wait * _GROWTH)
        return self._wait


async def polled(log: "EventLog", after: Position) -> AsyncIterator[Sequence["Record"]]:
    """`EventLog.follow` for a log that tells nobody when it grows."""
    polling = Polling()
    while True:
        before = after
        async for batch in log.scan(after):
            yield batch
            after = batch[-1].position
        news = after != before
        if not news:
            yield ()
        await asyncio.sleep(polling.after(news=news))
