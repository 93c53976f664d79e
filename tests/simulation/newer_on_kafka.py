"""Worlds on the partitioned log in which engines of a newer release have written: upgrades that were taken back.

What this release cannot fold keeps its job in quarantine: reports of it are dead letters, which somebody sends again,
its public events are held, and its history ends there. Everything else goes on.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from jobledger.wiring.ledger import Kafka, reading
from statemachine.errors import LogUnavailable, OwnerLost
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.retrying import retry
from tests.simulation import chaos, chaos_kafka, chaos_parts, projected
from tests.simulation.letters import pods_without_a_report
from tests.simulation.versions import RAIN, WithNewer, newer_draft, open_jobs
from tests.simulation.views_on_kafka import ViewsWorld
from tests.simulation.world import World

_PATIENCE: Final = 60.0


class NewerWorld(WithNewer, ViewsWorld):
    """Everything that follows the partitioned log, and what a newer release left in it."""

    share = 0.5

    def findings(self) -> Iterator[str]:
        """See World."""
        yield from super().findings()
        yield from pods_without_a_report(self)

    async def settle(self) -> None:
        """See World. What brokers did not take for certain is there, or will never be."""
        await super().settle()
        self.unreadable &= {record.job for record in self.records() if RAIN in record.body}


async def newer_cause(world: World) -> None:
    """An engine of a newer release was the owner of a partition, and decided what this one would not observe."""
    await _newer(world, "newer_cause")


async def newer_event(world: World) -> None:
    """An engine of a newer release was the owner of a partition, and wrote an event that this one cannot fold."""
    if world.chance.random() < 0.5:
        await _newer(world, "newer_event")


async def _newer(world: World, fault: str) -> None:
    assert isinstance(world, NewerWorld)
    try:
        async with asyncio.timeout(_PATIENCE):
            await _written(world, fault)
    except (LogUnavailable, OwnerLost, TimeoutError) as error:
        world.note(f"the newer release gave up: {error}")


async def _written(world: NewerWorld, fault: str) -> None:
    if not (jobs := open_jobs(world.records())):
        return
    number = partition_of(world.chance.choice(jobs).state.uid, partitions=world.partitions)
    log = await KafkaLog.open(world.operator, number)
    try:
        if jobs := open_jobs([record async for batch in log.scan() for record in batch]):
            await log.append([newer_draft(world, world.chance.choice(jobs), fault)])
    finally:
        await log.close()


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
    *[newer_event] * 6,
    *[newer_cause] * 2,
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
