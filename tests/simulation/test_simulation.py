"""Seeds → the whole system on simulated time, with faults. A failure prints the command that repeats it.

`JOBLEDGER_SIM_SEEDS` says how many seeds, `JOBLEDGER_SIM_SEED` picks one.
"""

import os
from collections.abc import Sequence
from typing import Final

import pytest

from tests.simulation import chaos
from tests.simulation.run import simulate

_SEEDS: Final = int(os.environ.get("JOBLEDGER_SIM_SEEDS") or 200)
_ONE: Final = os.environ.get("JOBLEDGER_SIM_SEED")
_CHUNK: Final = 50
_FORCED: Final = _SEEDS // 4


def _chunks() -> list[Sequence[int]]:
    if _ONE:
        return [(int(_ONE),)]
    return [range(first, min(first + _CHUNK, _SEEDS)) for first in range(0, _SEEDS, _CHUNK)]


@pytest.mark.parametrize("seeds", _chunks(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_whatever_happens_the_promises_hold(seeds: Sequence[int]) -> None:
    for seed in seeds:
        simulate(seed)


def test_pods_that_are_removed_by_force_while_the_log_is_down_are_not_made_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chaos, "ACTIONS", chaos.FORCE)
    for seed in [int(_ONE)] if _ONE else range(_FORCED):
        simulate(seed)


@pytest.mark.parametrize("seed", [3, 17])
def test_the_same_seed_writes_the_same_bytes(seed: int) -> None:
    first, second = ([record.body for record in simulate(seed).records()] for _ in range(2))
    assert first == second
