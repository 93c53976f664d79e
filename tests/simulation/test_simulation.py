"""Seeds → the whole system on simulated time, with faults. A failure prints the command that repeats it.

`JOBLEDGER_SIM_SEEDS` says how many seeds of each family, `JOBLEDGER_SIM_FIRST` with which one they begin (0, or a
random one where fresh seeds are asked for), `JOBLEDGER_SIM_SEED` picks one. A test is fifty seeds: enough of them to
share out, few to report. Its name has the first and the last of them. A seed
that fails is made short, see `tests.simulation.shrink`.
"""

import gc
from collections.abc import Sequence
from typing import Final
from weakref import ref

import pytest

from tests.simulation.families import chunked, simulate_all
from tests.simulation.focused import ForceWorld, one_controller
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH
from tests.simulation.together import SHAPES

all_seeds: Final = chunked(50)


@all_seeds
def test_whatever_happens_the_promises_hold(seeds: Sequence[int]) -> None:
    simulate_all(seeds, one_controller)


def test_a_pod_that_was_removed_by_force_before_any_report_of_it_has_no_twin() -> None:
    simulate(6423, PYTORCH, ForceWorld)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("seed", [3, 17])
def test_the_same_seed_writes_the_same_bytes(seed: int, kind: str) -> None:
    first, second = ([record.body for record in simulate(seed, SHAPES[kind]).records()] for _ in range(2))
    assert first == second


def test_nothing_of_a_world_stays_in_memory() -> None:
    world = ref(simulate(3))
    gc.collect()
    assert world() is None
