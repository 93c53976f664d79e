"""What a PyTorchTrainingJob's spec boils down to."""

import pytest

from statemachine.kinds.t9k.elastic import distributed
from statemachine.spec import CleanUpPolicy, Plan, RestartPolicy
from tests.unit.kinds.build import TORCHRUN, Spec, admit, replicas, spec


def plan(of: Spec) -> Plan:
    """The plan of a spec with nothing wrong in it."""
    plan = admit(of).plan
    assert plan is not None
    return plan


def test_defaults_are_the_spec_s() -> None:
    job_plan = plan(spec({"type": "worker", "template": replicas()["template"]}))
    assert job_plan.primary == "worker-0"
    assert (job_plan.backoff_limit, job_plan.active_deadline_seconds) == (3, None)
    assert (job_plan.clean_up, job_plan.min_running, job_plan.children) == (CleanUpPolicy.NONE, None, ())
    assert [(type_.type, type_.scale, type_.restart_policy) for type_ in job_plan.types] == [
        ("worker", 1, RestartPolicy.ON_FAILURE)
    ]


def test_the_first_replica_of_the_first_type_is_the_master() -> None:
    job_plan = plan(spec(replicas("ps"), replicas("worker", 4)))
    assert job_plan.primary == "ps-0"
    assert list(job_plan.replicas()) == ["ps-0", "worker-0", "worker-1", "worker-2", "worker-3"]


def test_elastic_jobs_are_up_with_the_fewest() -> None:
    elastic = {"enabled": True, "minReplicas": 4, "maxReplicas": 10, "expectedReplicas": 7}
    job_plan = plan(spec(replicas("worker", 1), **TORCHRUN, elastic=elastic))
    assert (job_plan.scale, job_plan.min_running) == (7, 4)


def test_without_a_wish_an_elastic_job_has_the_fewest() -> None:
    elastic = {"enabled": True, "minReplicas": 4, "maxReplicas": 10}
    assert plan(spec(replicas("worker", 9), **TORCHRUN, elastic=elastic)).scale == 4


def test_elastic_without_torchrun_counts_for_nothing() -> None:
    elastic = {"enabled": True, "minReplicas": 1, "maxReplicas": 10, "expectedReplicas": 7}
    job_plan = plan(spec(replicas("worker", 2), elastic=elastic))
    assert (job_plan.scale, job_plan.min_running) == (2, None)


def test_elastic_switched_off_counts_for_nothing() -> None:
    elastic = {"minReplicas": 4, "maxReplicas": 10, "expectedReplicas": 7}
    job_plan = plan(spec(replicas("worker", 2), elastic=elastic))
    assert (job_plan.scale, job_plan.min_running) == (2, None)


@pytest.mark.parametrize(
    ("expected", "shares", "scales"),
    [
        (7, [(1, 1)], (7,)),
        (7, [(1, 1), (1, 1)], (4, 3)),
        (8, [(0, 2), (1, 1), (2, 1)], (2, 2, 4)),
        (10, [(3, 1), (1, 1)], (7, 3)),
        (5, [(1, 1), (0, 3), (1, 1)], (1, 3, 1)),
        (9, [(1, 1), (5, 1)], (2, 7)),
    ],
)
def test_replicas_spread_by_weight(
    expected: int, shares: list[tuple[int, int]], scales: tuple[int, ...]
) -> None:
    assert distributed(expected, shares) == scales
