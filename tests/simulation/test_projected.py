"""Seeds → a history in SQL, and a log that other releases have written in: see `projected` and `versions`."""

from collections.abc import Sequence

from tests.simulation.beam_shapes import BEAM
from tests.simulation.deepspeed_shapes import DEEPSPEED
from tests.simulation.families import family_seeds, simulate_all
from tests.simulation.generic_shapes import GENERIC
from tests.simulation.launcher_shapes import LAUNCHER
from tests.simulation.letters import LettersWorld
from tests.simulation.mpi_shapes import MPI
from tests.simulation.projected import ProjectedWorld
from tests.simulation.shapes import PYTORCH
from tests.simulation.tensorflow_shapes import TENSORFLOW
from tests.simulation.torch_shapes import TORCH
from tests.simulation.versions import VersionsWorld, recorded
from tests.simulation.xgboost_shapes import XGBOOST

_SHAPES = (PYTORCH, TORCH, LAUNCHER, DEEPSPEED, GENERIC, MPI, TENSORFLOW, BEAM, XGBOOST)


@family_seeds
def test_a_history_in_sql_is_what_the_log_folds_to_whatever_its_database_does(seeds: Sequence[int]) -> None:
    simulate_all(seeds, ProjectedWorld, _SHAPES)


@family_seeds
def test_the_promises_hold_behind_histories_of_older_and_newer_releases(seeds: Sequence[int]) -> None:
    simulate_all(seeds, VersionsWorld, _SHAPES)


@family_seeds
def test_what_cannot_be_decided_is_kept_wherever_the_process_dies(seeds: Sequence[int]) -> None:
    simulate_all(seeds, LettersWorld, _SHAPES)


def test_every_recorded_history_can_be_the_beginning_of_a_simulated_log() -> None:
    kinds = {kind for shape in _SHAPES for kind in shape.kinds}
    assert {recording.observed.kind for recording in recorded()} <= kinds
