"""What comes late for a TensorBoard, or for a pod that the clean-up takes (spec R9, R14)."""

from statemachine.observations import ChildObserved
from tests.support.scenario import Story, workers


def with_board() -> Story:
    """A job whose TensorBoard u-3 has been seen."""
    return Story(workers(1, tensorboardSpec={"image": "tb"})).submit().board(uid="u-3")


def test_r14_the_end_of_an_earlier_tensorboard_is_not_that_of_the_present_one() -> None:
    story = with_board()
    gone = ChildObserved(
        job=story.uid, at=story.now, kind="TensorBoard", name="mnist-7ac1b", uid="", gone_uid="u-1"
    )
    assert story.see(gone).last == ()
    story.see(gone.changed(gone_uid="u-3"))
    board = story.state.child("TensorBoard", "mnist-7ac1b")
    assert board is not None
    assert board.uid == ""


def test_r14_a_refusal_of_a_tensorboard_that_exists_is_old_news() -> None:
    refused = with_board().refused("TensorBoard", 404, "no such kind", name="mnist-7ac1b")
    assert refused.last == ()


def test_r9_a_pod_that_has_ended_before_the_clean_up_reached_it_stays() -> None:
    story = Story(workers(2, runPolicy={"cleanUpPolicy": "Unfinished"})).submit().at(5).all_pods("Running")
    assert story.pod("worker-0", "Succeeded").pods == ["worker-0.1"]
    assert story.pod("worker-1", "Succeeded").pods == ["worker-0.1", "worker-1.1"]
