"""Families of worlds, each a test of its own; how many seeds of each a run takes.

As for the families of `test_simulation`, `JOBLEDGER_SIM_SEEDS` and its neighbours say how many and which.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from tests.simulation.coverage import COVERAGE
from tests.simulation.run import Failed, simulate
from tests.simulation.shapes import PYTORCH, Shape
from tests.simulation.shrink import shrunk
from tests.simulation.world import Broken, World
from tests.support import seeds as seeding

_SEEDS: Final = int(os.environ.get("JOBLEDGER_SIM_SEEDS") or 50)
_FIRST: Final = seeding.seed(0, "JOBLEDGER_SIM_FIRST")
_ONE: Final = os.environ.get("JOBLEDGER_SIM_SEED")
_CHUNK: Final = 10


def _chunks(number: int) -> list[Sequence[int]]:
    end = _FIRST + number
    if _ONE:
        return [(int(_ONE),)]
    return [range(first, min(first + _CHUNK, end)) for first in range(_FIRST, end, _CHUNK)]


family_seeds: Final = pytest.mark.parametrize(
    "seeds", _chunks(max(1, _SEEDS)), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}"
)


def simulate_all(
    seeds: Sequence[int], make: Callable[[int, Shape], World], shapes: Sequence[Shape] = (PYTORCH,)
) -> None:
    """Every seed, with the shapes of jobs by turns."""
    for seed in seeds:
        try:
            simulate(seed, shapes[seed % len(shapes)], make, coverage=COVERAGE)
        except Failed as error:
            raise Broken(f"{error}\n\n{shrunk(error)}") from None
