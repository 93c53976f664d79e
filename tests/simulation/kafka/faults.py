"""What happens to engines, publishers, brokers and the ways between them while the chaos lasts."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from statemachine.errors import LogUnavailable, OwnerLost
from statemachine.log.kafka.log import KafkaLog
from tests.simulation.kafka.clients import Client
from tests.simulation.kafka.world import World

Fault = Callable[[World], Awaitable[None]]

_HIGHEST: Final = {"refused": 0.1, "lost": 0.03, "unanswered": 0.05, "late": 0.02}
"""The largest share of requests that a fault meets; each is possible in half of the seeds."""


async def chaos(world: World) -> None:
    """For a while something happens every few seconds; then all is well for ever."""
    chance, loop = world.chance, asyncio.get_running_loop()
    for name, most in _HIGHEST.items():
        setattr(world.odds, name, chance.random() * most if chance.random() < 0.5 else 0.0)
    world.odds.slow = chance.choice((0.001, 0.01, 0.1))
    world.brokers.marker_lag = chance.choice((0.002, 0.05, 0.5))
    world.sudden = chance.choice((0.0, 0.001, 0.004))
    faults = [fault for fault in FAULTS if chance.random() < 0.6] or list(FAULTS)
    pause = chance.choice((1.0, 3.0))
    ends = loop.time() + chance.uniform(15, 40)
    while loop.time() < ends:
        await asyncio.sleep(chance.expovariate(1 / pause))
        fault = chance.choice(faults)
        world.did[fault.__name__] += 1
        await fault(world)


def calm(world: World) -> None:
    """Nothing happens any more; what stood still goes on."""
    world.note("calm")
    world.odds.calm()
    world.sudden = 0.0
    world.brokers.come_back()
    for client in (*world.engines, *world.publishers):
        client.link.is_down = False
        client.process.resume()


async def kill(world: World) -> None:
    """Kill -9 of an engine."""
    _kill(world, world.running())


async def stop(world: World) -> None:
    """An engine hands over and ends."""
    if engine := _some(world, world.running()):
        world.note(f"{engine.process.name} is stopped")
        engine.stop()


async def freeze(world: World) -> None:
    """An engine stands still: others take over, and it goes on as if nothing had been."""
    _freeze(world, world.running())


async def cut(world: World) -> None:
    """An engine reaches no broker for a while, and goes on by itself."""
    _cut(world, world.running())


async def away(world: World) -> None:
    """Brokers are away, and come back with what they had."""
    if world.brokers.is_away:
        return
    seconds = world.chance.choice((0.5, 4.0, 20.0)) * (0.5 + world.chance.random())
    world.note(f"brokers are away for {seconds:.1f} s")
    world.brokers.go_away()
    world.brokers.soon(seconds, world.brokers.come_back)


async def join(world: World) -> None:
    """One more engine than there should be: partitions are dealt out anew."""
    if len(world.running()) <= world.wanted:
        world.start_engine()


async def fence(world: World) -> None:
    """Somebody opens a partition to write, and does not."""
    number = world.chance.randrange(world.partitions)
    world.note(f"the owner of partition {number} is fenced")
    try:
        await (await KafkaLog.open(world.address, number)).close()
    except (LogUnavailable, OwnerLost) as error:
        world.note(f"nobody was fenced: {error}")


async def compact(world: World) -> None:
    """Brokers compact the snapshots."""
    world.brokers.compact()


async def kill_publisher(world: World) -> None:
    """Kill -9 of a publisher; another takes its place."""
    _kill(world, world.publishing())


async def freeze_publisher(world: World) -> None:
    """A publisher stands still, and goes on as if nothing had been."""
    _freeze(world, world.publishing())


async def cut_publisher(world: World) -> None:
    """A publisher reaches no broker for a while."""
    _cut(world, world.publishing())


async def deal(world: World) -> None:
    """Other publishers get partitions."""
    world.deal()


def _kill(world: World, clients: Sequence[Client]) -> None:
    if client := _some(world, clients):
        world.note(f"{client.process.name} is killed")
        client.kill()


def _freeze(world: World, clients: Sequence[Client]) -> None:
    client = _some(world, clients)
    if client is not None and not client.process.is_frozen:
        world.freeze(client)


def _cut(world: World, clients: Sequence[Client]) -> None:
    if client := _some(world, clients):
        seconds = world.session * world.chance.uniform(0.2, 3.0)
        world.note(f"{client.process.name} reaches no broker for {seconds:.1f} s")
        client.link.is_down = True
        world.brokers.soon(seconds, partial(setattr, client.link, "is_down", False))


def _some(world: World, clients: Sequence[Client]) -> Client | None:
    return world.chance.choice(clients) if clients else None


FAULTS: Final[tuple[Fault, ...]] = (
    kill,
    stop,
    freeze,
    freeze,
    cut,
    away,
    join,
    fence,
    compact,
    kill_publisher,
    freeze_publisher,
    cut_publisher,
    deal,
    deal,
)
