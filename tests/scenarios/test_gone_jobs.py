"""Before a job is known, and after it is gone: nothing is decided, wanted or waited for."""

from statemachine.observations import TimerFired
from tests.support.scenario import Story, workers


def test_a_pod_that_is_observed_before_its_job_says_nothing() -> None:
    known, unknown = Story(workers(1)).submit(), Story(workers(1))
    assert unknown.see(known.pod_seen("worker-0", "Running")).last == ()
    assert (unknown.state.replicas, unknown.status) == ({}, {})


def test_of_a_deleted_job_no_pod_is_wanted_and_no_timer_runs() -> None:
    story = Story(workers(2, runPolicy={"activeDeadlineSeconds": 60})).submit().pod("worker-0", "Running")
    story.refused(status_=403, replica="worker-1", attempt=1)
    assert set(story.state.timers) == {"deadline", "retry"}
    story.delete()
    assert story.state.timers == {}
    assert [(replica.wanted, replica.leaving) for replica in story.state.replicas.values()] == [
        (False, "job deleted"),
        (False, "job deleted"),
    ]


def test_a_deletion_is_recorded_once() -> None:
    story = Story(workers(1)).submit().all_pods("Running").delete()
    assert story.last != ()
    assert story.delete().last == ()


def test_a_timer_that_fires_after_the_deletion_says_nothing() -> None:
    story = Story(workers(1, runPolicy={"activeDeadlineSeconds": 60})).submit().all_pods("Running")
    fired = TimerFired(
        job=story.uid,
        at=story.state.timers["deadline"],
        timer="deadline",
        due_at=story.state.timers["deadline"],
    )
    assert story.delete().see(fired).last == ()


def test_a_paused_job_that_has_ended_elsewhere_has_ended() -> None:
    ended = Story(workers(1)).submit().all_pods("Running").pod("worker-0", "Succeeded")
    story = Story(workers(1)).submit().all_pods("Running").pause().gone("worker-0")
    assert story.adopt(ended.status).phase == "Succeeded"
