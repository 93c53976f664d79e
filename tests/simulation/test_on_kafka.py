"""Seeds → whole processes on the partitioned log: see `on_kafka`, `views_on_kafka`, `newer_on_kafka`."""

from collections.abc import Sequence
from typing import Final

from tests.simulation.families import SEEDS, chunked, simulate_all
from tests.simulation.newer_on_kafka import NewerWorld
from tests.simulation.on_kafka import KafkaWorld
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH
from tests.simulation.views_on_kafka import ViewsWorld

_SEEDS: Final = max(20, SEEDS // 10)
"""A tenth of what other families have: a seed takes six times as long, as consumers ask brokers all the time."""

_SEEDS_WITH_VIEWS: Final = max(5, SEEDS // 40)
"""A seed takes 0.7 s: beside the log, three sinks are asked about."""


@chunked(10, _SEEDS)
def test_the_promises_hold_on_the_partitioned_log(seeds: Sequence[int]) -> None:
    simulate_all(seeds, KafkaWorld)


@chunked(5, _SEEDS_WITH_VIEWS)
def test_history_and_sinks_have_what_the_partitioned_log_has(seeds: Sequence[int]) -> None:
    simulate_all(seeds, ViewsWorld)


@chunked(5, _SEEDS_WITH_VIEWS)
def test_the_promises_hold_on_a_partitioned_log_that_a_newer_release_wrote_in(seeds: Sequence[int]) -> None:
    simulate_all(seeds, NewerWorld)


def test_the_same_seed_writes_the_same_bytes_on_the_partitioned_log() -> None:
    first, second = ([record.body for record in simulate(3, PYTORCH, KafkaWorld).records()] for _ in range(2))
    assert first == second
