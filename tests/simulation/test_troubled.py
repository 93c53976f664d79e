"""Seeds → a controller under a troubled API server, or with its roles apart: see `troubled` and `apart`."""

from collections.abc import Sequence

from tests.simulation.apart import ApartWorld
from tests.simulation.families import family_seeds, simulate_all
from tests.simulation.replay import replay
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH
from tests.simulation.steps import Step
from tests.simulation.troubled import TroubledWorld
from tests.support.fate import Fault


@family_seeds
def test_the_promises_hold_under_a_troubled_api_server(seeds: Sequence[int]) -> None:
    simulate_all(seeds, TroubledWorld)


def test_a_pod_that_lost_its_owner_and_labels_before_any_report_does_not_keep_its_name_for_ever() -> None:
    """Somebody tidies up, as a job that lives may wait for the name."""
    parts = (
        Step(0.0, "submit", 2193786821),
        Step(0.049845508459705916, "chaos_cluster.strip_owner", 86228559),
        Fault("dies at before news of a Pod", 5),
    )
    replay(
        seed=1, kinds=["PyTorchTrainingJob"], slow=0.001, calm_at=1.0498455, make=TroubledWorld, parts=parts
    )


def test_a_pod_group_that_outlives_a_pause_does_not_let_pods_wait_for_ever() -> None:
    """The job is paused and resumed while the API server lets nobody delete the PodGroup, which stays as it is."""
    parts = (
        Step(0.0, "submit", 1504994956),
        Step(0.8825703695264473, "submit", 1027915953),
        Step(4.5755019930860685, "chaos_cluster.token_expires", 3271602255),
        Step(8.511985417098867, "edit_spec", 2006975840),
        Step(12.808056633180701, "edit_spec", 3688465043),
        Fault("unauthorized", 6),
        Fault("unauthorized", 12),
        Fault("webhook_denies", 1),
    )
    replay(
        seed=38, kinds=["PyTorchJob"], slow=0.001, calm_at=13.808056633180701, make=TroubledWorld, parts=parts
    )


@family_seeds
def test_the_promises_hold_with_each_role_away_by_itself(seeds: Sequence[int]) -> None:
    simulate_all(seeds, ApartWorld)


def test_the_same_seed_writes_the_same_bytes_with_the_roles_apart() -> None:
    first, second = ([record.body for record in simulate(3, PYTORCH, ApartWorld).records()] for _ in range(2))
    assert first == second
