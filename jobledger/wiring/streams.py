"""The stream projectors, each behind a bell that rings when the log has grown."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from statemachine.engine.source import Pulse
from statemachine.errors import ClusterUnavailable, LogUnavailable, ViewUnavailable
from statemachine.ids import Position
from statemachine.log.reader import Reader

log = logging.getLogger(__name__)

_RETRY: Final = 1.0

_LOOK: Final = 30.0
"""Seconds until a view is looked at although its log has not grown: its database may have been put back."""


class Stream(Protocol):
    """A stream projector."""

    @property
    def name(self) -> str:
        """For metrics and logs."""

    async def advance(self) -> None:
        """The view is at the end of the log."""

    def forget(self) -> None:
        """Somebody else may bring the view on from now on: what is remembered of it may be wrong."""


@runtime_checkable
class Resuming(Protocol):
    """A stream projector that has to know the states of jobs where it goes on."""

    def stand_beside(self, reader: Reader) -> None:
        """What `reader`, which somebody else brings on, knows of the log need not be read once more."""


class Followed(NamedTuple):
    """A stream, how far its log is known, and whether it is this process's to bring on.

    `pace`, if any, returns when a stream that nobody waits for may go on.
    """

    stream: Stream
    end: Callable[[], Position]
    mine: Callable[[], bool]
    pace: Callable[[], Awaitable[None]] | None = None


class Streams:
    """Follows the log with every stream."""

    def __init__(self, streams: Sequence[Followed]) -> None:
        self._all = [_Follow(*followed) for followed in streams]

    def shared(self) -> None:
        """Other streams are this process's than before."""
        for follow in self._all:
            follow.grown.set()

    def grown(self) -> None:
        """A partition is longer than it was. Views of the others are left at rest."""
        for follow in self._all:
            if follow.is_behind():
                follow.grown.set()

    async def catch_up(self) -> None:
        """Every view is at the end of the log. For a controller that does not run (any more).

        A view whose database is away is left as it is: it catches up the next time.
        """
        for follow in self._all:
            await follow.advance(unless_away=True)

    def loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What is to run, by name."""
        for follow in self._all:
            yield follow.stream.name, follow.run()

    def lags(self) -> Mapping[str, int]:
        """How many entries each view has yet to see."""
        return {
            follow.stream.name: max(0, follow.end() - follow.reached) for follow in self._all if follow.mine()
        }

    def waits(self) -> Mapping[str, str]:
        """The streams that cannot go on at the moment, and why."""
        return {follow.stream.name: follow.waits for follow in self._all if follow.waits}

    def pulses(self) -> dict[str, Pulse]:
        """How the loops are doing."""
        return {follow.stream.name: Pulse(follow.beats, follow.busy) for follow in self._all}


class _Follow:
    """One stream projector."""

    def __init__(
        self,
        stream: Stream,
        end: Callable[[], Position],
        mine: Callable[[], bool],
        pace: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self.stream, self._pace = stream, pace
        self.reached: Position = 0
        self.end, self.mine = end, mine
        self.grown = asyncio.Event()
        self.beats = 0
        self.busy = False
        self.waits = ""
        """Why the view cannot be brought on at the moment; empty while it can."""
        self._is_away = False

    def is_behind(self) -> bool:
        """The view is this process's to bring on, and its log is longer than it was at the last look."""
        return self.mine() and self.reached < self.end()

    async def run(self) -> None:
        """The view is at the end of the log whenever that has grown, and now and then without."""
        while True:
            self.grown.clear()
            if self._pace is not None and self.mine():
                await self._pace()
            if self.mine():
                await self.advance()
            else:
                self.stream.forget()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await self.grown.wait()

    async def advance(self, *, unless_away: bool = False) -> None:
        """The view is at the end of the log, however long log, cluster or (unless that ends it) database are away."""
        self.busy = True
        while not await self._try():
            self.beats += 1
            if unless_away and self._is_away:
                break
            await asyncio.sleep(_RETRY)
        self.beats += 1
        self.busy = False

    async def _try(self) -> bool:
        end = self.end()
        try:
            await self.stream.advance()
        except (ClusterUnavailable, LogUnavailable, ViewUnavailable) as error:
            before, self.waits = self.waits, str(error)
            self._is_away = isinstance(error, ViewUnavailable)
            if before:
                return False  # once is enough, however long it takes
            fields = {"action": "retry", "projector": self.stream.name, "error": str(error)}
            log.warning("a view cannot be brought up to date now", extra=fields)
            return False
        if self.waits:
            self.waits = ""
            log.info("a view is up to date again", extra={"action": "resume", "projector": self.stream.name})
        self.reached = end
        return True
