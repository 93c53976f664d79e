"""Seeds → a history in SQL, and a log that other releases have written in: see `projected` and `versions`."""

from collections.abc import Sequence

from tests.simulation.families import family_seeds, simulate_all
from tests.simulation.letters import LettersWorld
from tests.simulation.projected import ProjectedWorld
from tests.simulation.together import SHAPES
from tests.simulation.versions import VersionsWorld, recorded


@family_seeds
def test_a_history_in_sql_is_what_the_log_folds_to_whatever_its_database_does(seeds: Sequence[int]) -> None:
    simulate_all(seeds, ProjectedWorld)


@family_seeds
def test_the_promises_hold_behind_histories_of_older_and_newer_releases(seeds: Sequence[int]) -> None:
    simulate_all(seeds, VersionsWorld)


@family_seeds
def test_what_cannot_be_decided_is_kept_wherever_the_process_dies(seeds: Sequence[int]) -> None:
    simulate_all(seeds, LettersWorld)


def test_every_recorded_history_can_be_the_beginning_of_a_simulated_log() -> None:
    assert {recording.observed.kind for recording in recorded()} <= SHAPES.keys()
