"""One seed of engines on the partitioned log, from its first observation to its last check."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

from jobledger.wiring import sinks
from statemachine.engine import decisions
from statemachine.engine.kafka import aiokafka_feed
from tests.simulation.kafka import invariants
from tests.simulation.kafka.clients import Client
from tests.simulation.kafka.faults import calm, chaos
from tests.simulation.kafka.publishers import unchecked_sinks
from tests.simulation.kafka.world import World
from tests.simulation.world import Broken
from tests.support.collecting import one_world
from tests.support.kafka_model.installed import installed
from tests.support.processes import ProcessLoop
from tests.support.simulated import Deadlock, one_loop, run_simulated

_LOOK: Final = 2.0
"""Seconds between two looks at what must hold at any time."""

_NEVER_DONE: Final = 300.0
"""Seconds of calm after which all must be decided, or published: sessions, pauses, time-outs are over long before."""

_SNAPSHOT_EVERY: Final = 12
"""Entries; few, so that seeds have snapshots."""


@one_world()
def simulate(seed: int, *, fences: bool = True) -> World:
    """The world of `seed` after its end.

    Raises:
        Broken: something that must hold did not; the message has the story, and how to see it again.
    """
    worlds: list[World] = []
    often = patch.object(decisions, "_SNAPSHOT_EVERY", _SNAPSHOT_EVERY)
    patient = patch.object(aiokafka_feed, "_POLL_MS", 1000)  # what comes wakes who waits for it
    seldom = patch.object(sinks, "LOOK", 5.0)
    with installed(), often, patient, seldom, unchecked_sinks(), _quiet():
        try:
            run_simulated(_live(seed, fences, worlds), seed, ProcessLoop)
        except (Broken, Deadlock) as error:
            story = "\n".join(worlds[0].notes)
            again = f"make sim SEED={seed} ARGS='-k kafka'"
            raise Broken(f"{error}\n\nagain: {again}\n\nwhat was done:\n{story}") from error
    return worlds[0]


async def _live(seed: int, fences: bool, worlds: list[World]) -> None:
    world = World(seed, fences)
    worlds.append(world)
    root, handler = logging.getLogger(), world.listen()
    root.addHandler(handler)
    try:
        with one_loop():
            await _story(world)
    finally:
        root.removeHandler(handler)
        clients = (*world.engines, *world.publishers)
        for client in clients:
            client.kill()
        for client in clients:
            await client.process.bury()


async def _story(world: World) -> None:
    await world.make_topics()
    keeper = asyncio.create_task(world.keep_running(), name="keeper")
    looking = asyncio.create_task(_look(world), name="invariants")
    try:
        observing = world.bridge.start(world.observe())
        await chaos(world)
        calm(world)
        await observing
        await _settle(world)
        world.wanted = 0
        await _stop(world.running())
        await _publish(world)
        keeper.cancel()
        looking.cancel()
        await _stop(world.publishing())
    finally:
        keeper.cancel()
        looking.cancel()
        await asyncio.wait([keeper, looking])
        broken = None if looking.cancelled() else looking.exception()  # of a story that failed before it, too
    if broken is not None:
        raise broken
    await _check(world)


async def _look(world: World) -> None:
    while True:
        await asyncio.sleep(_LOOK)
        _demand(
            "at any time",
            [finding for law in invariants.AT_ANY_TIME for finding in _named(law.__name__, law(world))],
        )


async def _settle(world: World) -> None:
    """All that was put is decided, and nothing more is written."""
    before = -1

    def is_settled() -> bool:
        nonlocal before
        last, before = before, world.entries()
        return world.is_all_decided() and last == before

    await _until(world, is_settled, "decided")


async def _publish(world: World) -> None:
    """All that was written is published."""
    await _until(world, world.is_all_published, "published")


async def _until(world: World, holds: Callable[[], bool], what: str) -> None:
    loop = asyncio.get_running_loop()
    limit = loop.time() + _NEVER_DONE
    while not holds():
        await asyncio.sleep(world.session)
        if loop.time() > limit:
            raise Broken(f"not all was {what} in {_NEVER_DONE:.0f} s of calm")


async def _stop(clients: Iterable[Client]) -> None:
    """They hand over, one after the other."""
    for client in clients:
        client.stop()
        if client.process.task is not None:
            await asyncio.wait([client.process.task])


async def _check(world: World) -> None:
    laws = (*invariants.AT_ANY_TIME, *invariants.AT_REST)
    wrong = [finding for law in laws for finding in _named(law.__name__, law(world))]
    wrong += _named("one engine", iter(await invariants.one_engine_would_have_written_the_same(world)))
    wrong += _named("snapshots", iter(await invariants.snapshots_say_what_the_log_says(world)))
    _demand("at rest", wrong)


def _named(law: str, findings: Iterator[str]) -> Iterator[str]:
    return (f"{law}: {finding}" for finding in findings)


def _demand(when: str, wrong: list[str]) -> None:
    if wrong:
        raise Broken("\n".join([f"{when}:", *wrong]))


@contextmanager
def _quiet() -> Iterator[None]:
    """What is below an error costs nothing."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
