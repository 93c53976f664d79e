"""One seed, from its first job to its last entry."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final
from unittest.mock import patch

from jobledger.wiring import audit
from projectors import sweeper
from statemachine.engine import timers
from statemachine.errors import EntryUnreadable
from statemachine.log.codec import decode
from statemachine.observations import Observation
from statemachine.wire import plain
from tests.simulation import chaos
from tests.simulation.coverage import Coverage
from tests.simulation.crash_points import BY_CHANCE, POINTS, aimed
from tests.simulation.invariants import Watch, demand
from tests.simulation.shapes import PYTORCH, Shape
from tests.simulation.steps import Script
from tests.simulation.world import Broken, World
from tests.support.collecting import one_world
from tests.support.fate import Fate
from tests.support.faults import LATEST
from tests.support.simulated import Deadlock, one_loop, run_simulated

_SELDOM: Final = 75.0
"""Seconds between two sweeps, two audits, and two looks of timers at the clock once no fault happens any more.

Four of each fit into the time after which a world is at rest, and what they cost nobody needs: the clock is right.
"""


class Failed(Broken):
    """A world that did what it must never do, as it was then."""

    def __init__(self, text: str, world: World) -> None:
        super().__init__(text)
        self.world = world


@one_world()
def simulate(
    seed: int,
    shape: Shape = PYTORCH,
    make: Callable[[int, Shape], World] = World,
    *,
    script: Script | None = None,
    coverage: Coverage | None = None,
) -> World:
    """The world of `seed` after its end, with jobs of this shape; `make` says which family of worlds it is of.

    What is done to it is drawn from the seed, or stands in a `script`. `coverage` gets what was met on the way.

    Raises:
        Failed: something that must hold did not; the message has the story, and how to see it again.
    """
    world = make(seed, shape)
    world.weather.fate = (
        script.fate
        if script
        else Fate(Random(f"{seed} faults"), aimed(Random(f"{seed} aim"), {**world.points, **shape.points}))
    )
    with _errors_are_findings(world), world.surroundings():
        try:
            watch = run_simulated(_in_one_loop(world, script), seed, world.loop)
        except (Broken, Deadlock) as error:
            again = "" if script else f"again: make sim SEED={seed}\n\n"
            raise Failed(f"{error}\n\n{again}{story(world)}", world) from error
    if coverage is not None:
        coverage.add(world, watch.tally)
    return world


@contextmanager
def _errors_are_findings(world: World) -> Iterator[None]:
    """Errors that are logged are kept; what is below costs nothing."""
    root, handler, before = logging.getLogger(), world.listen(), logging.root.manager.disable
    logging.disable(logging.WARNING)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        logging.disable(before)


async def _in_one_loop(world: World, script: Script | None) -> Watch:
    with one_loop():
        return await _watched(world, script)


async def _watched(world: World, script: Script | None) -> Watch:
    """The whole life of a world, which ends early if a step of it is wrong."""
    watch = Watch(world)
    life = asyncio.create_task(_live(world, watch, script), name="life")
    either: list[asyncio.Future[Any]] = [life, watch.failed]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    world.diary.calm_at = world.diary.calm_at or asyncio.get_running_loop().time()
    if watch.failed.done():
        life.cancel()
        await asyncio.wait([life])
        raise Broken("\n".join(watch.failed.result()))
    await life
    unknown = sorted(world.weather.passages.passed.keys() - POINTS.keys() - BY_CHANCE)
    demand("a process can die", [f"where no crash point is named: {unknown}"] if unknown else [])
    return watch


async def _live(world: World, watch: Watch, script: Script | None) -> None:
    keeper = asyncio.create_task(world.keep_running(), name="keeper")
    try:
        await _story(world, watch, script)
    finally:
        keeper.cancel()
        await world.end_processes()


async def _story(world: World, watch: Watch, script: Script | None) -> None:
    if script is None:
        users = asyncio.create_task(_submit(world), name="users")
        await chaos.chaos(world)
        await users
    else:
        await world.diary.play(world, script)
        await chaos.calm(world)
    with (
        patch.object(sweeper, "_EVERY", _SELDOM),
        patch.object(audit, "ROUND", _SELDOM),
        patch.object(timers, "_LONGEST_SLEEP", _SELDOM),
        world.resting(),
    ):
        await _rest(world, watch)
        await _resync(world, watch)
        await _make_way(world, watch)
        await _clear(world, watch)


async def _submit(world: World) -> None:
    chance = Random(f"{world.seed} users")
    for _ in range(chance.randint(1, 3)):
        await world.diary.perform(world, "submit", chance.getrandbits(32))
        await asyncio.sleep(chance.expovariate(1 / 3))


async def _rest(world: World, watch: Watch) -> None:
    """No fault any more: the watches have reported everything, and everything has been done."""
    await asyncio.sleep(LATEST)
    world.cluster.drop_watches()
    if world.harmed or world.weather.late_unseen:
        watch.tally.excuse("controller killed before rest")
        world.kill()  # what no watch tells of is seen at the next visit
    await world.settle()
    watch.check_rest("at rest")


async def _resync(world: World, watch: Watch) -> None:
    """Everything is observed once more, by a controller that remembers nothing: it says nothing."""
    before = sum(1 for _ in world.records()), world.changes
    world.note("killed at rest")
    world.kill()
    await world.settle()
    after = sum(1 for _ in world.records()), world.changes
    demand("after a resync", [f"{before} entries and changes became {after}"] if before != after else [])
    watch.check_rest("after a resync")


async def _make_way(world: World, watch: Watch) -> None:
    """Jobs that others of the same name wait for are deleted: those have their children then."""
    if not (namesakes := watch.namesakes()):
        return
    for job in world.live_jobs():
        if job["metadata"]["uid"] in namesakes:
            world.delete(job)
    await world.settle()
    watch.check_rest("after the deletion of namesakes")


async def _clear(world: World, watch: Watch) -> None:
    for job in world.live_jobs():
        world.delete(job)
    await world.settle()
    watch.check_end("after the deletion of all jobs")


def story(world: World) -> str:
    """The story of a world: what was done to it, and its log."""
    return "\n".join(["what was done:", *world.notes, "", "the log:", *_entries(world)])


def _entries(world: World) -> Iterator[str]:
    for record in world.records():
        try:
            entry = decode(record.body)
        except EntryUnreadable:
            yield f"{record.job} {record.seq}: {record.body!r}"
            continue
        yield f"{entry.seen_at:%H:%M:%S.%f} {record.job} {record.seq}: {_short(entry.cause)}"
        for event in entry.events:
            fields = plain(event)
            yield f"        {event.type} " + " ".join(f"{key}={value!r:.90}" for key, value in fields.items())


def _short(observation: Observation) -> str:
    left_out = {"type", "job", "at", "happened_at"}
    fields = {name: value for name, value in plain(observation).items() if name not in left_out}
    return f"{observation.type} " + " ".join(f"{key}={value!r:.120}" for key, value in fields.items())
