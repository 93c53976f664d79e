"""The dead letters of a partition. Also a reader may add some: they need no fencing, a repeat harms nobody.

A letter stays as it is. That it was retried is a record of its own behind it.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import PATIENCE, cut_off, producer, started, stopped
from statemachine.log.kafka.failures import ours
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Row, letter_of, letter_row, retry_of, retry_row
from statemachine.log.port import DeadLetter


class Letters:
    """The dead letters in partition `number` of the topic."""

    def __init__(self, address: Address, topic: Partition, number: int) -> None:
        self._address, self._topic, self._number = address, topic, number
        self._producer: Any = None
        self._adding, self._counting = asyncio.Lock(), asyncio.Lock()
        self._end = 0  # behind what was added here
        self._counted, self._count = 0, 0  # up to which offset, and how many

    async def add(self, letter: DeadLetter) -> None:
        """See EventLog.add_dead_letter."""
        await self._write(letter_row(letter))

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """See EventLog.note_retry."""
        await self._write(retry_row(letter, at))

    async def _write(self, row: Row) -> None:
        async with self._adding:
            with ours(self._address, f"write to {self._topic}"):
                try:
                    if self._producer is None:
                        self._producer = await started(producer(self._address))
                    async with asyncio.timeout(PATIENCE):
                        sent = await self._producer.send_and_wait(
                            self._topic.topic, row.value, row.key, self._number, headers=list(row.headers)
                        )
                except BaseException:
                    if self._producer is not None:
                        made, self._producer = self._producer, None
                        await cut_off(made)
                    raise
            self._end = sent.offset + 1

    async def load(self) -> Sequence[DeadLetter]:
        """See EventLog.dead_letters."""
        letters: dict[int, DeadLetter] = {}
        async for batch in self._topic.read(0, await self._topic.end(self._end)):
            for message in batch:
                if (retry := retry_of(message)) is None:
                    letter = letter_of(message, self._number)
                    letters[letter.id] = letter
                elif (retried := letters.get(retry[0])) is not None:
                    letters[retried.id] = replace(retried, retried_at=retry[1])
        return list(letters.values())

    async def count(self) -> int:
        """See EventLog.dead_letter_count; only those that were not counted before are looked at."""
        async with self._counting:
            end = await self._topic.end(self._end)
            if end < self._counted:  # the topic was emptied, or is another
                self._counted = self._count = 0
            async for batch in self._topic.read(self._counted, end):
                self._count += sum(retry_of(letter) is None for letter in batch)
                self._counted = batch[-1].offset + 1
            return self._count

    async def close(self) -> None:
        """What was added is there, and nothing is open any more."""
        if self._producer is not None:
            made, self._producer = self._producer, None
            await stopped(made)
