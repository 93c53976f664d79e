"""What happens to processes on the partitioned log, to brokers, and to the way between them."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from statemachine.errors import LogUnavailable, OwnerLost
from statemachine.log.kafka.log import KafkaLog
from tests.simulation.chaos import Action
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.on_kafka import KafkaProcess, KafkaWorld


async def freeze(world: World) -> None:
    """SIGSTOP, and SIGCONT later: others may have taken over, and the process does not know."""
    here, (name, process) = _here(world), _one(world)
    seconds = world.chance.choice((0.5, 3.0, 20.0)) * (0.5 + world.chance.random())
    world.fault("suspended", f"{name} is stopped for {seconds:.1f} s")
    process.freeze()
    here.brokers.soon(seconds, process.resume)


async def cut(world: World) -> None:
    """A process reaches no broker for a while, and goes on by itself."""
    here, (name, process) = _here(world), _one(world)
    seconds = world.chance.uniform(1, 20)
    world.fault("cut_off", f"{name} reaches no broker for {seconds:.1f} s")
    process.link.is_down = True
    here.brokers.soon(seconds, partial(setattr, process.link, "is_down", False))


async def away(world: World) -> None:
    """Brokers are away, and come back with what they had."""
    brokers = _here(world).brokers
    if not brokers.is_away:
        seconds = world.chance.choice((0.5, 4.0, 20.0)) * (0.5 + world.chance.random())
        world.fault("brokers_away", f"brokers are away for {seconds:.1f} s")
        brokers.go_away()
        brokers.soon(seconds, brokers.come_back)


async def fence(world: World) -> None:
    """Somebody opens a partition to write, and does not."""
    here = _here(world)
    number = world.chance.randrange(here.partitions)
    world.fault("owner_fenced", f"the owner of partition {number} is fenced")
    try:
        async with asyncio.timeout(60):
            await (await KafkaLog.open(here.operator, number)).close()
    except (LogUnavailable, OwnerLost, TimeoutError) as error:
        world.note(f"nobody was fenced: {error}")


async def compact(world: World) -> None:
    """Brokers compact the snapshots."""
    world.fault("compacted", "brokers compact the snapshots")
    _here(world).brokers.compact()


def _here(world: World) -> "KafkaWorld":
    from tests.simulation.on_kafka import KafkaWorld

    assert isinstance(world, KafkaWorld)
    return world


def _one(world: World) -> "tuple[str, KafkaProcess]":
    return world.chance.choice(list(_here(world).running.items()))


ACTIONS: Final[tuple[Action, ...]] = (freeze, cut, away, fence, compact)
