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

from tests.simulation import chaos
from tests.simulation.beam_shapes import BEAM
from tests.simulation.deepspeed_shapes import DEEPSPEED
from tests.simulation.families import chunked, simulate_all
from tests.simulation.generic_shapes import GENERIC
from tests.simulation.launcher_shapes import LAUNCHER
from tests.simulation.mpi_shapes import MPI
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH, Shape
from tests.simulation.tensorflow_shapes import TENSORFLOW
from tests.simulation.torch_shapes import TORCH
from tests.simulation.xgboost_shapes import XGBOOST

all_seeds: Final = chunked(50)


@all_seeds
def test_whatever_happens_the_promises_hold(seeds: Sequence[int]) -> None:
    simulate_all(seeds)


@all_seeds
def test_pods_that_are_removed_by_force_while_the_log_is_down_are_not_made_twice(
    seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chaos, "ACTIONS", chaos.FORCE)
    simulate_all(seeds)


def test_a_pod_that_was_removed_by_force_before_any_report_of_it_has_no_twin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chaos, "ACTIONS", chaos.FORCE)
    simulate(6423)


@all_seeds
def test_sight_that_was_lost_is_regained_although_the_clock_is_put_back(
    monkeypatch: pytest.MonkeyPatch, seeds: Sequence[int]
) -> None:
    monkeypatch.setattr(chaos, "ACTIONS", (chaos.lose_sight, chaos.jump) * 3)
    simulate_all(seeds)


@all_seeds
def test_launchers_come_after_their_workers_whatever_happens(seeds: Sequence[int]) -> None:
    simulate_all(seeds, shapes=(LAUNCHER,))


@all_seeds
def test_mpirun_comes_after_the_workers_whatever_happens(seeds: Sequence[int]) -> None:
    simulate_all(seeds, shapes=(MPI,))


@all_seeds
def test_workers_of_two_scales_do_not_meet_whatever_happens(seeds: Sequence[int]) -> None:
    simulate_all(seeds, shapes=(DEEPSPEED,))


@all_seeds
def test_rules_decide_and_every_replica_has_restarts_of_its_own_whatever_happens(
    seeds: Sequence[int],
) -> None:
    simulate_all(seeds, shapes=(GENERIC,))


@all_seeds
def test_masters_and_workers_hold_together_in_either_order(seeds: Sequence[int]) -> None:
    simulate_all(seeds, shapes=(XGBOOST,))


@all_seeds
def test_the_chief_or_worker_0_decides_beside_servers_that_go_on(seeds: Sequence[int]) -> None:
    simulate_all(seeds, shapes=(TENSORFLOW,))


@all_seeds
def test_a_job_of_another_controller_decides_whatever_happens(seeds: Sequence[int]) -> None:
    simulate_all(seeds, shapes=(BEAM,))


@all_seeds
def test_the_promises_hold_for_jobs_of_kubeflow_s(seeds: Sequence[int]) -> None:
    simulate_all(seeds, shapes=(TORCH,))


@pytest.mark.parametrize(
    "shape",
    [PYTORCH, LAUNCHER, DEEPSPEED, TORCH, GENERIC, XGBOOST, MPI, TENSORFLOW, BEAM],
    ids=lambda shape: shape.kinds[0],
)
@pytest.mark.parametrize("seed", [3, 17])
def test_the_same_seed_writes_the_same_bytes(seed: int, shape: Shape) -> None:
    first, second = ([record.body for record in simulate(seed, shape).records()] for _ in range(2))
    assert first == second


def test_nothing_of_a_world_stays_in_memory() -> None:
    world = ref(simulate(3))
    gc.collect()
    assert world() is None
