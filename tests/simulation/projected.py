"""Worlds with a history in SQL, whose database fails, is locked, slow, or set back to an earlier copy."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from jobledger.wiring.roles import Role, Roles
from jobledger.wiring.streams import Stream
from tests.simulation import chaos, chaos_parts
from tests.simulation.chaos import Action
from tests.simulation.crash_points import HISTORY, USUAL
from tests.simulation.shared_history import ODDS, SharedHistory, WithHistory
from tests.simulation.world import World
from tests.support.faults import Life


class ProjectedWorld(WithHistory, World):
    """One controller, or two for a while, that bring one history on."""

    odds: ClassVar[Mapping[str, float]] = ODDS
    points: ClassVar[Mapping[str, int]] = {**USUAL, **HISTORY}
    share: ClassVar[float] = 0.3

    def _prepare(self) -> None:
        self.shared = SharedHistory(lambda: [self.log._records])

    def streams_of(self, life: Life, roles: Roles) -> Sequence[Sequence[Stream]]:
        """See World."""
        if Role.PROJECTORS not in roles:
            return ()
        return self.shared.streams(life, [self.log_of(life, roles)])

    def findings(self) -> Iterator[str]:
        """See World."""
        yield from self.shared.findings()


async def lock(world: World) -> None:
    """Another writer holds the database for a while: no transaction can begin."""
    _lasts(world, "database_fails", "database_locked", world.chance.uniform(1, 30))


async def slow(world: World) -> None:
    """Every call of the database takes seconds, for a while."""
    _lasts(world, "database_slow", "database_slow", world.chance.uniform(1, 30))


def _lasts(world: World, answer: str, fault: str, seconds: float) -> None:
    world.fault(fault, f"{fault} for {seconds:.1f} s")
    world.weather.until[answer] = asyncio.get_running_loop().time() + seconds


async def restore(world: World) -> None:
    """An earlier copy of the database is put back; nobody hears of it before the log grows."""
    assert isinstance(world, WithHistory)
    history = world.shared
    if history.copies:
        world.fault("database_restored", "the database is as it was once")
        history.store.put_back(world.chance.choice(history.copies))
        world.harmed = True
    elif any(history.store.rows().values()):
        history.copies.append(history.store.copy())


ACTIONS: Final[tuple[Action, ...]] = (lock, slow, restore)
ProjectedWorld.actions = (*chaos.ACTIONS, *chaos_parts.OF_ANY, *ACTIONS * 4)
