"""Reports of pods that are not the replica's current one: late, of a twin, or of nothing (spec R5, T18)."""

import pytest

from statemachine.events import ReplicaLost
from statemachine.observations import CANNOT_START
from statemachine.state import ReplicaPhase
from tests.support.scenario import Story, workers


def test_a_late_report_of_the_pod_before_is_not_of_the_one_that_is_awaited() -> None:
    story = Story(workers(2)).submit().all_pods("Running").pod("worker-1", "Failed").gone("worker-1")
    late = story.pod_seen("worker-1", "Running", attempt=1, uid="worker-1.1")
    assert story.see(late).last == ()
    assert (story.replica("worker-1").attempt, story.replica("worker-1").uid) == (2, "")


def test_a_pod_that_is_awaited_is_not_lost_because_nobody_has_observed_it() -> None:
    story = Story(workers(1)).submit().gone("worker-0")
    assert story.last == ()
    assert story.pods == ["worker-0.1"]


def test_a_pod_that_is_to_go_is_gone_when_there_is_none() -> None:
    story = Story(workers(1)).submit().pause().gone("worker-0")
    assert not story.replica("worker-0").has_pod


@pytest.mark.parametrize("attempt", [1, 2])
def test_the_end_of_another_pod_is_not_that_of_the_current_one(attempt: int) -> None:
    story = Story(workers(2)).submit().all_pods("Running")
    assert story.gone("worker-1", uid="another", attempt=attempt).last == ()
    assert isinstance(story.gone("worker-1", attempt=attempt).last[0], ReplicaLost)


def test_a_report_of_before_its_deletion_does_not_take_the_deletion_back() -> None:
    story = Story(workers(2)).submit().all_pods("Running").pod("worker-1", "Running", deleting=True)
    assert story.pod("worker-1", "Running").last == ()
    assert story.replica("worker-1").deleting


def test_a_pod_that_leaves_keeps_the_phase_it_had_although_it_runs_by_now() -> None:
    story = Story(workers(2)).submit().all_pods("Pending").pause().pod("worker-0", "Running")
    assert story.replica("worker-0").phase is ReplicaPhase.PENDING
    assert not story.replica("worker-0").started


def test_t6_a_late_report_of_a_pod_that_could_not_start_does_not_end_the_job() -> None:
    story = Story(workers(2)).submit().all_pods("Running").pod("worker-1", "Failed").gone("worker-1")
    story.pod("worker-1", "Running").pod("worker-1", "Succeeded")
    late = story.pod_seen("worker-1", "Failed", uid="worker-1.1", attempt=1, reason=CANNOT_START)
    assert story.see(late).last == ()


def test_nothing_is_recorded_of_a_pod_that_has_ended_not_even_its_deletion() -> None:
    story = Story(workers(2, policy="Never")).submit().all_pods("Running").pod("worker-1", "Succeeded")
    assert story.pod("worker-1", "Succeeded", deleting=True).last == ()


def test_a_pod_that_others_delete_before_it_runs_has_started_and_one_that_we_delete_has_not() -> None:
    story = Story(workers(2)).submit().all_pods("Pending").pod("worker-1", "Failed", deleting=True)
    assert (story.replica("worker-1").ended, story.replica("worker-1").started) == (True, True)
    story.pause().pod("worker-0", "Failed", deleting=True)
    assert (story.replica("worker-0").ended, story.replica("worker-0").started) == (True, False)


def test_a_pod_that_has_ended_in_its_deletion_is_not_spared_by_the_clean_up() -> None:
    policy = {"cleanUpPolicy": "Unfinished"}
    story = Story(workers(2, runPolicy=policy)).submit().all_pods("Running")
    story.pod("worker-1", "Failed", deleting=True).pod("worker-0", "Succeeded")
    assert (story.replica("worker-1").leaving, story.replica("worker-1").spared) == ("clean-up", False)
