"""How many seeds of each family of worlds a run takes, and which: `JOBLEDGER_SIM_SEEDS` and its neighbours."""

import os
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from tests.simulation.coverage import COVERAGE
from tests.simulation.run import Failed, simulate
from tests.simulation.shapes import Shape
from tests.simulation.shrink import shrunk
from tests.simulation.together import jobs_of
from tests.simulation.world import Broken, World
from tests.support import seeds as seeding
from tests.support.collecting import many_worlds

SEEDS: Final = int(os.environ.get("JOBLEDGER_SIM_SEEDS") or 50)
_FIRST: Final = seeding.seed(0, "JOBLEDGER_SIM_FIRST")
_ONE: Final = os.environ.get("JOBLEDGER_SIM_SEED")


def chunked(size: int, number: int = SEEDS) -> pytest.MarkDecorator:
    """So many seeds from the first on, at least one, so many a test; or the one that is asked for."""
    end = _FIRST + max(1, number)
    chunks: list[Sequence[int]] = [range(first, min(first + size, end)) for first in range(_FIRST, end, size)]
    if _ONE:
        chunks = [(int(_ONE),)]
    return pytest.mark.parametrize("seeds", chunks, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")


family_seeds: Final = chunked(10)


def simulate_all(seeds: Sequence[int], make: Callable[[int, Shape], World] = World) -> None:
    """Every seed, with jobs of every kind by turns."""
    with many_worlds():
        for seed in seeds:
            try:
                simulate(seed, jobs_of(seed), make, coverage=COVERAGE)
            except Failed as error:
                raise Broken(f"{error}\n\n{shrunk(error)}") from None
