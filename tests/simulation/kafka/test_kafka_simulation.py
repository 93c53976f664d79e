"""Engines on the partitioned log, and publishers: whatever happens, what is observed is decided and published once.

`JOBLEDGER_SIM_KAFKA_SEEDS` says how many seeds; `JOBLEDGER_SIM_FIRST` and `JOBLEDGER_SIM_SEED` as for other families.
"""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest

from tests.simulation.families import chunked
from tests.simulation.kafka.faults import FAULTS
from tests.simulation.kafka.run import simulate
from tests.support.collecting import many_worlds

_CHUNK: Final = 40
"""Seeds of a test, which takes some twelve seconds of processor time: one in fifteen loses an owner."""

_SEEDS: Final = int(os.environ.get("JOBLEDGER_SIM_KAFKA_SEEDS") or _CHUNK)

_SUDDEN: Final = tuple(
    f"{who}{what} at a request" for who in ("", "publisher ") for what in ("killed", "frozen")
)
_ENDS: Final = ("OwnerLost", "LogUnavailable")
_AGAIN: Final = ("repeats", "put again", "publisher starts again")


@chunked(_CHUNK, _SEEDS)
def test_every_observation_is_decided_and_published_once_whatever_happens(seeds: Sequence[int]) -> None:
    did: Counter[str] = Counter()
    with many_worlds():
        for seed in seeds:
            world = simulate(seed)
            did += world.did
            for engine in world.engines:
                did += engine.worker.endings
    if seeds == range(_CHUNK):  # of others one fault or another may be missing by chance
        wanted = [*(fault.__name__ for fault in FAULTS), *_SUDDEN, *_ENDS, *_AGAIN]
        assert not [name for name in wanted if not did[name]], f"these faults never came: {did}"


@pytest.mark.parametrize("seed", [3, 8])
def test_the_same_seed_writes_the_same_bytes(seed: int) -> None:
    first, second = ([record.body for record in simulate(seed).announced] for _ in range(2))
    assert first == second
