"""What a PyTorchJob's spec boils down to. Source: kubeflow-pytorchjob.md, sections 1, 5, 6."""

import pytest

from statemachine.kinds.pytorchjob.replica_types import elastic_range
from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec
from statemachine.spec import CleanUpPolicy, RestartPolicy
from tests.unit.kinds.build import Spec
from tests.unit.kinds.kubeflow import plan, replica, spec, types, workers_only


def test_a_job_that_says_little_has_the_defaults() -> None:
    job_plan = plan(spec({"worker": replica()}))
    assert [(type_.type, type_.scale, type_.restart_policy) for type_ in job_plan.types] == [
        ("worker", 1, RestartPolicy.ON_FAILURE)
    ]
    assert (job_plan.backoff_limit, job_plan.active_deadline_seconds, job_plan.ttl_seconds) == (
        None,
        None,
        None,
    )
    assert (job_plan.clean_up, job_plan.paused, job_plan.min_running) == (CleanUpPolicy.NONE, False, None)


def test_the_master_comes_first_wherever_it_stands() -> None:
    job_plan = plan(spec({"Worker": replica(2), "Master": replica()}))
    assert list(job_plan.replicas()) == ["master-0", "worker-0", "worker-1"]
    assert job_plan.primary == "master-0"


def test_without_a_master_the_first_worker_is_primary() -> None:
    assert plan(workers_only()).primary == "worker-0"


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never", "ExitCode"])
def test_each_type_has_its_own_restart_policy(policy: str) -> None:
    job_plan = plan(spec(types(Worker=replica(2, restartPolicy=policy))))
    assert [type_.restart_policy for type_ in job_plan.types] == ["OnFailure", policy]


@pytest.mark.parametrize(
    ("said", "means"),
    [("None", CleanUpPolicy.NONE), ("Running", CleanUpPolicy.UNFINISHED), ("All", CleanUpPolicy.ALL)],
)
def test_the_run_policy_is_in_the_plan(said: str, means: CleanUpPolicy) -> None:
    policy = {
        "cleanPodPolicy": said,
        "ttlSecondsAfterFinished": 100,
        "activeDeadlineSeconds": 60,
        "backoffLimit": 0,
        "suspend": True,
    }
    job_plan = plan(spec(runPolicy=policy))
    assert (job_plan.clean_up, job_plan.ttl_seconds, job_plan.active_deadline_seconds) == (means, 100, 60)
    assert (job_plan.backoff_limit, job_plan.paused) == (0, True)


@pytest.mark.parametrize(
    ("elastic", "ends"),
    [
        ({}, (2, 2)),
        ({"minReplicas": 1}, (1, 1)),
        ({"maxReplicas": 4}, (4, 4)),
        ({"minReplicas": 1, "maxReplicas": 4}, (1, 4)),
    ],
)
def test_what_elastic_does_not_say_is_its_other_end_or_the_workers(
    elastic: Spec, ends: tuple[int, int]
) -> None:
    of = workers_only(2, elasticPolicy=elastic)
    assert elastic_range(PyTorchJobSpec.model_validate(of)) == ends
