"""Which partitions of observations this process owns: a processor each, opened and finished as they are dealt out.

A feed puts what it reads; the processors say how far each partition is acknowledged. A processor that cannot go on
ends all of them: the feed waits for that, and whatever runs the feed begins anew. Nothing here knows where
observations come from.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NoReturn, Protocol

from statemachine.engine.kafka.processor import PartitionProcessor, ProcessorContext
from statemachine.engine.source import Pulse
from statemachine.errors import OwnerLost, first
from statemachine.ids import Position
from statemachine.log.inbox import Post

log = logging.getLogger(__name__)

_LINGER: Final = timedelta(milliseconds=2)
"""For each observation but one that the last batch had, how long a processor lets the next one gather. An append
costs the same time whatever is in it: many small ones would leave none to decide in."""

_SHARE: Final = timedelta(milliseconds=10)
"""For each processor of the process, how long one waits at most: the more append, the more has to be in each."""

_SHORTEST: Final = timedelta(milliseconds=20)
_LONGEST: Final = timedelta(milliseconds=100)
"""Bounds of what `_SHARE` comes to."""


class Feed(Protocol):
    """Brings the observations of the partitions that fall to this process to its assignment."""

    async def run(self) -> None:
        """For ever; raises what ended it. Cancelled, it hands over: decided or not acknowledged, nothing half."""


class Assignment:
    """The partitions of this process, from one beginning of a feed to its end."""

    def __init__(self, context: ProcessorContext) -> None:
        self.context = context
        self.processors: dict[int, PartitionProcessor] = {}
        """Those of the partitions that are owned."""
        self._changing = asyncio.Lock()
        self._upheavals = 0
        self._settled = True
        self._failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self.taken_over_at: datetime | None = None
        """When a partition was taken over last."""
        self.ack_listeners: list[Callable[[int, Position], None]] = []
        """Called with a partition and the place up to which it is acknowledged."""
        self._has_owned = False
        self.is_bereft = False
        """What it owned was taken away, all of it."""
        self.is_ready = False
        """It has owned what `own` asked for."""

    # ---- what is owned -------------------------------------------------------------------------------------------

    async def own(self, partitions: Iterable[int]) -> None:
        """Exactly `partitions` are owned: logs opened, states recovered, timers set; the others are finished.

        Raises what kept a partition from being owned: LogUnavailable, OwnerLost, StoreUnusable.
        """
        async with self._changing:
            upheavals = self._upheavals
            wanted = frozenset(partitions)
            self._has_owned = self._has_owned or bool(wanted)
            self.is_bereft = self._has_owned and not wanted
            await self._become(wanted)
            # one that was left alone may have died since: it had a decision in hand for a partition taken by others
            while upheavals == self._upheavals and any(
                processor.is_dead for processor in self.processors.values()
            ):
                await self._become(wanted)
            self._settled = upheavals == self._upheavals
            self.is_ready = True

    async def _become(self, wanted: frozenset[int]) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for partition in sorted(wanted | self.processors.keys()):
                    tasks.create_task(self._change(partition, wanted=partition in wanted))
        except BaseExceptionGroup as group:
            raise first(group) from None

    async def _change(self, partition: int, *, wanted: bool) -> None:
        processor = self.processors.get(partition)
        if processor is not None and not (wanted and await processor.is_current()):
            del self.processors[partition]
            await processor.finish()
            processor = None
        if processor is None and wanted:
            self.processors[partition] = await PartitionProcessor.opened(
                partition, self.context, linger=self._linger, acked=self._acked, ended=self._ended
            )
            self.context.counts["takeovers"] += 1
            self.taken_over_at = self.context.clock.now()
            log.info("a partition is decided here", extra={"action": "own", "partition": partition})

    def unsettled(self) -> None:
        """Partitions are being dealt out anew: until `own`, one that another process has taken is no failure."""
        self._upheavals += 1
        self._settled = False

    @property
    def is_waiting(self) -> bool:
        """`own` has not been called yet, or not since all is dealt out anew. Taking over is no waiting."""
        return not (self.is_ready and self._settled) and not self._changing.locked()

    async def close(self) -> None:
        """None is owned any more: what is in hand was decided, or dropped unacknowledged."""
        self.unsettled()
        await self.own(())
        self.is_ready = False

    async def failure(self) -> NoReturn:
        """Waits until a processor cannot go on, and raises why."""
        raise await asyncio.shield(self._failed)

    def fail(self, error: BaseException) -> None:
        """All of it is to end because of `error`; the first one counts."""
        if not self._failed.done():
            self._failed.set_result(error)

    def _ended(self, processor: PartitionProcessor, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None or processor.is_ending:
            return
        fields = {"action": "processor-ended", "partition": processor.partition, "error": str(error)}
        if isinstance(error, OwnerLost) and not self._settled:
            log.info("another process decides a partition now", extra=fields)
            return
        log.warning("a partition cannot be decided here any more", extra=fields)
        self.fail(error)

    # ---- what comes in, and how far it has got -------------------------------------------------------------------

    def begin(self, partition: int, after: Position, end: Position) -> None:
        """The next that is put of `partition` stands behind place `after`; the last that is there is `end`.

        A partition that has begun goes on where it is. Without this, it begins with the first that is put. If the
        log has decided what lies behind `end`, the topic is another by now, and its places begin anew.
        """
        if processor := self.processors.get(partition):
            processor.begin(after, end)

    async def put(self, partition: int, first: Position, posts: Sequence[Post]) -> None:
        """`posts`, which stand at `first` (≥ 1) of `partition` and behind, will be decided; waits while too many are.

        Those that were put before are repeats. Those of a partition that is not owned are left to its owner. For a
        partition this may be called by one at a time.

        Raises:
            Hole: they do not follow the last one: something was left out between them.
        """
        processor = self.processors.get(partition)
        if processor is None:
            self.context.counts["strays"] += len(posts)
            return
        await processor.put(first, posts)

    def acked(self, partition: int) -> Position | None:
        """The place up to which all is decided and durable; None if that is not known here."""
        processor = self.processors.get(partition)
        return processor.acked if processor else None

    def room(self, partition: int) -> int:
        """How many can be put without waiting; 0 in a partition that is not owned."""
        processor = self.processors.get(partition)
        return processor.room if processor else 0

    @property
    def lag(self) -> Mapping[int, int]:
        """By partition that has begun, how many observations are there and not acknowledged."""
        lags = ((partition, processor.lag) for partition, processor in self.processors.items())
        return {partition: lag for partition, lag in lags if lag is not None}

    @property
    def stalls(self) -> Sequence[str]:
        """Why nothing of a partition comes, a sentence each."""
        return [processor.stalled for processor in self.processors.values() if processor.stalled]

    @property
    def log_error(self) -> str:
        """Why one of the logs cannot be written at the moment; empty while all can."""
        return next((one.log_error for one in self.processors.values() if one.log_error), "")

    def pulses(self) -> dict[str, Pulse]:
        """How the processors are doing, by name."""
        return {f"processor {number}": processor.pulse() for number, processor in self.processors.items()}

    def _acked(self, partition: int, place: Position) -> None:
        for listener in self.ack_listeners:
            listener(partition, place)

    def _linger(self, last: int) -> float:
        """Seconds that a processor waits after a batch of `last`."""
        most = min(max(_SHARE * len(self.processors), _SHORTEST), _LONGEST)
        return min(_LINGER * (last - 1), most).total_seconds()
