"""The engine role on Kafka: one process's share of the partitions, begun anew whenever it ends."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Literal

from statemachine.backoff import backoff
from statemachine.engine.clock import Clock
from statemachine.engine.kafka.assignment import Assignment, Feed
from statemachine.engine.kafka.processor import ProcessorContext
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Listener, Pulse, WorkerReport
from statemachine.engine.tasks import attempt
from statemachine.errors import Hole, LogError, LogUnavailable, OwnerLost
from statemachine.ids import JobUid
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.kafka.topics import partitions
from statemachine.log.port import EventLog
from statemachine.observations import Observation

log = logging.getLogger(__name__)

FeedName = Literal["faust", "aiokafka"]

_SHORTEST: Final = 0.2
_LONGEST: Final = 10.0
"""Seconds between the end of one attempt and the next, and their growth from one to the other."""

_LASTED: Final = 30.0
"""An attempt that lasted so many seconds was a good one: the pauses begin small again."""

_MILLISECOND: Final = timedelta(milliseconds=1)
"""What append times are cut to."""

_PASSING: Final = (OwnerLost, LogUnavailable, Hole)
"""After these it is worth beginning anew."""

_JOBS: Final = 100_000
"""Jobs whose partition is remembered."""


class Worker:
    """Decides the observations of the partitions that fall to this process.

    `instance` names it among the engines, for a restart to get the same partitions at once; empty: nothing
    does. `session`: after so many seconds of silence the others take over. `listeners` are called with every
    entry that is decided here. `key`: of the snapshots.
    """

    def __init__(
        self,
        address: Address,
        feed: FeedName,
        clock: Clock,
        *,
        instance: str = "",
        session: float = 10.0,
        key: bytes | None = None,
    ) -> None:
        self._address, self._feed, self._clock = address, feed, clock
        self._instance, self._session, self._key = instance, session, key
        self.check = ClockCheck(clock)
        """Our clock, compared with the append times of the brokers."""
        self.assignment: Assignment | None = None
        """What is owned now; None between two attempts."""
        self._why = ""
        self._beats = 0
        self._partitions = 0
        self._counts: Counter[str] = Counter()
        self._taken_over_at: datetime | None = None
        self.listeners: list[Listener] = []
        self.silent_listeners: list[Callable[[Observation], None]] = []
        self.endings = Counter({error.__name__: 0 for error in _PASSING})
        """How often an attempt ended, by the name of its error."""

    async def run(self) -> None:
        """For ever. What may pass is tried again: brokers out of reach, partitions taken by others, holes.

        Raises:
            StoreUnusable, ConfigError: topics or settings are wrong.
        """
        failures, loop = 0, asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                await attempt(self._attempt())
            except _PASSING as error:
                self._ended(error)
            if loop.time() - begun > _LASTED:
                failures = 0
            failures += 1
            await asyncio.sleep(backoff(failures, first=_SHORTEST, most=_LONGEST))

    @property
    def log_error(self) -> str:
        """Why nothing can be decided at the moment; empty while it can."""
        owned = self.assignment
        return owned.log_error if owned is not None and owned.is_ready else self._why

    def pulses(self) -> dict[str, Pulse]:
        """How the attempts and the processors are doing, by name."""
        attempts = Pulse(self._beats, busy=False)
        return {"worker": attempts, **(self.assignment.pulses() if self.assignment else {})}

    def report(self) -> WorkerReport:
        """See Worker."""
        owned = self.assignment
        return WorkerReport(
            partitions=self._partitions,
            waiting=owned.lag if owned else {},
            counts=self._counts,
            endings=self.endings,
            taken_over_at=(owned.taken_over_at if owned else None) or self._taken_over_at,
            stalls=owned.stalls if owned else (),
        )

    async def _attempt(self) -> None:
        self._partitions = await partitions(self._address)
        self.assignment = assignment = Assignment(
            ProcessorContext(
                self.open_log,
                self._clock,
                _home(self._partitions),
                self.check,
                self._counts,
                self.listeners,
                self.silent_listeners,
            )
        )
        try:
            await self._made(assignment).run()
        finally:
            self.assignment = None
            self._taken_over_at = assignment.taken_over_at or self._taken_over_at
            self._beats += 1

    def _made(self, assignment: Assignment) -> Feed:
        if self._feed == "faust":
            from statemachine.engine.kafka.faust_feed import FaustFeed

            return FaustFeed(self._address, assignment, instance=self._instance, session=self._session)
        from statemachine.engine.kafka.aiokafka_feed import AiokafkaFeed

        return AiokafkaFeed(self._address, assignment, instance=self._instance, session=self._session)

    async def open_log(self, partition: int) -> EventLog:
        """The log of a partition, for this process to write; what it writes says what time it is."""
        return await KafkaLog.open(self._address, partition, key=self._key, stamping=self._stamping)

    def _stamping(self) -> Callable[[datetime], None]:
        sent = self.check.begin()
        return lambda at: self.check.note(sent, at, _MILLISECOND)

    def _ended(self, error: LogError) -> None:
        self.endings[type(error).__name__] += 1
        self._why = str(error)
        fields = {"action": "begin-anew", "error": self._why}
        log.warning("decisions have to be begun anew", extra=fields)


def _home(count: int) -> Callable[[JobUid], int]:
    """The partition of a job, of so many."""

    @lru_cache(_JOBS)
    def home(job: JobUid) -> int:
        return partition_of(job, count)

    return home
