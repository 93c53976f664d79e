"""Timers as the log has them: what fires too early, too late or for nothing (spec R9, T16)."""

from datetime import datetime, timedelta

from statemachine.events import TimerCleared
from statemachine.observations import TimerFired
from statemachine.phases import Phase
from statemachine.state import ReplicaPhase
from tests.support.scenario import START, Story, workers


def moment(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def fired(story: Story, timer: str, due: float, at: float) -> TimerFired:
    """The timer fires `at` some time, as it was set to be due."""
    return TimerFired(job=story.uid, at=moment(at), timer=timer, due_at=moment(due))


def started(**spec: object) -> Story:
    return Story(workers(2, **spec)).submit().at(5).all_pods("Running")


def unreadable(written: float = 40) -> Story:
    """The primary's status cannot be made out since second 40."""
    return started().at(40).unreadable("worker-0", written_at=moment(written))


def test_a_timer_that_was_moved_does_not_fire_as_it_was_set_before() -> None:
    story = started(runPolicy={"activeDeadlineSeconds": 60})
    story.edit(runPolicy={"activeDeadlineSeconds": 90})
    assert story.see(fired(story, "deadline", 60, at=60)).last == ()
    assert story.see(fired(story, "deadline", 90, at=90)).phase is Phase.FAILED


def test_a_timer_that_fires_before_it_is_due_says_nothing() -> None:
    story = started(runPolicy={"activeDeadlineSeconds": 60})
    assert story.see(fired(story, "deadline", 60, at=59)).last == ()
    assert story.see(fired(story, "deadline", 60, at=60)).phase is Phase.FAILED


def test_t16_an_older_report_that_comes_late_does_not_make_a_status_readable() -> None:
    story = unreadable().at(41).pod("worker-0", "Running", written_at=moment(30))
    assert story.state.timers == {"unreadable": moment(100)}
    assert story.timer("unreadable").phase is Phase.UNKNOWN


def test_t16_a_pod_whose_phase_is_unknown_is_not_readable() -> None:
    story = unreadable().at(50).pod("worker-0", "Unknown", written_at=moment(50))
    assert story.state.timers == {"unreadable": moment(100)}


def test_t16_a_primary_that_became_unknown_meanwhile_is_not_lost_a_second_time() -> None:
    story = unreadable().at(50).pod("worker-0", "Unknown", written_at=moment(50)).timer("unreadable")
    assert story.last == (TimerCleared(timer="unreadable"),)
    story.at(110).pod("worker-0", "Running", written_at=moment(110))
    assert story.at(111).pod("worker-0", "Unknown", written_at=moment(50)).last == ()
    assert story.phase is Phase.RUNNING


def test_t16_an_older_unknown_that_comes_late_leaves_the_loss_to_the_timer() -> None:
    story = unreadable().at(50).pod("worker-0", "Unknown", written_at=moment(30)).timer("unreadable")
    assert story.at(110).pod("worker-0", "Running", written_at=moment(35)).last == ()
    assert story.phase is Phase.UNKNOWN


def test_t16_a_primary_that_leaves_with_its_job_is_not_lost() -> None:
    story = started().at(10).delete().at(40).unreadable("worker-0", written_at=moment(40)).timer("unreadable")
    assert story.last == (TimerCleared(timer="unreadable"),)
    assert story.replica("worker-0").phase is ReplicaPhase.RUNNING


def test_t16_a_primary_that_has_ended_is_not_lost() -> None:
    story = unreadable(written=44).at(45).pod("worker-0", "Failed", written_at=moment(43))
    assert story.replica("worker-0").leaving == "restart"
    assert story.timer("unreadable").phase is Phase.RUNNING
    assert story.replica("worker-0").phase is ReplicaPhase.FAILED
