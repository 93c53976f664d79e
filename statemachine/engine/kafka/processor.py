"""One partition of observations that this process owns: a backlog, and the decisions that go into its log.

What a feed puts is decided in batches, and only when the entries are durable it is acknowledged. What causes no entry
is acknowledged when the log confirms its writer: with a state that others have gone beyond, an observation of what
they did may look as if it changed nothing. A repeat is passed over; that something was left out is an error.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final, NamedTuple, Self

from statemachine.engine.clock import Clock
from statemachine.engine.decisions import Decisions
from statemachine.engine.kafka.backlog import Backlog
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Listener, Pulse
from statemachine.engine.step import Delivery, Owner
from statemachine.errors import EntryUnreadable, Hole, LogError, LogUnavailable, OwnerLost, first
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode_observation
from statemachine.log.inbox import Post
from statemachine.log.port import DeadLetter, EventLog
from statemachine.log.reader import Reader
from statemachine.observations import Observation

log = logging.getLogger(__name__)

QUEUE: Final = 2000
"""From so many waiting observations on, a feed has to wait with what it has read."""

BATCH: Final = 500
"""Most observations decided in one go: bounds the time a batch holds up the loop."""

_RETRY: Final = 0.2
"""Seconds between attempts while a log cannot be written."""

_CONFIRM_EVERY: Final = 1.0
"""Seconds that decisions without an entry wait for their acknowledgement: feeds commit as often."""

_GRACE: Final = 2.0
"""Seconds that a processor has to decide what it has in hand and to save its states, before it is broken off."""

OpenLog = Callable[[int], Awaitable[EventLog]]
"""Opens the log of a partition, for this process to write."""


@dataclass(frozen=True)
class ProcessorContext:
    """What the processors of a process share.

    `home` tells a job's partition: an observation that was put into another one is kept as a dead letter. With a
    `check` timers fire only while the clock can be trusted. `counts` are those of WorkerReport; the listeners hear
    what any processor decides.
    """

    open_log: OpenLog
    clock: Clock
    home: Callable[[JobUid], int]
    check: ClockCheck | None = None
    counts: Counter[str] = field(default_factory=Counter)
    listeners: list[Listener] = field(default_factory=list)
    silent_listeners: list[Callable[[Observation], None]] = field(default_factory=list)


class _Waiting(NamedTuple):
    """Something to decide: a post, and its place; or what a timer says, which has none (0)."""

    place: Position
    item: Post | Observation


class PartitionProcessor(Decisions):
    """One partition that this process owns. `linger` and `acked` are its Assignment's."""

    def __init__(
        self,
        partition: int,
        event_log: EventLog,
        context: ProcessorContext,
        linger: Callable[[int], float],
        acked: Callable[[int, Position], None],
    ) -> None:
        self._reader = Reader(keeps=0)
        owner = Owner(event_log, self._reader, context.clock)
        owner.counts = context.counts
        super().__init__(event_log, owner, context.clock, context.check, stamps=True)
        self.listeners, self.silent_listeners = context.listeners, context.silent_listeners
        self.partition = partition
        self._clock, self._counts, self._home = context.clock, context.counts, context.home
        self._linger, self._tell_acked = linger, acked
        self._backlog: Backlog[_Waiting] = Backlog(QUEUE)
        self._task: asyncio.Task[None]
        self._busy = False
        self.is_ending = False
        """`finish` was called."""
        self._last = 0
        self._first: Position | None = None
        self.reached: Position | None = None
        """The last place that was put; None if none was, and nothing was begun."""
        self._decided: Position = 0
        self.acked: Position | None = None
        """Everything up to this place needs never be put again; None before anything is known of places."""
        self.end: Position = 0
        """The last place that the partition is known to have."""
        self.stalled = ""
        """Why nothing comes though there is more; empty when something does."""

    # ---- life ----------------------------------------------------------------------------------------------------

    @classmethod
    async def opened(
        cls,
        partition: int,
        context: ProcessorContext,
        *,
        linger: Callable[[int], float],
        acked: Callable[[int, Position], None],
        ended: Callable[[Self, asyncio.Task[None]], None],
    ) -> Self:
        """The log is this process's to write, the states are those at its end, and the processor decides.

        `ended` is called when that ends, however it does.
        """
        event_log = await context.open_log(partition)
        try:
            processor = cls(partition, event_log, context, linger, acked)
            await processor.start()
        except BaseException:
            await event_log.close()
            raise
        context.counts["refused_snapshots"] += event_log.refused_snapshots
        processor._task = asyncio.create_task(processor._run(), name=f"processor {partition}")
        processor._task.add_done_callback(lambda task: ended(processor, task))
        return processor

    async def finish(self) -> None:
        """What is in hand is decided, or dropped unacknowledged; states are saved, the log is closed."""
        task, self.is_ending = self._task, True
        self._backlog.clear()
        try:
            async with asyncio.timeout(_GRACE):
                await self._hand_over(task)
        except TimeoutError:
            self._warn("a partition is handed over with a decision in hand", "in time it was not made")
        except OwnerLost:
            fields = {"action": "hand-over", "partition": self.partition}
            log.info("another process has taken a partition that was to be handed over", extra=fields)
        except LogError as error:
            self._warn("states of a partition were not saved", str(error))
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._backlog.clear()  # a feed that waited to put has put now
            with suppress(LogError):
                await self._log.close()

    async def _hand_over(self, task: asyncio.Task[None]) -> None:
        if task.done():
            return
        while self.pulse().busy:  # noqa: ASYNC110 - milliseconds
            await asyncio.sleep(0.002)
        task.cancel()  # between two decisions: nothing was awaited since the look at it
        await asyncio.wait([task])
        await self.save()

    def _warn(self, message: str, error: str) -> None:
        log.warning(message, extra={"action": "hand-over", "partition": self.partition, "error": error})

    async def is_current(self) -> bool:
        """It decides, and no other process has written its partition since it was opened."""
        if self.is_dead:
            return False
        try:
            await self._log.confirm_writer()
        except OwnerLost:
            return False
        return not self.is_dead

    @property
    def is_dead(self) -> bool:
        """It decides no more."""
        return self._task.done()

    # ---- what comes in -------------------------------------------------------------------------------------------

    def begin(self, after: Position, end: Position) -> None:
        """The feed begins behind place `after`; the partition ends at `end`. A processor that has begun goes on.

        If the log has decided what lies behind that end, the topic is another by now, and its places begin anew.
        """
        self.end = max(self.end, end)
        if self.reached is not None:
            return
        decided = self._reader.place
        if decided > end:
            fields = {"action": "new-places", "partition": self.partition, "decided": decided, "end": end}
            log.warning(
                "the topic of observations was made anew: what had not been decided is lost", extra=fields
            )
            self._reader.forget_places()
        self._first, self.reached, self.acked = after + 1, after, after

    async def observe(self, observation: Observation) -> None:
        """See Decisions: what a timer says waits with the others."""
        await self._backlog.add((_Waiting(0, observation),))

    async def put(self, first: Position, posts: Sequence[Post]) -> None:
        """`posts` are in the backlog; waits while that is full. See Assignment.put."""
        if self.reached is None or self._first is None:
            self._first, self.acked = first, first - 1
        elif first < self._first:
            raise Hole(self.partition, self._first, first)
        elif first > self.reached + 1:
            raise Hole(self.partition, self.reached + 1, first)
        else:
            repeats = min(self.reached + 1 - first, len(posts))
            self._counts["repeats"] += repeats
            first, posts = first + repeats, posts[repeats:]
        if not posts:
            return
        await self._backlog.add(map(_Waiting, count(first), posts))
        self.reached, self.stalled = first + len(posts) - 1, ""
        self.end = max(self.end, self.reached)

    @property
    def room(self) -> int:
        """How many can be put without waiting."""
        return self._backlog.room

    @property
    def lag(self) -> int | None:
        """How many are in the partition, and not acknowledged; None before anything is known of places."""
        return None if self.acked is None else max(0, self.end - self.acked)

    def pulse(self) -> Pulse:
        """How the processor is doing."""
        return Pulse(self._beats, self._busy or self._deciding.locked())

    # ---- what becomes of it --------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._timers.run(), name=f"timers {self.partition}")
                tasks.create_task(self._work(), name=f"work {self.partition}")
                tasks.create_task(self._confirm(), name=f"confirm {self.partition}")
        except BaseExceptionGroup as group:
            raise first(group) from None

    async def _work(self) -> None:
        while True:
            batch = await self._gathered()
            self._busy = True
            try:
                done = await self._decide(batch)
            finally:
                self._busy = False
                self._beats += 1
            places = [waiting.place for waiting in batch if waiting.place]
            if done and places:
                self._counts["decided"] += len(places)
                self._decided = places[-1]
                if self._owner.appended:
                    self._acknowledge(self._decided)
            if self.is_ending:
                await asyncio.Event().wait()  # until it is cancelled

    async def _confirm(self) -> None:
        """Decisions without an entry are acknowledged once it is known that they were made on the last state."""
        while True:
            await asyncio.sleep(_CONFIRM_EVERY)
            decided = self._decided
            if decided > (self.acked or 0):
                await self._log.confirm_writer()
                self._acknowledge(decided)

    def _acknowledge(self, place: Position) -> None:
        self.acked = max(place, self.acked or 0)
        self._tell_acked(self.partition, self.acked)

    async def _gathered(self) -> Sequence[_Waiting]:
        """The next batch: at once after a quiet time, in a crowd a moment later.

        A crowd shows in the last batch, or in how much more the partition is known to have.
        """
        await self._backlog.some()
        crowd = max(self._last, self.end - (self.reached or self.end))
        if crowd > 1 and len(self._backlog) < BATCH:
            await asyncio.sleep(self._linger(crowd))
        batch = self._backlog.take(BATCH)
        self._last = len(batch)
        return batch

    async def _decide(self, batch: Sequence[_Waiting]) -> bool:
        """All of it is durable: entries, or dead letters. False: the processor was to finish before that."""
        readable, letters = self._read(batch)
        while not await self.decided(readable):
            if self.is_ending:
                return False
            await asyncio.sleep(_RETRY)
        for letter in letters:
            while not await self._kept(letter):
                if self.is_ending:
                    return False
                await asyncio.sleep(_RETRY)
        return True

    def _read(self, batch: Sequence[_Waiting]) -> tuple[list[Delivery], list[DeadLetter]]:
        readable, letters = [], []
        for place, item in batch:
            if not isinstance(item, Post):
                readable.append(Delivery(item))
                continue
            try:
                readable.append(Delivery(self._read_one(item), place, item.trace))
            except EntryUnreadable as error:
                fields = {"action": "dead-letter", "job": item.job, "partition": self.partition}
                log.exception("an observation cannot be read", extra=fields)
                letters.append(DeadLetter(self._clock.now(), item.job, item.body, error.reason))
        return readable, letters

    def _read_one(self, post: Post) -> Observation:
        observation = decode_observation(post.body)
        home = self._home(observation.job)
        if home != self.partition:  # to decide it here would give the job a second history
            reason = f"the job's partition is {home}, and the observation was put into {self.partition}"
            raise EntryUnreadable(reason, post.body)
        return observation

    async def _kept(self, letter: DeadLetter) -> bool:
        try:
            await self._log.add_dead_letter(letter)
        except LogUnavailable:
            return False
        self._counts["letters"] += 1
        return True
