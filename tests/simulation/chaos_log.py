"""What happens to snapshots, which stand beside the log: they are a cache, and entries decide."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from statemachine.log.port import Snapshot
from statemachine.state import STATE_VERSION
from tests.simulation.chaos import Action
from tests.simulation.world import World
from tests.support.memory_log import MemoryLog


async def snapshots_deleted(world: World) -> None:
    """Somebody deletes all of them between two lives of a controller."""
    await _between_lives(world, "snapshots_deleted", MemoryLog.forget_snapshots)


async def snapshots_older(world: World) -> None:
    """Those of an earlier time are put back: a restored volume."""
    await _between_lives(world, "snapshots_older", lambda log: _put_back(log, world))


async def snapshots_newer(world: World) -> None:
    """A newer release has saved them, and was taken back."""
    await _between_lives(world, "snapshots_newer", _version)


async def snapshots_damaged(world: World) -> None:
    """Their bytes are not what was saved."""
    await _between_lives(world, "snapshots_damaged", lambda log: _damage(log, world))


async def snapshots_unsealed(world: World) -> None:
    """Some do not hold against the key: an adapter leaves them out, and what is left covers nothing."""
    await _between_lives(world, "snapshots_unsealed", _unseal)


async def _between_lives(world: World, fault: str, change: Callable[[MemoryLog], None]) -> None:
    """Every process ends in order, which saves states; then something happens to them."""
    for process in list(world.processes().values()):
        process.stop()
        await process.ended()
    if world.log._snapshots:
        world.fault(fault)
        world.earlier.append((world.log._covered, dict(world.log._snapshots)))
        change(world.log)


def _put_back(log: MemoryLog, world: World) -> None:
    log._covered, kept = world.chance.choice(world.earlier)
    log._snapshots = dict(kept)


def _version(log: MemoryLog) -> None:
    _change_all(log, lambda one: replace(one, version=STATE_VERSION + 1))


def _damage(log: MemoryLog, world: World) -> None:
    _change_all(log, lambda one: replace(one, body=one.body[: len(one.body) // 2]))
    world.damaged.update(one.body for one in log._snapshots.values())


def _unseal(log: MemoryLog) -> None:
    log._snapshots = dict(list(log._snapshots.items())[1:])
    log._covered = 0


def _change_all(log: MemoryLog, change: Callable[[Snapshot], Snapshot]) -> None:
    log._snapshots = {job: change(snapshot) for job, snapshot in log._snapshots.items()}


ACTIONS: Final[tuple[Action, ...]] = (
    snapshots_deleted,
    snapshots_older,
    snapshots_newer,
    snapshots_damaged,
    snapshots_unsealed,
)
