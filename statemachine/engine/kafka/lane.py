"""One partition of observations that this process owns: a queue, an engine, and the log that it writes.

What a feed puts is decided in batches, and only when the entries are durable it is acknowledged. What causes no entry
is acknowledged when the log confirms its writer: with a state that others have gone beyond, an observation of what
they did may look as if it changed nothing. A repeat is passed over; that something was left out is an error.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from statemachine.engine.clock import Clock
from statemachine.engine.embedded import Engine
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Listener, Pulse
from statemachine.engine.step import Delivery, Owner
from statemachine.errors import (
    EntryUnreadable,
    Hole,
    LogError,
    LogUnavailable,
    OwnerLost,
    first,
)
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode_observation
from statemachine.log.inbox import Post
from statemachine.log.port import DeadLetter, EventLog
from statemachine.log.reader import Reader
from statemachine.observations import Observation

log = logging.getLogger(__name__)

QUEUE: Final = 2000
"""Observations that wait in a lane at most: what a feed has read and nobody decided yet."""

BATCH: Final = 500
"""Most observations decided in one go: bounds the time a batch holds up the loop."""

_RETRY: Final = 0.2
"""Seconds between attempts while a log cannot be written."""

_CONFIRM_EVERY: Final = 1.0
"""Seconds that decisions without an entry wait for their acknowledgement: feeds commit as often."""

_GRACE: Final = 2.0
"""Seconds that a lane has to decide what it has in hand and to save its states, before it is broken off."""

OpenLog = Callable[[int], Awaitable[EventLog]]
"""Opens the log of a partition, for this process to write."""


class _Waiting(NamedTuple):
    place: Position
    post: Post


class Lane:
    """One partition that this process owns."""

    def __init__(
        self,
        partition: int,
        clock: Clock,
        *,
        counts: Counter[str],
        listeners: list[Listener],
        silent_listeners: list[Callable[[Observation], None]],
        home: Callable[[JobUid], int],
        linger: Callable[[int], float],
        acked: Callable[[int, Position], None],
        check: ClockCheck | None,
    ) -> None:
        self.partition = partition
        self._clock, self._counts, self._home = clock, counts, home
        self._listeners, self._silent_listeners = listeners, silent_listeners
        self._linger, self._tell_acked, self._check = linger, acked, check
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue(QUEUE)
        self._log: EventLog
        self._engine: Engine
        self._owner: Owner
        self._reader: Reader
        self._task: asyncio.Task[None] | None = None
        self._busy = False
        self._ending = False
        self._last = 0
        self._beats = 0
        self._first: Position | None = None
        self._put: Position | None = None
        self._decided: Position = 0
        self.acked: Position | None = None
        """Everything up to this place needs never be put again; None before anything is known of places."""
        self.end: Position = 0
        """The last place that the partition is known to have."""
        self.stalled = ""
        """Why nothing comes though there is more; empty when something does."""

    # ---- life ----------------------------------------------------------------------------------------------------

    async def open(self, open_log: OpenLog, ended: Callable[["Lane", asyncio.Task[None]], None]) -> None:
        """The log is this process's to write, its states are those at its end, and the lane decides.

        `ended` is called when that ends, however it does.
        """
        self._log = await open_log(self.partition)
        try:
            self._reader = Reader(keeps=0)
            self._owner = Owner(self._log, self._reader, self._clock)
            self._owner.counts = self._counts
            self._engine = Engine(self._log, self._owner, self._clock, self._check, stamps=True)
            self._engine.listeners, self._engine.silent_listeners = self._listeners, self._silent_listeners
            await self._engine.start()
            self._counts["refused_snapshots"] += self._log.refused_snapshots
        except BaseException:
            await self._log.close()
            raise
        self._task = asyncio.create_task(self._run(), name=f"lane {self.partition}")
        self._task.add_done_callback(lambda task: ended(self, task))

    async def finish(self) -> None:
        """What is in hand is decided, or dropped unacknowledged; states are saved, the log is closed."""
        if (task := self._task) is None:
            return
        self._ending = True
        self._drop()
        try:
            async with asyncio.timeout(_GRACE):
                await self._let_go(task)
        except TimeoutError:
            self._warn("a partition is let go with a decision in hand", "in time it was not made")
        except OwnerLost:
            fields = {"action": "hand-over", "partition": self.partition}
            log.info("somebody else has taken a partition that was to be let go", extra=fields)
        except LogError as error:
            self._warn("states of a partition were not saved", str(error))
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._drop()  # whoever waited to put has put now
            with suppress(LogError):
                await self._log.close()

    async def _let_go(self, task: asyncio.Task[None]) -> None:
        if task.done():
            return
        while self._in_hand:  # noqa: ASYNC110 - milliseconds
            await asyncio.sleep(0.002)
        task.cancel()  # between two decisions: nothing was awaited since that was seen
        await asyncio.wait([task])
        await self._engine.save()

    @property
    def _in_hand(self) -> bool:
        """Something is being decided: what was put, or what a timer wants."""
        return self._busy or self._engine.pulses()["engine"].busy

    def _drop(self) -> None:
        while not self._queue.empty():
            self._queue.get_nowait()

    def _warn(self, message: str, error: str) -> None:
        log.warning(message, extra={"action": "hand-over", "partition": self.partition, "error": error})

    async def is_current(self) -> bool:
        """It decides, and nobody else has written its partition since it was opened."""
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
        return self._task is None or self._task.done()

    @property
    def is_ending(self) -> bool:
        """It was told to finish."""
        return self._ending

    # ---- what comes in -------------------------------------------------------------------------------------------

    def begin(self, after: Position, end: Position) -> None:
        """The feed begins behind place `after`; the partition ends at `end`. A lane that has begun goes on.

        If the log has decided what lies behind that end, the topic is another by now, and its places begin anew.
        """
        self.end = max(self.end, end)
        if self._put is not None:
            return
        decided = self._reader.place
        if decided > end:
            fields = {"action": "new-places", "partition": self.partition, "decided": decided, "end": end}
            log.warning(
                "the topic of observations was made anew: what had not been decided is lost", extra=fields
            )
            self._reader.forget_places()
        self._first, self._put, self.acked = after + 1, after, after

    async def put(self, place: Position, post: Post) -> None:
        """`post` is in the queue; waits while that is full. See Lanes.put."""
        if self._put is None or self._first is None:
            self._first, self.acked = place, place - 1
        elif place < self._first:
            raise Hole(self.partition, self._first, place)
        elif place <= self._put:
            self._counts["repeats"] += 1
            return
        elif place != self._put + 1:
            raise Hole(self.partition, self._put + 1, place)
        await self._queue.put(_Waiting(place, post))
        self._put, self.stalled = place, ""
        self.end = max(self.end, place)

    @property
    def reached(self) -> Position | None:
        """The last place that was put."""
        return self._put

    @property
    def room(self) -> int:
        """How many can be put without waiting."""
        return QUEUE - self._queue.qsize()

    @property
    def lag(self) -> int | None:
        """How many are in the partition, and not acknowledged; None before anything is known of places."""
        return None if self.acked is None else max(0, self.end - self.acked)

    @property
    def log_error(self) -> str:
        """Why the log cannot be written at the moment; empty while it can."""
        return "" if self._task is None else self._engine.log_error

    def pulse(self) -> Pulse:
        """How the lane is doing."""
        if self._task is None:
            return Pulse(0, busy=False)
        beats, busy = self._engine.pulses()["engine"]
        return Pulse(beats + self._beats, busy or self._busy)

    # ---- what becomes of it --------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._engine.run(), name=f"engine {self.partition}")
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
            if done:
                self._counts["decided"] += len(batch)
                self._decided = batch[-1].place
                if self._owner.appended:
                    self._acknowledge(self._decided)
            if self._ending:
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

        A crowd shows in the last batch, or in how much more the partition is known to have: Faust brings one by one.
        """
        batch = [await self._queue.get()]
        crowd = max(self._last, self.end - (self._put or self.end))
        if crowd > 1 and self._queue.qsize() < BATCH - 1:
            await asyncio.sleep(self._linger(crowd))
        while len(batch) < BATCH and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        self._last = len(batch)
        return batch

    async def _decide(self, batch: Sequence[_Waiting]) -> bool:
        """All of it is durable: entries, or dead letters. False: the lane was to finish before that."""
        seen, letters = self._read(batch)
        while not await self._engine.decided(seen):
            if self._ending:
                return False
            await asyncio.sleep(_RETRY)
        for letter in letters:
            while not await self._kept(letter):
                if self._ending:
                    return False
                await asyncio.sleep(_RETRY)
        return True

    def _read(self, batch: Sequence[_Waiting]) -> tuple[list[Delivery], list[DeadLetter]]:
        seen, letters = [], []
        for place, post in batch:
            try:
                seen.append(Delivery(self._read_one(post), place, post.trace))
            except EntryUnreadable as error:
                fields = {"action": "dead-letter", "job": post.job, "partition": self.partition}
                log.exception("an observation cannot be read", extra=fields)
                letters.append(DeadLetter(self._clock.now(), post.job, post.body, error.reason))
        return seen, letters

    def _read_one(self, post: Post) -> Observation:
        found = decode_observation(post.body)
        home = self._home(found.job)
        if home != self.partition:  # to decide it here would give the job a second history
            reason = f"the job's partition is {home}, and the observation was put into {self.partition}"
            raise EntryUnreadable(reason, post.body)
        return found

    async def _kept(self, letter: DeadLetter) -> bool:
        try:
            await self._log.add_dead_letter(letter)
        except LogUnavailable:
            return False
        self._counts["letters"] += 1
        return True
