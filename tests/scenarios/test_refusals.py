"""Refused writes in a row: what begins the row anew, and what does not (spec R5, T5)."""

import pytest

from statemachine.phases import Phase
from tests.support.scenario import Story, workers


def refused(times: int) -> Story:
    """A job whose first pod exists and whose second one was refused so many times."""
    story = Story(workers(2)).submit().pod("worker-0", "Running")
    for _ in range(times):
        quota(story).timer("retry")
    return story


def quota(story: Story, index: int = 1) -> Story:
    """The quota has no place for a worker."""
    name = f"worker-{index}"
    attempt = story.replica(name).attempt
    return story.refused(status_=403, message="quota", replica=name, attempt=attempt)


def wait(story: Story) -> float:
    """Seconds until it is tried again."""
    return (story.state.timers["retry"] - story.now).total_seconds()


def test_t5_after_a_pause_the_row_begins_anew() -> None:
    story = refused(4).pause().gone("worker-0").gone("worker-1", uid="never-seen").resume()
    assert story.pods == ["worker-0.2", "worker-1.2"]
    assert wait(quota(story)) == 1


def test_t14_nothing_is_tried_again_while_the_job_is_paused() -> None:
    story = quota(refused(1))
    assert set(story.state.timers) == {"retry"}
    assert story.pause().state.timers == {}


def test_t5_refusals_that_are_silent_are_announced_again_after_a_pause() -> None:
    story = refused(7)
    entries = len(story.entries)
    assert len(quota(story).entries) == entries
    story.pause().gone("worker-0").gone("worker-1", uid="never-seen").resume()
    count = story.reasons.count("FailedCreate")
    assert quota(story).reasons.count("FailedCreate") == count + 1


def test_t5_another_reason_than_the_last_is_shown_however_often_both_were_given() -> None:
    """A name is taken, then a quota is full, then the name is taken again: the quota is not in the way any more."""
    story = Story(workers(1)).submit()
    taken(story).timer("retry")
    for _ in range(6):
        quota(story, 0).timer("retry")
    assert shown(story) == ("InitializationFailed", "quota")
    taken(story)
    assert shown(story) == (
        "NameConflict",
        'Pod "train-worker-0" already exists and is not controlled by this job',
    )
    entries = len(story.entries)
    assert len(quota(story, 0).entries) == entries, "nothing is said before the wait is over"
    entries = len(story.timer("retry").entries)
    assert len(taken(story).entries) == entries, "the same reason is not said again"
    assert len(quota(story, 0).entries) == entries + 1
    assert shown(story) == ("InitializationFailed", "quota")


def test_t5_a_refused_deletion_between_them_makes_no_refused_creation_news() -> None:
    story = refused(7)
    entries = len(story.refused(status_=403, verb="delete", replica="worker-0").entries)
    assert len(quota(story).entries) == entries


def taken(story: Story) -> Story:
    """A pod that is not the job's has the name of worker-0."""
    return story.refused(status_=409, name_taken=True, name="train-worker-0", replica="worker-0", attempt=1)


def shown(story: Story) -> tuple[str, str]:
    """Why the job is not initialized."""
    condition = story.state.condition("Initialized")
    assert condition is not None
    return condition.reason, condition.message


def test_t5_a_pod_that_is_known_again_is_no_pod_that_was_made() -> None:
    story = Story(workers(3)).submit().pod("worker-1", "Pending")
    for _ in range(3):
        quota(story, 2).timer("retry")
    story.pod("worker-1", "Unknown").at(9).pod("worker-1", "Pending")
    assert story.state.refusals == 3
    assert wait(quota(story, 2)) == 8


def elastic(refusals: int) -> Story:
    """An elastic job of three whose third pod was refused so many times; the last one is to be tried again."""
    spec = workers(1, torchrunConfig={"enabled": True})
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    del container["command"]
    container["args"] = ["train.py"]
    spec["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 3}
    story = Story(spec).submit().pod("worker-0", "Running").pod("worker-1", "Running")
    for _ in range(refusals - 1):
        quota(story, 2).timer("retry")
    return quota(story, 2)


def test_t5_a_job_that_is_accepted_with_fewer_replicas_begins_a_row_of_its_own() -> None:
    story = elastic(4).edit(elastic={"expectedReplicas": 2})
    assert story.state.accepted == story.state.starts
    assert story.state.refusals == 0
    assert story.state.timers == {}
    story.gone("worker-1")
    assert wait(quota(story)) == 1


def test_t8_with_the_end_nothing_is_tried_again() -> None:
    story = quota(refused(1)).pod("worker-0", "Succeeded")
    assert (story.phase, story.state.timers) == (Phase.SUCCEEDED, {})


def test_a_refusal_of_an_attempt_before_the_present_one_is_old_news() -> None:
    story = Story(workers(2)).submit().all_pods("Running").pod("worker-1", "Failed").gone("worker-1")
    assert story.replica("worker-1").attempt == 2
    assert story.refused(status_=403, replica="worker-1", attempt=1).last == ()
    assert story.refused(status_=403, replica="worker-1", attempt=2).last != ()


def test_a_refusal_of_a_pod_that_exists_is_old_news() -> None:
    story = Story(workers(2)).submit().all_pods("Pending")
    assert story.refused(status_=403, replica="worker-1", attempt=1).last == ()


@pytest.mark.parametrize("status", [403, 422])
def test_a_refusal_of_a_pod_that_leaves_ends_nothing(status: int) -> None:
    story = Story(workers(2)).submit().pause()
    assert story.refused(status_=status, replica="worker-1", attempt=1).phase is Phase.PAUSED


def test_t5_a_job_that_was_initialized_stays_so_when_a_later_pod_is_refused() -> None:
    story = Story(workers(2)).submit().all_pods("Running").gone("worker-1")
    assert quota(story).conditions["Initialized"] == "True"
    assert wait(story) == 1
