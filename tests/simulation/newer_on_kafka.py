"""Worlds on the partitioned log in which engines of a newer release have written: upgrades that were taken back.

What this release cannot fold keeps its job in quarantine: reports of it are dead letters, which somebody sends again,
its public events are held, and its history ends there. Everything else goes on.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar, Final

from jobledger.wiring.ledger import Kafka, reading
from statemachine.errors import EntryUnreadable, LogUnavailable, OwnerLost
from statemachine.log.codec import decode
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.retrying import retry
from statemachine.observations import Observation
from tests.simulation import chaos, chaos_kafka, chaos_parts, projected, versions
from tests.simulation.letters import pods_without_a_letter
from tests.simulation.versions import RAIN, WithNewer, newer_draft, open_jobs
from tests.simulation.views_on_kafka import ViewsWorld
from tests.simulation.world import World

_PATIENCE: Final = 60.0
"""Seconds that who writes beside the processes waits for brokers."""


class NewerWorld(WithNewer, ViewsWorld):
    """Everything that follows the partitioned log, and what a newer release left in it."""

    share: ClassVar[float] = 0.5
    of_events: ClassVar[float] = 0.5

    async def write_newer(self, fault: str) -> None:
        """See WithNewer. An engine of that release was the owner of a partition."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._write_as_owner(fault)
        except (LogUnavailable, OwnerLost, TimeoutError) as error:
            self.note(f"the newer release gave up: {error}")

    async def _write_as_owner(self, fault: str) -> None:
        if not (jobs := open_jobs(self.records())):
            return
        number = partition_of(self.chance.choice(jobs).state.uid, partitions=self.partitions)
        log = await KafkaLog.open(self.operator, number)
        try:
            if jobs := open_jobs([record async for batch in log.scan() for record in batch]):
                await log.append([newer_draft(self, self.chance.choice(jobs), fault)])
        finally:
            await log.close()

    def findings(self) -> Iterator[str]:
        """See World. The bridge goes on: what it has reported before, and the log has, it does not report again."""
        yield from super().findings()
        yield from pods_without_a_letter(self, self._decided())

    def _decided(self) -> Iterator[Observation]:
        for record in self.records():
            if record.job in self.unreadable:
                with suppress(EntryUnreadable):
                    yield decode(record.body).cause

    async def settle(self) -> None:
        """See World. What brokers did not take for certain is there, or will never be."""
        await super().settle()
        self.unreadable &= {record.job for record in self.records() if RAIN in record.body}


async def retry_letters(world: World) -> None:
    """Somebody sends every letter that was not sent again yet."""
    assert isinstance(world, NewerWorld)
    try:
        async with asyncio.timeout(_PATIENCE):
            await _sent_again(world)
    except (LogUnavailable, TimeoutError) as error:
        world.note(f"the retry of dead letters gave up: {error}")


async def _sent_again(world: NewerWorld) -> None:
    outbox = await KafkaOutbox.open(world.operator)
    try:
        async with reading(Kafka(world.operator, "aiokafka", "", 6.0)) as ledger:
            for log in ledger.logs:
                for letter in await log.dead_letters():
                    if letter.retried_at is None:
                        world.note(f"letter {letter.name} is sent again")
                        await retry(letter, ledger, outbox, world.clock.now())
    finally:
        await outbox.close()


NewerWorld.actions = (
    *[versions.newer_event] * 6,
    *[versions.newer_cause] * 2,
    *[retry_letters] * 3,
    *chaos_kafka.ACTIONS,
    *projected.ACTIONS,
    *chaos_parts.ACTIONS,
    chaos.end_pod,
    chaos.end_pod,
    chaos.delete_pod,
    chaos.edit_spec,
    chaos.relabel_job,
    chaos.delete_job,
)
