"""How far the partitions of a process are decided, kept for its group: a hint where a feed begins, no more.

A log knows better what of its partition is decided. So what could not be committed costs repeats, and no feed ends
because of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import count
from typing import Final

from aiokafka import OffsetAndMetadata, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

from statemachine.engine.kafka.assignment import Assignment
from statemachine.ids import Position
from statemachine.log.kafka.failures import FAILURES

log = logging.getLogger(__name__)

_EVERY: Final = 1.0

_AGAIN: Final = 30
"""Each so many times what was committed before is committed, too: a former owner that stood still may have committed
an earlier place since, as brokers ask for the generation of a member and not for what it has."""

WITHIN: Final = 2.0
"""Seconds that a commit may take."""

Send = Callable[[Mapping[TopicPartition, OffsetAndMetadata]], Awaitable[None]]
"""Commits offsets by the consumer that is the member of the group."""


class Commits:
    """What `assignment` acknowledges of `topic` is committed by `send`."""

    def __init__(self, assignment: Assignment, topic: str, send: Send) -> None:
        self._assignment, self._topic, self._send = assignment, topic, send
        self._acked: dict[int, Position] = {}
        self._committed: dict[int, Position] = {}
        self._turn = asyncio.Lock()
        assignment.ack_listeners.append(self._note)

    def begin(self, partitions: Iterable[int]) -> None:
        """From now on it is these partitions that are committed: those that the group has dealt out to us."""
        self._acked = {number: self._assignment.acked(number) or 0 for number in partitions}
        self._committed.clear()

    def end(self) -> None:
        """Nothing is committed until `begin`."""
        self.begin(())

    def _note(self, partition: int, place: Position) -> None:
        if partition in self._acked:
            self._acked[partition] = place

    async def run(self) -> None:
        """Commits every second, for ever."""
        for turn in count(1):
            await asyncio.sleep(_EVERY)
            if turn % _AGAIN == 0:
                self._committed.clear()
            await self.commit()

    async def commit(self) -> None:
        """What is acknowledged and not committed is committed now, or given up after `WITHIN`."""
        async with self._turn:
            news = {
                number: place
                for number, place in self._acked.items()
                if place != self._committed.get(number, 0)
            }
            if news and await self._sent(news):
                self._committed |= news

    async def _sent(self, places: Mapping[int, Position]) -> bool:
        offsets = {
            TopicPartition(self._topic, number): OffsetAndMetadata(place, "")
            for number, place in places.items()
        }
        try:
            async with asyncio.timeout(WITHIN):
                await self._send(offsets)
        except (CommitFailedError, IllegalStateError):
            return False  # dealt out anew: the member that has them now commits
        except FAILURES as error:
            fields = {"action": "commit", "error": str(error) or type(error).__name__}
            log.warning("how far the observations are decided was not noted", extra=fields)
            return False
        return True
