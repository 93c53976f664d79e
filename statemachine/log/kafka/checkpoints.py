"""How far readers of a partition have come: the committed offsets of a consumer group a reader.

Nobody joins these groups. Brokers forget the offsets of a group a week after the last commit (their setting
`offsets.retention.minutes`): a reader that has said nothing for so long begins anew.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import TopicPartition

from statemachine.ids import Position
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import PATIENCE, consumer, started, stopped
from statemachine.log.kafka.failures import ours


class Checkpoints:
    """The checkpoints of one partition of `topic`."""

    def __init__(self, address: Address, topic: str, number: int) -> None:
        self._address = address
        self._tp = TopicPartition(topic, number)
        self._members: dict[str, Any] = {}
        self._turn = asyncio.Lock()

    async def load(self, reader: str) -> Position:
        """See EventLog.checkpoint."""
        async with self._member(reader) as member:
            return int(await member.committed(self._tp) or 0)

    async def save(self, reader: str, position: Position) -> None:
        """See EventLog.save_checkpoint."""
        async with self._member(reader) as member:
            await member.commit({self._tp: position})

    async def close(self) -> None:
        """Nothing is open any more."""
        while self._members:
            await stopped(self._members.popitem()[1])

    @asynccontextmanager
    async def _member(self, reader: str) -> AsyncIterator[Any]:
        """The reader's consumer, which reads nothing; one that failed is not used again."""
        async with self._turn:
            with ours(self._address, f"keep the place of reader {reader}"):
                member = self._members.pop(reader, None) or await self._new(reader)
                try:
                    async with asyncio.timeout(PATIENCE):
                        yield member
                except BaseException:
                    await stopped(member)
                    raise
                self._members[reader] = member

    async def _new(self, reader: str) -> Any:
        made = await started(consumer(self._address, f"{self._address.prefix}.reader.{reader}", wait=1))
        made.assign([self._tp])
        made.seek(self._tp, 0)
        made.pause(self._tp)
        return made
