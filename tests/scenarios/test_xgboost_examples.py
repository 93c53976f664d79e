"""The worked examples of xgboosttrainingjob.md §5, as stories; their children are also golden files."""

from statemachine.phases import Phase
from tests.unit.kinds.xgboost import replicas, spec, started, with_policy

EXIT = "The job exited with an error code."


def test_example_a_the_master_s_success_is_the_job_s() -> None:
    story = started(with_policy("ExitCode"))
    assert story.phase is Phase.RUNNING
    assert story.pod("worker-0", "Failed", exit_code=1).phase is Phase.RUNNING
    assert story.pod("master-0", "Succeeded").phase is Phase.SUCCEEDED


def test_example_b_the_master_decides_where_it_is_listed_last_too() -> None:
    story = started(spec(replicas("worker", 2), replicas("master")))
    assert story.pod("worker-0", "Succeeded").phase is Phase.RUNNING
    assert story.pod("master-0", "Succeeded").phase is Phase.SUCCEEDED


def test_example_c_a_permanent_exit_code_of_the_master_fails_the_job_at_once() -> None:
    story = started(with_policy("ExitCode")).pod("master-0", "Failed", exit_code=1)
    assert story.condition("Failed") == ("True", "Failed", EXIT)
    assert story.status["backoffCount"] == 0


def test_example_c_a_retryable_one_restarts_it() -> None:
    story = started(with_policy("ExitCode")).pod("master-0", "Failed", exit_code=143)
    assert (story.phase, story.status["backoffCount"]) == (Phase.RUNNING, 1)
    story.gone("master-0").pod("master-0", "Running").pod("master-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED


def test_r9_the_deadline_and_the_clean_up_are_those_of_the_run_policy() -> None:
    policy = {"activeDeadlineSeconds": 60, "cleanUpPolicy": "All"}
    story = started(spec(runPolicy=policy)).timer("deadline")
    assert story.condition("Failed") == (
        *("True", "DeadlineExceeded"),
        "The job was active longer than the specified deadline (60s).",
    )
    assert story.pods == []
    assert started(spec(runPolicy=policy)).pod("master-0", "Succeeded").pods == []


def test_r11_a_pause_takes_all_pods_away() -> None:
    story = started(spec()).pause()
    assert (story.phase, story.pods) == (Phase.PAUSED, [])
    assert story.gone("master-0").gone("worker-0").resume().pods == ["master-0.2", "worker-0.2"]
