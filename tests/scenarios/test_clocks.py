"""Times and rows that an event moves, or leaves: back-off, conditions, recoveries (spec R6, R8)."""

import pytest

from statemachine.events import TimerSet
from statemachine.state import ConditionState, JobState
from statemachine.timestamps import rfc3339
from tests.scenarios import test_deepspeed as deepspeed
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import Story, workers

UNLIMITED = {"backoffLimit": 100}


def condition(state: JobState, type_: str) -> ConditionState:
    condition = state.condition(type_)
    assert condition is not None
    return condition


def test_r8_a_pod_that_was_unknown_for_a_while_has_run_since_its_first_start() -> None:
    story = Story(workers(2, runPolicy=UNLIMITED)).submit().at(5).all_pods("Running")
    story.at(10).gone("worker-1").pod("worker-1", "Running")
    story.at(500).pod("worker-1", "Unknown").at(560).pod("worker-1", "Running")
    story.at(611).gone("worker-1")
    assert story.pods == ["worker-0.1", "worker-1.3"], "ten minutes begin a new row, so it comes at once"


def test_r8_a_pause_of_a_job_that_waits_begins_a_new_row() -> None:
    story = Story(workers(2, runPolicy=UNLIMITED)).submit().at(5).all_pods("Running")
    story.at(6).gone("worker-1").pod("worker-1", "Running").at(7).gone("worker-1")
    assert "backoff" in story.state.timers
    story.pause().gone("worker-0").at(900).resume().all_pods("Running")
    assert story.at(901).gone("worker-1").pods == ["worker-0.2", "worker-1.4"]
    assert story.replica("worker-1").row == 2


def test_r8_of_several_that_wait_the_first_to_be_made_sets_the_timer() -> None:
    story = Story(workers(3, runPolicy=UNLIMITED)).submit().at(5).all_pods("Running")
    for name in ("worker-1", "worker-2"):
        story.gone(name).pod(name, "Running")
    story.at(10).gone("worker-1").at(15).gone("worker-2")
    assert (story.state.timers["backoff"] - story.now).total_seconds() == 5
    assert story.timer("backoff").pods == ["worker-0.1", "worker-1.3"]
    assert (story.state.timers["backoff"] - story.now).total_seconds() == 5
    assert story.timer("backoff").pods == ["worker-0.1", "worker-1.3", "worker-2.3"]


def test_r6_a_second_failure_does_not_move_the_time_of_the_condition() -> None:
    story = Story(workers(3)).submit().at(5).all_pods("Running").at(10).pod("worker-1", "Failed")
    first = condition(story.state, "ReplicaFailure")
    story.at(20).pod("worker-2", "Failed", exit_code=3)
    second = condition(story.state, "ReplicaFailure")
    assert second.message != first.message
    assert second.changed_at == first.changed_at


def test_a_condition_of_a_pytorchjob_changes_with_its_status_and_is_updated_with_its_reason() -> None:
    story = TorchStory(training()).submit().up().at(20).suspend()
    suspended = rfc3339(story.now)
    story.all_gone().at(50).suspend(False)
    shown = {condition_there["type"]: condition_there for condition_there in story.status["conditions"]}[
        "Suspended"
    ]
    assert (shown["status"], shown["lastTransitionTime"]) == ("False", rfc3339(story.now))
    assert shown["lastTransitionTime"] != suspended


def test_t13_a_replica_made_again_after_success_is_not_waited_for() -> None:
    story = Story(workers(3, policy="Always")).submit().at(5).all_pods("Running")
    story.pod("worker-1", "Failed").pod("worker-2", "Succeeded").gone("worker-2").gone("worker-1")
    assert story.conditions["ReplicaFailure"] == "True"
    story.pod("worker-1", "Running")
    assert story.conditions["ReplicaFailure"] == "False", "worker-2 has not failed"


def test_t13_a_worker_given_up_is_a_failure_until_the_one_of_the_new_scale_runs() -> None:
    spec = deepspeed.elastic(3)
    spec["worker"]["restartPolicy"] = "Never"
    story = deepspeed.story(spec).all_pods("Running").pod("worker-1", "Failed")
    story.edit(elastic={"expectedReplicas": 2})
    assert story.conditions["ReplicaFailure"] == "True"


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
def test_the_end_stops_every_clock(end: str) -> None:
    spec = workers(3, policy="Never", runPolicy={"activeDeadlineSeconds": 900, **UNLIMITED})
    story = Story(spec).submit().at(5).all_pods("Running")
    story.gone("worker-1").pod("worker-1", "Running").gone("worker-1").at(20).pod("worker-0", end)
    assert story.state.timers == {}


def test_a_timer_that_is_set_already_is_not_set_again() -> None:
    story = Story(workers(2, runPolicy={"activeDeadlineSeconds": 900})).submit().at(5).all_pods("Running")
    assert not [event for event in story.last if isinstance(event, TimerSet)]
