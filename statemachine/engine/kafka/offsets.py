"""How far the observations are read and how far they go: what feeds do not know, or should not be believed."""

import asyncio
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from aiokafka import TopicPartition

from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.processor import PartitionProcessor
from statemachine.errors import LogUnavailable
from statemachine.ids import Position
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import PATIENCE, consumer, started, stopped
from statemachine.log.kafka.failures import ours
from statemachine.log.kafka.layout import OBSERVATIONS

GROUP: Final = "engine"
"""The consumer group of all engines."""

_LOOK: Final = 3.0
"""Seconds between two looks at the ends of the partitions."""

_STILL: Final = 4
"""After so many looks in a row that found more and no progress, a feed is believed to be stuck."""

_SAID: Final = 2
"""After so many it is said: dealing partitions out anew takes a moment, too."""


_WAITING: Final = 20
"""After so many in a row with nothing dealt out to it, a member is believed to be forgotten: a group deals out within
a session, 10 seconds by default."""


class _Look(NamedTuple):
    """How far a feed was, and how many looks in a row it had stood there though there was more."""

    reached: Position | None
    still: int


class Offsets:
    """Where the group stands in the observations, and where they begin and end; a place is an offset plus one.

    Every method raises LogUnavailable and StoreUnusable.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._topic = address.topic(OBSERVATIONS.name)
        self._consumer: Any = None

    async def __aenter__(self) -> Self:
        with ours(self._address, "ask how far the observations are read"):
            made = consumer(self._address, self._address.topic(GROUP), wait=1.0)
            self._consumer = await started(made)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await stopped(self._consumer)

    async def take_over(self, assignment: Assignment, partitions: Collection[int]) -> dict[int, Position]:
        """`assignment` owns exactly `partitions`, and knows where they begin: what `begins` says of them.

        Raises what `Assignment.own` and `Assignment.begin` do.
        """
        await assignment.own(partitions)
        if not partitions:
            return {}
        begins, ends = await self.begins(partitions), await self.ends(partitions)
        for partition in partitions:
            assignment.begin(partition, begins[partition], ends[partition])
        return begins

    async def begins(self, partitions: Iterable[int]) -> dict[int, Position]:
        """The place behind which the group goes on, or the partition begins if that is later."""
        parts = self._parts(partitions)
        with ours(self._address, f"read how far {self._topic} is decided"):
            async with asyncio.timeout(PATIENCE):
                oldest = await self._consumer.beginning_offsets(parts)
                committed = {part: await self._consumer.committed(part) or 0 for part in parts}
                newest = await self._consumer.end_offsets(parts)
        return {  # what the group knows of a topic that was made anew is of the old one
            part.partition: committed[part]
            if oldest[part] <= committed[part] <= newest[part]
            else oldest[part]
            for part in parts
        }

    async def ends(self, partitions: Iterable[int]) -> dict[int, Position]:
        """The last place of each partition."""
        parts = self._parts(partitions)
        with ours(self._address, f"read how far {self._topic} goes"):
            async with asyncio.timeout(PATIENCE):
                ends = await self._consumer.end_offsets(parts)
        return {part.partition: ends[part] for part in parts}

    async def watch(self, assignment: Assignment) -> None:
        """Tells the processors of `assignment` how far their partitions go, for ever.

        Raises:
            LogUnavailable: a feed fetches nothing, though there is more and a processor waits for it; all partitions
                were taken away; for a minute none are dealt out; or the topic is another by now.
        """
        looks: dict[int, _Look] = {}
        waiting = 0
        while True:
            await asyncio.sleep(_LOOK)
            waiting = waiting + 1 if assignment.is_waiting else 0
            if waiting > _WAITING:
                raise LogUnavailable(
                    f"the partitions of {self._topic} are not dealt out for {waiting * _LOOK:.0f} s: "
                    "this process joins the others anew"
                )
            before = {number: one.reached or 0 for number, one in assignment.processors.items()}
            if assignment.is_bereft:
                # a topic that is not there is dealt out to nobody, and not dealt out again when it is there
                raise LogUnavailable(
                    f"no partition of {self._topic} is left to this process: it joins the others anew"
                )
            ends = await self.ends(before) if before else {}
            for partition, end in ends.items():
                self._check_end(partition, before[partition], end)
                if (processor := assignment.processors.get(partition)) is None:
                    looks.pop(partition, None)
                    continue
                looks[partition] = look = _look(processor, end, looks.get(partition))
                if look.still >= _SAID:
                    self._say_stalled(processor, end, look)

    def _check_end(self, partition: int, reached: Position, end: Position) -> None:
        if reached > end:
            raise LogUnavailable(
                f"partition {partition} of {self._topic} ends at {end}, and {reached} was read already: "
                "the topic was made anew"
            )

    def _say_stalled(self, processor: PartitionProcessor, end: Position, look: _Look) -> None:
        why = (
            f"nothing of partition {processor.partition} of {self._topic} is fetched behind {look.reached}, "
            f"though it goes on to {end}"
        )
        processor.stalled = why
        if look.still > _STILL:
            raise LogUnavailable(why)

    def _parts(self, partitions: Iterable[int]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, number) for number in partitions]


def _look(processor: PartitionProcessor, end: Position, last: _Look | None) -> _Look:
    """`end` is that of its partition."""
    processor.end = max(processor.end, end)
    reached = processor.reached
    waits = reached is not None and reached < end and processor.room > 0
    stands = waits and last is not None and last.reached == reached
    return _Look(reached, last.still + 1 if last and stands else 0)
