"""One seed, from its first job to its last entry."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from statemachine.ids import JobUid
from statemachine.log.codec import decode
from statemachine.observations import Observation
from tests.simulation.chaos import chaos
from tests.simulation.invariants import Story, check_end, check_log, check_rest, stories
from tests.simulation.shapes import KIND
from tests.simulation.world import Broken, World
from tests.support.faults import LATEST
from tests.support.simulated import Deadlock, run_simulated


def simulate(seed: int, kind: str = KIND) -> World:
    """The world of `seed` after its end.

    Raises:
        Broken: something that must hold did not; the message has the story, and how to see it again.
    """
    world = World(seed, kind)
    with _errors_are_findings(world):
        try:
            run_simulated(_live(world), seed)
        except (Broken, Deadlock) as error:
            raise Broken(f"{error}\n\nagain: make sim SEED={seed}\n\n{story(world)}") from error
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


async def _live(world: World) -> None:
    keeper = asyncio.create_task(world.keep_running(), name="keeper")
    users = asyncio.create_task(_submit(world), name="users")
    await chaos(world)
    await users
    await _resync(world, await _rest(world))
    await _clear(world)
    keeper.cancel()
    await world.end_processes()


async def _submit(world: World) -> None:
    for number in range(world.chance.randint(1, 3)):
        await world.submit(f"job{number}")
        await asyncio.sleep(world.chance.expovariate(1 / 3))


async def _rest(world: World) -> Mapping[JobUid, Story]:
    """No fault any more: the watches have told everything, and everything has been done."""
    await asyncio.sleep(LATEST)
    world.cluster.drop_watches()
    if world.process is not None and (world.harmed or world.usurped or world.weather.late_unseen):
        world.process.kill()  # what no watch tells of is seen at the next visit
    await world.settle()
    told = stories(world)
    _demand("at rest", [*check_log(world, told), *check_rest(world, told)])
    return told


async def _resync(world: World, told: Mapping[JobUid, Story]) -> None:
    """Everything is observed once more, by a controller that remembers nothing: it says nothing."""
    before = sum(1 for _ in world.records()), world.changes
    if world.process is not None:
        world.note("controller killed at rest")
        world.process.kill()
    await world.settle()
    after = sum(1 for _ in world.records()), world.changes
    if before != after:
        _demand("after a resync", [f"{before} entries and changes became {after}"])
    _demand("after a resync", check_rest(world, told))


async def _clear(world: World) -> None:
    for job in world.live_jobs():
        world.delete(job)
    await world.settle()
    _demand("after the deletion of all jobs", check_end(world))


def _demand(when: str, found: list[str]) -> None:
    if found:
        raise Broken("\n".join([f"{when}:", *found]))


def story(world: World) -> str:
    """The story of a world: what was done to it, and its log."""
    return "\n".join(["what was done:", *world.notes, "", "the log:", *_entries(world)])


def _entries(world: World) -> Iterator[str]:
    for record in world.records():
        entry = decode(record.body)
        yield f"{entry.seen_at:%H:%M:%S.%f} {record.job} {record.seq}: {_short(entry.cause)}"
        for event in entry.events:
            fields = event.model_dump(exclude_defaults=True, mode="json")
            yield f"        {event.type} " + " ".join(f"{key}={value!r:.90}" for key, value in fields.items())


def _short(seen: Observation) -> str:
    fields = seen.model_dump(exclude_defaults=True, mode="json", exclude={"job", "at", "happened_at"})
    return f"{seen.type} " + " ".join(f"{key}={value!r:.120}" for key, value in fields.items())
