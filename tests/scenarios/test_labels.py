"""Labels of the job object: noted whenever they are seen to be others, and nothing else comes of them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from projectors.children import Children
from projectors.expiry import Expiry
from projectors.status import Status
from statemachine.decide import decide
from statemachine.errors import EntryUnreadable
from statemachine.events import LabelsChanged
from statemachine.log.codec import decode_observation, encode_observation
from statemachine.observations import MOST_LABELS, JobObserved
from statemachine.phases import Phase
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import START, Story, workers

TEAM = {"team": "a"}


def t9k() -> Story:
    return Story(workers(1))


def kubeflow() -> Story:
    return TorchStory(training(workers=1))


every_kind = pytest.mark.parametrize("new", [t9k, kubeflow])


@every_kind
def test_labels_at_first_sight_come_right_after_the_admission(new: Callable[[], Story]) -> None:
    story = new().label(**TEAM)
    assert story.last[0].type == "JobAdmitted"
    assert story.last[1] == LabelsChanged(labels=TEAM)
    assert story.state.labels == TEAM


@every_kind
def test_a_job_without_labels_is_decided_as_ever(new: Callable[[], Story]) -> None:
    story = new().submit()
    assert "LabelsChanged" not in [event.type for event in story.last]
    assert b"labels" not in story.bodies[0]


@every_kind
def test_new_labels_are_the_whole_set_and_all_that_is_decided(new: Callable[[], Story]) -> None:
    story = new().label(**TEAM).at(5).all_pods("Running").label(tier="gold")
    assert story.last == (LabelsChanged(labels={"tier": "gold"}),)
    assert story.state.labels == {"tier": "gold"}
    assert story.label().last == (LabelsChanged(),)
    assert story.state.labels == {}


@every_kind
def test_the_same_labels_say_nothing(new: Callable[[], Story]) -> None:
    assert new().label(**TEAM).submit().last == ()


def test_labels_change_with_the_spec_in_one_entry() -> None:
    story = t9k().submit()
    story.labels = TEAM
    story.edit(runPolicy={"backoffLimit": 7})
    assert [event.type for event in story.last][:: len(story.last) - 1] == ["SpecChanged", "LabelsChanged"]


def test_a_finished_job_and_one_that_was_refused_have_labels_too() -> None:
    done = t9k().submit().at(5).pod("worker-0", "Running").at(6).pod("worker-0", "Succeeded", exit_code=0)
    assert done.phase is Phase.SUCCEEDED
    assert done.label(**TEAM).state.labels == TEAM
    refused = Story(workers(1, elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 1})).label(**TEAM)
    assert refused.phase is Phase.FAILED
    assert refused.label(tier="x").last == (LabelsChanged(labels={"tier": "x"}),)


def test_a_deleted_job_gets_no_labels_and_a_closed_one_has_none() -> None:
    story = t9k().label(**TEAM).at(5).all_pods("Running").delete()
    assert story.label(tier="late").last == ()
    assert story.state.labels == TEAM
    story.gone("worker-0")
    assert story.state.closed
    assert story.state.labels == {}


def test_an_older_generation_says_nothing_about_labels() -> None:
    story = t9k().label(**TEAM)
    old = story.entries[0].cause
    story.labels = {"tier": "gold"}
    story.edit(runPolicy={"backoffLimit": 7})
    assert decide(story.state, old) == ()


def version(number: int, seconds: float) -> dict[str, Any]:
    """A version of the job object, and when the API server took it."""
    return {"version": number, "written_at": START + timedelta(seconds=seconds)}


def labelled(story: Story, colour: str, **of: Any) -> Story:
    story.labels = {"colour": colour}
    return story.submit(**of)


@every_kind
def test_an_older_version_says_nothing_about_labels_whatever_our_clock_says(new: Callable[[], Story]) -> None:
    story = labelled(new().submit(**version(7, 0)).at(5), "red", **version(9, 5))
    story.at(60).labels = {}
    assert story.submit(**version(7, 0)).last == ()
    assert labelled(story, "blue", **version(8, 5)).last == ()
    assert labelled(story, "red", **version(9, 5)).last == ()
    assert labelled(story.at(1), "blue", **version(12, 6)).state.labels == {"colour": "blue"}


def test_a_cluster_that_was_put_back_uses_versions_again() -> None:
    story = labelled(t9k(), "red", **version(900, 5))
    assert labelled(story, "blue", **version(300, 5)).last == ()
    assert labelled(story, "blue", **version(300, 6)).state.labels == {"colour": "blue"}


def test_labels_without_a_version_are_news_in_the_order_in_which_they_come() -> None:
    story = labelled(t9k(), "red", **version(9, 5))
    assert labelled(story, "blue").state.labels == {"colour": "blue"}
    assert labelled(story, "red", **version(9, 5)).state.labels == {"colour": "red"}


def test_a_newer_generation_has_newer_labels_whatever_its_version() -> None:
    story = labelled(t9k(), "red", **version(900, 5))
    story.labels, story.generation = {"colour": "blue"}, 2
    assert story.submit(**version(300, 5)).state.labels == {"colour": "blue"}


def test_labels_beyond_the_bounds_are_refused_by_the_model() -> None:
    observation = t9k().submit().entries[0].cause
    assert isinstance(observation, JobObserved)
    for labels in (
        {"k" * 318: ""},
        {"k": "v" * 64},
        {str(at): "" for at in range(MOST_LABELS + 1)},
        {"k": 1},
    ):
        with pytest.raises(EntryUnreadable, match="labels"):
            decode_observation(encode_observation(observation.changed(labels=labels)))


@every_kind
def test_nobody_who_writes_to_the_cluster_has_anything_to_do(new: Callable[[], Story]) -> None:
    story = new().submit().at(5).all_pods("Running")
    children, status = story.children, story.status
    events = story.label(**TEAM).last
    nothing = cast(Any, None)  # nobody is asked
    views = (
        Status(nothing, nothing),
        Expiry(nothing, nothing),
        Children(nothing, nothing, nothing, nothing),
    )
    assert not any(view.concerns(events) for view in views)
    assert (story.children, story.status) == (children, status)
