"""Worlds with a history in SQL, whose database fails, is locked, slow, or set back to an earlier copy."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from jobledger.wiring.roles import Role, Roles
from jobledger.wiring.streams import Stream
from statemachine.log.reader import Reader
from tests.simulation import chaos, chaos_parts
from tests.simulation.chaos import Action
from tests.simulation.crash_points import HISTORY, USUAL
from tests.simulation.world import World
from tests.support.faults import Life
from tests.support.faulty_store import FaultyStore, MemoryStore, made_anew

_PHASE, _DELETED, _LAST_SEQ = 5, 9, 12
"""Columns of `history_jobs`."""


class ProjectedWorld(World):
    """One controller, or two for a while, that bring one history on."""

    odds: ClassVar[Mapping[str, float]] = {"database_fails": 0.3, "database_lost_reply": 0.3}
    points: ClassVar[Mapping[str, int]] = {**USUAL, **HISTORY}
    share: ClassVar[float] = 0.3

    def _prepare(self) -> None:
        self.store = MemoryStore()
        self.reader = Reader()
        """Of the whole log, as far as it was looked at."""
        self._anew: tuple[int, Mapping[str, Sequence[Sequence[object]]]] = -1, {}
        self.copies: list[bytes] = []

    def streams_of(self, life: Life, roles: Roles) -> Sequence[Sequence[Stream]]:
        """See World."""
        if Role.PROJECTORS not in roles:
            return ()
        return [[FaultyStore(self.store, life).projector(self.log_of(life, roles))]]

    def findings(self) -> Iterator[str]:
        """At rest the history shows what the log folds to, row by row."""
        shown, expected = self.store.rows(), self._made_anew()
        for table, rows in expected.items():
            if shown[table] != rows:
                yield f"{table} has {set(shown[table]) - set(rows)}, made anew {set(rows) - set(shown[table])}"
        yield from self._unlike_states(shown["history_jobs"])

    def _made_anew(self) -> Mapping[str, Sequence[Sequence[object]]]:
        """What a history of the whole log has; made again when the log has grown."""
        entries = len(self.log._records)
        if self._anew[0] != entries:
            self._anew = entries, made_anew(self.log)
        return self._anew[1]

    def _unlike_states(self, rows: Sequence[Sequence[object]]) -> Iterator[str]:
        reader = self.reader  # goes on where it was at the last look
        for record in self.log._records[reader.position :]:
            reader.accept(record)
        by_uid = {row[0]: row for row in rows}
        for job in reader.jobs:
            tracked = reader.tracked(job)
            row, state = by_uid.get(job), tracked.state
            says = row and (row[_PHASE], bool(row[_DELETED]), row[_LAST_SEQ])
            if says != (state.phase.value, state.deleted, tracked.seq):
                yield f"the history says of job {job}: {says}, the log: {state.phase} at entry {tracked.seq}"


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
    assert isinstance(world, ProjectedWorld)
    if world.copies:
        world.fault("database_restored", "the database is as it was once")
        world.store.put_back(world.chance.choice(world.copies))
        world.harmed = True
    elif any(world.store.rows().values()):
        world.copies.append(world.store.copy())


ACTIONS: Final[tuple[Action, ...]] = (lock, slow, restore)
ProjectedWorld.actions = (*chaos.ACTIONS, *chaos_parts.OF_ANY, *ACTIONS * 4)
