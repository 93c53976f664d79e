"""The brokers of the model: topics, coordinators, and a time at which they are all there or all away."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from aiokafka import TopicPartition
from aiokafka.errors import UnknownTopicOrPartitionError

from statemachine.log.kafka.records import Row
from tests.support.kafka_model.groups import Groups
from tests.support.kafka_model.partitions import COMPACT, ModelPartition, Writing
from tests.support.kafka_model.transactions import Transactions

START: Final = datetime(2024, 1, 9, 15, 0, tzinfo=UTC)
"""The time at the beginning of a loop, where brokers are given no other."""

LEADER: Final = 1
"""The number of the one broker: replication is below what the model knows of."""


class Brokers:
    """They do everything in the loop that runs. `chance` draws how long things take."""

    def __init__(self, chance: Random, start: datetime = START) -> None:
        self.chance = chance
        self.is_away = False
        self.ahead = timedelta(0)
        """By how much their clock is."""
        self.context = Context()
        """That of no process: what brokers do is done also while processes are frozen."""
        self.marker_lag = 0.005
        """Mean seconds until a partition hears that a transaction has ended."""
        self.beats_apart = 0.0
        """Members of groups send no heartbeats more often than in so many seconds."""
        self.settings: dict[str, Mapping[str, str]] = {}
        self._start = start
        self._topics: dict[str, list[ModelPartition]] = {}
        self._back: list[Callable[[], None]] = []
        self.groups = Groups(self.later, _passed, self.parts)
        self.transactions = Transactions(self.later, self._lag, self.groups.keep)

    # ---- there and away ------------------------------------------------------------------------------------------

    def go_away(self) -> None:
        """Nobody is answered; what is kept stays."""
        self.is_away = True

    def come_back(self) -> None:
        """They answer again, and do what they had put off."""
        self.is_away = False
        back, self._back = self._back, []
        for call in back:
            self.soon(0.0, call)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """`call` is made in so many seconds; while they are away, when they are back."""
        self.soon(seconds, lambda: self._back.append(call) if self.is_away else call())

    def soon(self, seconds: float, call: Callable[[], object]) -> None:
        """`call` is made in so many seconds, whatever is the matter with anybody."""
        asyncio.get_running_loop().call_later(seconds, call, context=self.context)

    def _lag(self) -> float:
        return self.chance.expovariate(1 / self.marker_lag)

    @property
    def now(self) -> int:
        """Milliseconds, as records are stamped."""
        return int((self._start + self.ahead).timestamp() * 1000 + _passed() * 1000)

    # ---- topics --------------------------------------------------------------------------------------------------

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> bool:
        """False if there is one already."""
        if topic in self._topics:
            return False
        self.settings[topic] = dict(settings)
        self._topics[topic] = [
            ModelPartition(TopicPartition(topic, number), self.transactions.fences)
            for number in range(partitions)
        ]
        return True

    def topics(self) -> Mapping[str, int]:
        """How many partitions each has."""
        return {name: len(parts) for name, parts in self._topics.items()}

    def partition(self, tp: TopicPartition) -> ModelPartition:
        """Raises UnknownTopicOrPartitionError."""
        parts = self._topics.get(tp.topic, [])
        number: int = tp.partition
        if number >= len(parts):
            raise UnknownTopicOrPartitionError(tp.topic)
        return parts[number]

    def compact(self) -> None:
        """What has to be compacted is, as far as that goes."""
        for topic, partitions in self._topics.items():
            if self.settings[topic].get("cleanup.policy") == COMPACT:
                for partition in partitions:
                    partition.compact()

    def parts(self, topic: str) -> Sequence[TopicPartition]:
        """The partitions of a topic, in their order."""
        return [partition.tp for partition in self._topics.get(topic, ())]

    # ---- requests ------------------------------------------------------------------------------------------------

    def produce(
        self,
        tp: TopicPartition,
        rows: Sequence[Row],
        batch: int,
        writer: Writing,
        transactional_id: str | None,
    ) -> tuple[int, int]:
        """The offset of the first of `rows`, and when they were appended.

        Raises InvalidProducerEpoch, InvalidTxnState, UnknownTopicOrPartitionError.
        """
        partition = self.partition(tp)
        if transactional_id is not None:
            self.transactions.verify(transactional_id, writer, tp)
        now = self.now
        transactional = transactional_id is not None
        return partition.append(rows, batch, now, writer, transactional=transactional), now


def _passed() -> float:
    return asyncio.get_running_loop().time()
