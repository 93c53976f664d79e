"""What goes on while the primary's status is lost: phase Unknown is an active one (spec R5, T16)."""

from statemachine.events import Announced, RestartScheduled
from statemachine.phases import Phase
from tests.support.scenario import Story, workers
from tests.unit.kinds.colossal import KIND, spec


def unknown(**more: object) -> Story:
    """Two workers that ran, and the status of the first is lost."""
    return Story(workers(2, **more)).submit().at(5).all_pods("Running").at(9).pod("worker-0", "Unknown")


def test_t10_the_deadline_passes() -> None:
    story = unknown(runPolicy={"activeDeadlineSeconds": 60}).timer("deadline")
    assert (story.phase, story.clock) == (Phase.FAILED, 60)
    failed = story.condition("Failed")
    assert failed is not None
    assert failed[1] == "DeadlineExceeded"
    assert story.pods == []


def test_t11_another_replica_is_restarted() -> None:
    story = unknown().pod("worker-1", "Failed", exit_code=1)
    assert story.phase is Phase.UNKNOWN
    assert [event.spent for event in story.last if isinstance(event, RestartScheduled)] == [1]


def test_t14_the_job_is_paused() -> None:
    assert unknown().pause().phase is Phase.PAUSED


def test_t18_a_pod_that_vanishes_is_made_again_and_announced() -> None:
    story = unknown().gone("worker-1")
    assert story.phase is Phase.UNKNOWN
    assert story.pods == ["worker-0.1", "worker-1.2"]
    assert [event.reason for event in story.last if isinstance(event, Announced)] == ["ReplicaLost"]


def test_t9_a_worker_fails_while_a_lost_launcher_of_before_a_pause_still_leaves() -> None:
    story = Story(spec(), name="gpt", kind=KIND).submit().ready("worker-0", "worker-1")
    story.pod("launcher-0", "Running").at(9).pod("launcher-0", "Unknown").pause()
    story.gone("worker-0").gone("worker-1").resume()
    assert story.phase == "Unknown"
    assert story.ready("worker-0").pod("worker-1", "Failed", exit_code=1).phase is Phase.FAILED


def test_t16_the_timer_of_an_unreadable_status_ends_with_a_pause() -> None:
    story = Story(workers(2)).submit().at(5).all_pods("Running").at(20).unreadable("worker-0")
    assert set(story.state.timers) == {"unreadable"}
    story.at(30).pause()
    assert story.state.timers == {}
    story.gone("worker-0").gone("worker-1").at(50).resume().all_pods("Running")
    assert (story.phase, story.state.timers) == (Phase.RUNNING, {})
    assert story.at(60).unreadable("worker-0").timer("unreadable").clock == 120, "a minute of its own"


def test_t16_a_timer_of_something_else_does_not_make_an_old_loss_news_again() -> None:
    lost = {"written_at": unknown().now}
    story = Story(workers(2, runPolicy={"activeDeadlineSeconds": 900})).submit().at(5).all_pods("Running")
    story.at(20).unreadable("worker-0", **lost).at(30).pod("worker-0", "Running")
    story.edit(runPolicy={"activeDeadlineSeconds": 1800})
    assert "unreadable" not in story.at(40).unreadable("worker-0", **lost).state.timers


def test_t17_a_report_of_the_same_moment_is_not_a_later_one() -> None:
    story = unknown()
    assert story.pod("worker-0", "Running").last == ()
    assert story.at(10).pod("worker-0", "Running").phase is Phase.RUNNING
