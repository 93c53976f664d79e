"""The table of a replica's life: it is complete, and never in the way of an old log."""

from itertools import product

import pytest

from statemachine.events import ReplicaRequested
from statemachine.evolve import fold
from statemachine.ids import replica_name
from statemachine.log.codec import decode_state, encode_state
from statemachine.replicas import LEAVES, OPEN, STEPS, TABLE, Move, Pod, Report, Row, Wish, news
from statemachine.state import ReplicaPhase, ReplicaState, changed
from tests.support.scenario import Story, workers

NAME = replica_name("worker", 0)


def test_every_move_has_one_row() -> None:
    assert sorted(row.move for row in TABLE) == sorted(Move)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.move)
def test_a_move_leads_where_its_row_says(row: Row) -> None:
    pods, wishes, courses = STEPS[row.move]
    for pod, wish, progress in product(row.pod, row.wish, row.progress):
        led_to = (pods[pod], wishes[wish], courses[progress])
        assert led_to == (row.pod[pod], row.wish[wish], row.progress[progress])


@pytest.mark.parametrize(
    ("move", "pod", "then"),
    [
        (Move.STARTED, Pod.NONE, Pod.RUNNING),
        (Move.FAILED, Pod.SUCCEEDED, Pod.FAILED),
        (Move.UPDATED, Pod.FAILED, Pod.FAILED),
        (Move.RESTARTED, Pod.RUNNING, Pod.RUNNING),
    ],
)
def test_a_step_that_the_table_lacks_still_folds(move: Move, pod: Pod, then: Pod) -> None:
    assert STEPS[move][0][pod] is then


def test_a_replica_that_stays_has_no_reason_to_leave() -> None:
    dismissed = changed(
        ReplicaState(NAME, pod=Pod.RUNNING).moved(Move.DISMISSED), leaving="scale", counted=True
    )
    assert (dismissed.wish in LEAVES, dismissed.leaving, dismissed.counted) == (True, "scale", True)
    released = dismissed.moved(Move.RELEASED)
    assert (released.wish, released.leaving, released.counted) == (Wish.UNWANTED, "", False)


@pytest.mark.parametrize("report", [Report.RUNNING, Report.UNKNOWN])
def test_a_pod_that_is_to_go_neither_starts_nor_becomes_unknown(report: Report) -> None:
    assert [news(report, Pod.PENDING, wish) is None for wish in Wish] == [wish in LEAVES for wish in Wish]


def test_a_pod_that_has_ended_has_no_news() -> None:
    ended = [pod for pod in Pod if ReplicaState(NAME, pod=pod).ended]
    assert [(report, pod) for report in Report for pod in ended if news(report, pod, Wish.WANTED)] == []


def test_a_pod_that_ended_in_its_deletion_keeps_its_phase() -> None:
    for pod in OPEN:
        replica = ReplicaState(NAME, pod=pod, wish=Wish.LEAVING)
        assert replica.moved(Move.ENDED).phase is replica.phase is ReplicaPhase(pod.value)


def test_the_phase_of_a_stage_is_one_of_the_seven() -> None:
    assert {ReplicaState(NAME, pod=pod).phase for pod in Pod} == set(ReplicaPhase)


def test_a_fold_leaves_the_state_before_it_as_it_was() -> None:
    before = Story(workers(2)).submit().state
    copied = decode_state(encode_state(before))
    events = [ReplicaRequested(replica=name, attempt=7) for name in before.replicas]
    assert {replica.attempt for replica in fold(before, events).replicas.values()} == {7}
    assert before == copied
