"""Restarts and replacements in a row wait, longer and longer (spec R8, Back-off)."""

import pytest

from statemachine.events import ReplicaDelayed, ReplicaRequested
from statemachine.phases import Phase
from statemachine.state import ReplicaPhase
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import START, Story, workers

UNLIMITED = {"backoffLimit": 100}


def started(policy: str = "OnFailure", **settings: str) -> Story:
    keep = {f"restart.{name}": value for name, value in settings.items()}
    story = Story(workers(2, policy=policy, runPolicy=UNLIMITED), settings=keep)
    return story.submit().at(5).all_pods("Running")


def lost(story: Story, seconds: float = 1) -> float:
    """A pod of worker-1 vanishes so many seconds after it ran; how long the next one is waited for."""
    story.at(story.clock + seconds).gone("worker-1")
    waited = 0.0
    if "backoff" in story.state.timers:
        before = story.clock
        waited = story.timer("backoff").clock - before
    story.pod("worker-1", "Running")
    return waited


def test_r8_the_first_in_a_row_comes_at_once_and_each_after_it_waits_twice_as_long() -> None:
    story = started()
    assert [lost(story) for _ in range(9)] == [0, 10, 20, 40, 80, 160, 300, 300, 300]
    assert story.replica("worker-1").attempt == 10


def test_r8_restarts_wait_as_replacements_do() -> None:
    story = started()
    story.at(6).pod("worker-1", "Failed", exit_code=1).gone("worker-1").pod("worker-1", "Running")
    story.at(7).pod("worker-1", "Failed", exit_code=1).gone("worker-1")
    assert [type(event) for event in story.last if isinstance(event, ReplicaDelayed | ReplicaRequested)] == [
        ReplicaDelayed
    ]
    assert story.replica("worker-1").phase is ReplicaPhase.DELETED
    assert story.status["aggregate"]["deleted"] == 1
    assert ("BackOff", "replica mnist-7ac1b-worker-1 is started again in 10s") in story.announced()
    assert story.timer("backoff").pods == ["worker-0.1", "worker-1.3"]
    assert "backoff" not in story.state.timers


def test_r9_a_wait_that_is_over_when_the_job_ends_asks_for_no_pod() -> None:
    story = started()
    story.gone("worker-1").pod("worker-1", "Running").gone("worker-1")
    due = story.state.timers["backoff"]
    story.at((due - START).total_seconds()).pod("worker-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert not [event for event in story.last if isinstance(event, ReplicaRequested)]


def test_r8_the_wait_begins_when_the_pod_before_is_gone() -> None:
    story = started()
    lost(story)
    story.at(100).pod("worker-1", "Failed", exit_code=1).at(130).gone("worker-1")
    assert (story.state.timers["backoff"] - story.now).total_seconds() == 10


def test_r8_a_pod_that_ran_for_ten_minutes_begins_a_new_row() -> None:
    story = started()
    assert [lost(story), lost(story), lost(story, 600), lost(story), lost(story, 599)] == [0, 10, 0, 10, 20]


def test_r8_a_pause_begins_a_new_row() -> None:
    story = started()
    lost(story)
    story.gone("worker-1").pause()
    assert "backoff" not in story.state.timers
    story.gone("worker-0").resume()
    assert story.pods == ["worker-0.2", "worker-1.3"]
    story.all_pods("Running")
    assert [lost(story), lost(story)] == [0, 10]


def test_r8_another_scale_begins_a_new_row() -> None:
    spec = workers(1, torchrunConfig={"enabled": True})
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    del container["command"]
    container["args"] = ["train.py"]
    spec["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}
    story = Story(spec).submit().all_pods("Running")
    lost(story)
    story.gone("worker-1")
    assert "worker-1.3" not in story.pods
    story.edit(elastic={"expectedReplicas": 3})
    assert story.pods == ["worker-0.1", "worker-1.3", "worker-2.1"]


def test_r8_the_replicas_of_a_job_wait_each_for_themselves() -> None:
    story = started()
    lost(story)
    story.gone("worker-1").at(story.clock + 4).gone("worker-0")
    assert story.pods == ["worker-0.2"]
    story.pod("worker-0", "Running").gone("worker-0")
    assert story.pods == []
    assert story.timer("backoff").pods == ["worker-1.3"]
    assert story.timer("backoff").pods == ["worker-0.3", "worker-1.3"]


@pytest.mark.parametrize(
    ("settings", "waits"),
    [
        ({"backoff": "0"}, [0, 0, 0, 0]),
        ({"backoff": "1", "backoffMax": "3"}, [0, 1, 2, 3]),
        ({"backoffReset": "1"}, [0, 0, 0, 0]),
    ],
    ids=["off", "quicker", "short rows"],
)
def test_r8_a_job_keeps_the_pace_that_it_was_admitted_with(
    settings: dict[str, str], waits: list[float]
) -> None:
    story = started(**settings)
    assert [lost(story) for _ in range(4)] == waits


def test_r8_the_deadline_goes_on() -> None:
    spec = workers(1, policy="OnFailure", runPolicy={"activeDeadlineSeconds": 20, **UNLIMITED})
    story = Story(spec).submit().at(1).all_pods("Running")
    story.gone("worker-0").pod("worker-0", "Running").at(15).gone("worker-0")
    assert story.timer("deadline").phase is Phase.FAILED
    assert story.state.timers == {}


def test_r8_pods_of_a_pytorchjob_wait_too() -> None:
    story = TorchStory(training()).submit().up()
    story.gone("worker-0").pod("worker-0", "Running").gone("worker-0")
    assert ("BackOff", "replica retry-worker-0 is started again in 10s") in story.announced()
    assert story.timer("backoff").pods == ["master-0.1", "worker-0.3", "worker-1.1"]


def test_r8_nothing_waits_in_a_job_that_is_being_deleted() -> None:
    story = started()
    lost(story)
    story.gone("worker-1").terminate()
    assert story.timer("backoff").pods == ["worker-0.1"]
    assert "backoff" not in story.state.timers
