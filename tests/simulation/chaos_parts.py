"""What happens to processes, each by itself."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tests.simulation.chaos import Action
from tests.simulation.processes import Process
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.apart import ApartWorld

_MOST_SKEW: Final = 40.0
_CRASHES: Final = 6


async def kill_part(world: World) -> None:
    """Kill -9 of one process; the others do not hear of it."""
    name, process = _one(world)
    world.fault("part_killed", f"{name} killed")
    process.kill()


async def stop_part(world: World) -> None:
    """An orderly restart of one process."""
    name, process = _one(world)
    world.fault("part_stopped", f"{name} stopped")
    process.stop()


async def part_away(world: World) -> None:
    """One process is killed, and not started again for a minute or two."""
    name, process = _one(world)
    seconds = world.chance.uniform(5, 120)
    world.fault("part_away", f"{name} is away for {seconds:.0f} s")
    world.away_until[name] = asyncio.get_running_loop().time() + seconds
    process.kill()


async def freeze(world: World) -> None:
    """SIGSTOP, and SIGCONT up to a minute later: time has passed, and the process does not know."""
    name, process = _one(world)
    seconds = world.chance.uniform(1, 60)
    world.fault("frozen", f"{name} is stopped for {seconds:.0f} s")
    process.life.frozen_until = asyncio.get_running_loop().time() + seconds


async def crash_loop(world: World) -> None:
    """One process dies again and again, right after its start."""
    name, _ = _one(world)
    world.fault("crash_loop", f"{name} crashes in a loop")
    for _ in range(world.chance.randint(2, _CRASHES)):
        process = world.processes()[name]
        process.kill()
        await process.ended()
        await asyncio.sleep(world.chance.uniform(0, 4))


async def second_bridge(world: World) -> None:
    """Another bridge is started: each observation comes twice, of one of them late."""
    apart = _apart(world)
    world.fault("second_bridge", "a second bridge starts")
    asyncio.get_running_loop().call_later(world.chance.uniform(2, 60), apart.add_bridge().kill)


async def skew(world: World) -> None:
    """The clock of one process is off by some seconds, in either direction."""
    clocks = _apart(world).clocks
    roles = world.chance.choice(list(clocks))
    seconds = max(-_MOST_SKEW, min(_MOST_SKEW, world.chance.gauss(0, 20)))
    world.fault("skew", f"the clock of {', '.join(roles)} is off by {seconds:+.1f} s")
    clocks[roles].jump(timedelta(seconds=round(seconds, 6)))


def _apart(world: World) -> "ApartWorld":
    from tests.simulation.apart import ApartWorld

    assert isinstance(world, ApartWorld)
    return world


def _one(world: World) -> tuple[str, Process]:
    return world.chance.choice(list(world.processes().items()))


OF_ANY: Final[tuple[Action, ...]] = (part_away, freeze, crash_loop)
"""Those that make sense of a process that does everything, too."""

ACTIONS: Final[tuple[Action, ...]] = (*OF_ANY, kill_part, stop_part, second_bridge, skew)
