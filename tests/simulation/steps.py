"""What is done to a world, as a list of steps: each has its time, its name and a seed for what it chooses.

While a step is performed, `Chance` draws from the seed of the step: so the same step chooses the same again, whatever
was done before it. A recorded list of steps and faults can be played again, whole or in parts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.support.fate import Fate, Fault
from tests.support.fate import Script as ScriptedFate

if TYPE_CHECKING:
    from tests.simulation.world import World

_STEP: Final[ContextVar[Random | None]] = ContextVar("step", default=None)


class Chance(Random):
    """The random numbers of a world; those of a step, while one is performed."""

    def random(self) -> float:
        """See Random."""
        step = _STEP.get()
        return super().random() if step is None else step.random()

    def getrandbits(self, k: int, /) -> int:
        """See Random."""
        step = _STEP.get()
        return super().getrandbits(k) if step is None else step.getrandbits(k)

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """See Random; the half that it keeps for the next call is not one of another step."""
        step = _STEP.get()
        return super().gauss(mu, sigma) if step is None else step.gauss(mu, sigma)


class Step(NamedTuple):
    """Something is done `at` so many seconds: an action of `tests.simulation.chaos`, or of a module beside it."""

    at: float
    name: str
    seed: int


Part = Step | Fault


@dataclass(frozen=True)
class Script:
    """All that is done to a world: steps, faults, how slow its calls are, and when it becomes calm."""

    parts: tuple[Part, ...]
    slow: float
    calm_at: float

    @property
    def steps(self) -> list[Step]:
        """What is done, in order of time."""
        return sorted(part for part in self.parts if isinstance(part, Step))

    @property
    def fate(self) -> Fate:
        """What goes wrong."""
        return ScriptedFate(part for part in self.parts if isinstance(part, Fault))


class Diary:
    """Performs steps, and remembers which."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.calm_at = 0.0

    async def perform(self, world: "World", name: str, seed: int) -> None:
        """The step is done now."""
        loop = asyncio.get_running_loop()
        self.steps.append(Step(loop.time(), name, seed))
        context = copy_context()
        context.run(_STEP.set, Random(seed))
        await loop.create_task(_done(world, name), name=name, context=context)

    async def play(self, world: "World", script: Script) -> None:
        """Everything is done at its time, until the weather becomes calm."""
        loop = asyncio.get_running_loop()
        world.weather.odds.slow = script.slow
        async with asyncio.TaskGroup() as tasks:
            for step in script.steps:
                await asyncio.sleep(max(0.0, step.at - loop.time()))
                tasks.create_task(self.perform(world, step.name, step.seed))
            await asyncio.sleep(max(0.0, script.calm_at - loop.time()))

    def script(self, world: "World") -> Script:
        """What has been done so far, and what went wrong."""
        weather = world.weather
        parts: tuple[Part, ...] = (*self.steps, *weather.fate.happened)
        return Script(parts, weather.odds.slow, self.calm_at)


async def _done(world: "World", name: str) -> None:
    await action(name)(world)


def named(act: Callable[["World"], Awaitable[None]]) -> str:
    """The name of an action."""
    module = act.__module__.rpartition(".")[2]
    return act.__name__ if module == "chaos" else f"{module}.{act.__name__}"


def action(name: str) -> Callable[["World"], Awaitable[None]]:
    """The action of a name."""
    module, _, function = name.rpartition(".")
    act: Callable[[World], Awaitable[None]] = getattr(
        import_module(f"tests.simulation.{module or 'chaos'}"), function
    )
    return act
