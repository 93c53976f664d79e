"""Entries → timeline: bands, lanes, levels and marks of a job's life."""

from datetime import timedelta

import pytest

from jobledger.console.timeline.build import timeline
from jobledger.console.timeline.model import Instant, Lane, Timeline
from jobledger.console.timeline.rows import COLUMNS, FEW, Crowd, Single, rows
from jobledger.console.timeline.scale import TICKS, BySeq, ByTime
from projectors.explain.model import IncidentKind, Nature
from statemachine.phases import Phase
from statemachine.state import ReplicaPhase
from tests.support.scenario import START, Story, workers


def running(replicas: int = 2, **spec: object) -> Story:
    story = Story(workers(replicas, **spec)).submit().all_pods("Pending")
    return story.at(3).all_pods("Running", node="node-1")


def restarted() -> Story:
    """worker-1 fails 20 s after submission, and runs again at 25 s."""
    story = running().at(20).pod("worker-1", "Failed", exit_code=7)
    return story.at(22).gone("worker-1").pod("worker-1", "Pending").at(25).pod("worker-1", "Running")


def lane(drawn: Timeline, name: str) -> Lane:
    (lane,) = (other for other in drawn.lanes if other.name == name)
    return lane


def seconds(when: Instant) -> float:
    return (when.at - START).total_seconds()


def whole(drawn: Timeline) -> ByTime:
    return ByTime(drawn.begin, drawn.last)


def test_a_job_without_entries_has_none() -> None:
    with pytest.raises(ValueError, match="no timeline"):
        timeline([])


def test_phases_are_bands_that_follow_each_other() -> None:
    story = running().at(10).pause().gone("worker-0").gone("worker-1").at(40).resume()
    story.all_pods("Pending").at(50).all_pods("Running")
    drawn = timeline(story.steps)
    assert [band.phase for band in drawn.bands] == [
        Phase.PENDING,
        Phase.RUNNING,
        Phase.PAUSED,
        Phase.RESUMING,
        Phase.RUNNING,
    ]
    for one, following in zip(drawn.bands, drawn.bands[1:], strict=False):
        assert one.end == following.begin
    assert drawn.bands[-1].end is None
    assert [seconds(band.begin) for band in drawn.bands] == [0, 3, 10, 40, 50]
    assert drawn.open


def test_a_lane_has_a_gap_where_the_replica_had_no_pod() -> None:
    story = running().at(10).pause().at(12).gone("worker-0").gone("worker-1").at(40).resume()
    spans = lane(timeline(story.all_pods("Pending").steps), "worker-0").spans
    before = next(span for span in reversed(spans) if span.attempt == 1)
    after = next(span for span in spans if span.attempt == 2)
    assert before.end is not None
    assert (seconds(before.end), seconds(after.begin)) == (12, 40)


def test_a_restart_shows_as_a_failed_span_a_new_attempt_and_a_mark() -> None:
    drawn = timeline(restarted().steps)
    spans = lane(drawn, "worker-1").spans
    assert [(span.phase, span.attempt) for span in spans] == [
        (ReplicaPhase.CREATING, 1),
        (ReplicaPhase.PENDING, 1),
        (ReplicaPhase.RUNNING, 1),
        (ReplicaPhase.FAILED, 1),
        (ReplicaPhase.CREATING, 2),
        (ReplicaPhase.PENDING, 2),
        (ReplicaPhase.RUNNING, 2),
    ]
    (mark,) = (mark for mark in drawn.marks if mark.kind is IncidentKind.RESTART)
    assert (mark.replica, mark.nature, seconds(mark.when)) == ("worker-1", Nature.ABNORMAL, 20)
    assert "exit code 7" in str(mark.says)
    assert lane(drawn, "worker-0").spans[-1].end is None


def test_the_budget_goes_down_with_every_restart() -> None:
    story = restarted().at(30).pod("worker-0", "Failed", exit_code=1)
    assert [(seconds(level.begin), level.left, level.limit) for level in timeline(story.steps).levels] == [
        (0, 3, 3),
        (20, 2, 3),
        (30, 1, 3),
    ]


def test_a_spec_change_is_a_mark_that_says_by_whom() -> None:
    story = running().at(9).edit(runPolicy={"backoffLimit": 9})
    kinds = {mark.kind: mark for mark in timeline(story.steps).marks}
    assert kinds[IncidentKind.CHANGE].by == "alice"
    assert "backoffLimit" in str(kinds[IncidentKind.CHANGE].says)


def test_the_deletion_of_a_job_that_had_ended_is_marked_too_and_closes_the_picture() -> None:
    story = running(1).at(9).pod("worker-0", "Succeeded").at(20).delete().gone("worker-0")
    drawn = timeline(story.steps)
    assert not drawn.open
    assert [mark.kind for mark in drawn.marks][-1] is IncidentKind.DELETION
    assert str(drawn.marks[-1].says).startswith("The job was deleted")


def test_a_clock_that_was_set_back_does_not_bend_the_picture() -> None:
    story = running().at(1).pod("worker-1", "Failed", exit_code=7)
    moments = timeline(story.steps).moments
    assert [moment.at for moment in moments] == sorted(moment.at for moment in moments)


# ---- scales ------------------------------------------------------------------------------------------------


def test_by_time_a_moment_stands_where_its_share_of_the_time_is() -> None:
    scale = ByTime(Instant(1, START), Instant(9, START + timedelta(hours=1)))
    assert scale.x(Instant(4, START + timedelta(minutes=15))) == 25
    assert scale.x(None) == 100
    assert scale.x(Instant(99, START + timedelta(days=9))) == 100


def test_by_number_every_entry_gets_the_same_room() -> None:
    scale = BySeq(Instant(1, START), Instant(10, START))
    assert [scale.x(Instant(word, START)) for word in (1, 2, 10)] == [0, 10, 90]


@pytest.mark.parametrize("length", [0, 0.2, 5, 61, 3599, 86_400, 90 * 86_400, 20 * 365 * 86_400])
def test_an_axis_has_few_ticks_all_in_the_picture(length: float) -> None:
    scale = ByTime(Instant(1, START), Instant(2, START + timedelta(seconds=length)))
    ticks = scale.ticks()
    assert len(ticks) <= TICKS + 1
    assert all(0 <= tick.x <= 100 for tick in ticks)
    assert length < 5 or ticks


@pytest.mark.parametrize("entries", [1, 2, 7, 400, 9999])
def test_an_axis_of_entries_counts_in_round_numbers(entries: int) -> None:
    ticks = BySeq(Instant(1, START), Instant(entries, START)).ticks()
    assert 1 <= len(ticks) <= TICKS + 1
    assert ticks[0].words.startswith("#")


# ---- rows --------------------------------------------------------------------------------------------------


def test_a_few_replicas_have_a_row_each() -> None:
    drawn = timeline(running(FEW).steps)
    assert [row.label for row in rows(drawn, whole(drawn))] == [f"worker-{number}" for number in range(FEW)]


def test_of_four_hundred_replicas_those_with_a_story_have_a_row_and_the_others_are_a_crowd() -> None:
    story = running(400).at(20).pod("worker-123", "Failed", exit_code=7).gone("worker-123")
    drawn = timeline(story.at(25).pod("worker-123", "Running").steps)
    crowd, single = rows(drawn, whole(drawn))
    assert isinstance(crowd, Crowd)
    assert isinstance(single, Single)
    assert (single.label, crowd.label, crowd.most, crowd.whole) == ("worker-123", "worker ×399", 399, False)
    assert len(crowd.blocks) <= 3 * COLUMNS


def test_every_replica_has_a_row_if_that_is_wished() -> None:
    drawn = timeline(running(400).steps)
    assert len(rows(drawn, whole(drawn), every=True)) == 400


def test_a_crowd_counts_its_replicas_at_every_moment() -> None:
    drawn = timeline(running(100).steps)
    (crowd,) = rows(drawn, whole(drawn))
    assert isinstance(crowd, Crowd)
    last = [block for block in crowd.blocks if block.end == 100]
    assert [(block.phase, block.size) for block in last] == [(ReplicaPhase.RUNNING, 100)]
    assert [(block.phase, block.size) for block in crowd.blocks if block.begin == 0] == [
        (ReplicaPhase.PENDING, 100)
    ]


def test_a_short_failure_shows_in_a_crowd_however_long_the_picture() -> None:
    story = running(100).at(5000)
    for number in range(30):
        story.pod(f"worker-{number}", "Failed", exit_code=7).gone(f"worker-{number}")
    story.at(5001).all_pods("Running").at(90_000).edit(runPolicy={"backoffLimit": 50})
    drawn = timeline(story.steps)
    crowd = rows(drawn, whole(drawn))[0]
    assert isinstance(crowd, Crowd)
    assert any(block.phase is ReplicaPhase.FAILED for block in crowd.blocks)


def test_a_zoomed_crowd_begins_with_those_who_were_there_before() -> None:
    drawn = timeline(running(100).at(100).edit(runPolicy={"backoffLimit": 9}).steps)
    scale = ByTime(drawn.last._replace(at=START + timedelta(seconds=50)), drawn.last)
    (crowd,) = rows(drawn, scale)
    assert isinstance(crowd, Crowd)
    assert [(block.phase, block.size, block.begin) for block in crowd.blocks] == [
        (ReplicaPhase.RUNNING, 100, 0)
    ]
