"""Seeds → a history in SQL, and a log that other releases have written in: see `projected` and `versions`."""

from collections.abc import Sequence

from tests.simulation.families import family_seeds, simulate_all
from tests.simulation.letters import LettersWorld
from tests.simulation.projected import ProjectedWorld
from tests.simulation.replay import replay
from tests.simulation.steps import Step
from tests.simulation.together import SHAPES
from tests.simulation.versions import VersionsWorld, recorded


@family_seeds
def test_a_history_in_sql_is_what_the_log_folds_to_whatever_its_database_does(seeds: Sequence[int]) -> None:
    simulate_all(seeds, ProjectedWorld)


@family_seeds
def test_the_promises_hold_behind_histories_of_older_and_newer_releases(seeds: Sequence[int]) -> None:
    simulate_all(seeds, VersionsWorld)


def test_the_children_of_a_job_in_quarantine_go_with_its_object() -> None:
    """The job is deleted while the controller stands still, so nothing but the watch tells it of that afterwards."""
    parts = (
        Step(0.0, "submit", 1509834209),
        Step(2.0930300096826717, "submit", 2512407472),
        Step(3.5889148511115603, "submit", 995614899),
        Step(4.189629432401064, "delete_job", 1062855824),
        Step(8.320100757293886, "versions.newer_event", 4112576953),
        Step(11.673259176743594, "chaos_parts.freeze", 3794021526),
        Step(11.931911087960907, "delete_job", 4226600317),
    )
    replay(
        seed=20254,
        kinds=["GenericJob"],
        slow=0.02,
        calm_at=12.931911087960907,
        make=VersionsWorld,
        parts=parts,
    )


@family_seeds
def test_what_cannot_be_decided_is_kept_wherever_the_process_dies(seeds: Sequence[int]) -> None:
    simulate_all(seeds, LettersWorld)


def test_every_recorded_history_can_be_the_beginning_of_a_simulated_log() -> None:
    assert {recording.observed.kind for recording in recorded()} <= SHAPES.keys()
