"""The worked examples of tensorflowtrainingjob.md §6, as stories; their children are also golden files."""

from statemachine.phases import Phase
from tests.support.scenario import Story
from tests.unit.kinds.build import pod
from tests.unit.kinds.tensorflow import (
    KIND,
    NAME,
    container,
    hosts,
    replicas,
    spec,
    started,
    state,
    tf_config,
    with_policy,
)

EXIT = "The job exited with an error code."


def test_example_a_worker_0_decides_where_there_is_no_chief() -> None:
    of = spec(replicas("worker", 4, restartPolicy="ExitCode"))
    assert tf_config(pod(state(of), "worker-2")) == {
        "cluster": {"worker": hosts("worker", 4)},
        "task": {"type": "worker", "index": 2},
    }
    story = started(of)
    assert story.pod("worker-3", "Succeeded").phase is Phase.RUNNING
    assert story.pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_example_a_a_permanent_exit_code_of_it_fails_the_job_and_a_retryable_one_restarts_it() -> None:
    story = started(spec(replicas("worker", 4, restartPolicy="ExitCode"))).pod(
        "worker-0", "Failed", exit_code=143
    )
    assert (story.phase, story.status["backoffCount"]) == (Phase.RUNNING, 1)
    story.gone("worker-0").pod("worker-0", "Running").pod("worker-0", "Failed", exit_code=1)
    assert story.condition("Failed") == ("True", "Failed", EXIT)
    assert story.status["backoffCount"] == 1


def test_example_b_the_chief_s_success_ends_the_job_and_parameter_servers_are_cleaned_up() -> None:
    of = spec(
        replicas("chief"),
        replicas("ps", 2),
        replicas("worker", 4),
        runPolicy={"cleanUpPolicy": "Unfinished"},
    )
    assert list(tf_config(pod(state(of), "ps-0"))["cluster"]) == ["chief", "worker", "ps"]
    story = started(of).pod("worker-0", "Succeeded")
    assert story.phase is Phase.RUNNING
    assert story.pod("chief-0", "Succeeded").phase is Phase.SUCCEEDED
    assert story.pods == ["chief-0.1", "worker-0.1"]
    assert [task["type"] for task in story.status["tasks"]] == ["chief", "ps", "worker"]


def test_example_c_an_evaluator_that_fails_for_good_does_not_fail_the_job() -> None:
    of = spec(replicas("worker", 2), replicas("evaluator", restartPolicy="Never"))
    story = started(of).pod("evaluator-0", "Failed", exit_code=1)
    assert story.phase is Phase.RUNNING
    failure = story.condition("ReplicaFailure")
    assert failure is not None
    assert failure[:2] == ("True", "ReplicaFailed")
    assert story.pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_example_c_nor_does_one_that_used_the_restarts_up() -> None:
    of = spec(replicas("worker", 2), replicas("evaluator"), runPolicy={"backoffLimit": 1})
    story = started(of).pod("evaluator-0", "Failed", exit_code=1).gone("evaluator-0")
    story.pod("evaluator-0", "Running").pod("evaluator-0", "Failed", exit_code=1)
    assert (story.phase, story.status["backoffCount"]) == (Phase.RUNNING, 1)


def test_example_d_a_container_of_another_name_fails_the_job_before_it_has_children() -> None:
    story = Story(spec(replicas("chief", 1, container(name="tf"))), name=NAME, kind=KIND).submit()
    assert story.condition("Failed") == (
        *("True", "InvalidSpec"),
        'spec.replicaSpecs[0].template.spec.containers: a container named "tensorflow" is required',
    )
    assert story.pods == []


def test_a_budget_that_is_used_up_fails_the_job_by_its_primary() -> None:
    story = started(with_policy("OnFailure", runPolicy={"backoffLimit": 0}))
    story.pod("chief-0", "Failed", exit_code=1)
    failed = story.condition("Failed")
    assert failed is not None
    assert failed[:2] == ("True", "BackoffLimitExceeded")


def test_r9_the_deadline_and_the_clean_up_are_those_of_the_run_policy() -> None:
    policy = {"activeDeadlineSeconds": 60, "cleanUpPolicy": "All"}
    story = started(spec(runPolicy=policy)).timer("deadline")
    assert story.condition("Failed") == (
        *("True", "DeadlineExceeded"),
        "The job was active longer than the specified deadline (60s).",
    )
    assert story.pods == []
    assert started(spec(runPolicy=policy)).pod("chief-0", "Succeeded").pods == []


def test_r11_a_pause_takes_all_pods_away() -> None:
    story = started(spec()).pause()
    assert (story.phase, story.pods) == (Phase.PAUSED, [])
    assert story.gone("chief-0").gone("worker-0").resume().pods == ["chief-0.2", "worker-0.2"]


def test_r14_a_tensorboard_is_reported_and_decides_nothing() -> None:
    story = started(spec(tensorboardSpec={"image": "tensorboard:2"}))
    assert story.status["tensorboard"]["ready"] is False
    assert story.pod("chief-0", "Succeeded").phase is Phase.SUCCEEDED
