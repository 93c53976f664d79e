"""What the rules of repeats and labels let pass: labels from before, which the newest report makes good."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest

from k8s_bridge.stored import Stored
from statemachine.events import Announced, LabelsChanged
from statemachine.ids import Seq
from statemachine.log.port import Record
from statemachine.observations import JobObserved
from statemachine.state import JobState
from tests.histories import lives
from tests.simulation.at_rest import labels_are_those_of_the_object
from tests.simulation.histories import Story
from tests.simulation.repeats import repeats_say_nothing
from tests.simulation.verdicts import Excuse
from tests.simulation.versions import job_object
from tests.simulation.world import World
from tests.support.scenario import Story as ScenarioStory
from tests.support.scenario import workers

Rule = Callable[[JobState, JobObserved], Iterator[Any]]

EXCUSED = Excuse("labels from before")


def labelled() -> ScenarioStory:
    """It had a label, which was changed, then the spec, then another label, and has none at last."""
    story = ScenarioStory(workers(1)).label(team="a").label(team="b")
    return story.edit(runPolicy={"backoffLimit": 7}).label(team="c").label()


def history(story: ScenarioStory) -> Story:
    bodies = enumerate(story.bodies, start=1)
    return Story.of(Record(seq, story.uid, Seq(seq), body) for seq, body in bodies)


def verdicts(story: ScenarioStory) -> list[object]:
    return list(repeats_say_nothing(World(0), history(story)))


def of_any_generation(state: JobState, observation: JobObserved) -> Iterator[Any]:
    if observation.labels != state.labels:
        yield LabelsChanged(labels=observation.labels)


def of_any_version(state: JobState, observation: JobObserved) -> Iterator[Any]:
    if observation.labels != state.labels:
        version, written = observation.version, observation.written_at
        yield LabelsChanged(labels=observation.labels, version=version, written_at=written)


def added_to_those_known(state: JobState, observation: JobObserved) -> Iterator[Any]:
    if not observation.labels.items() <= state.labels.items():
        yield LabelsChanged(labels={**state.labels, **observation.labels, "late": "yes"})


def kept_once_there_are_some(state: JobState, observation: JobObserved) -> Iterator[Any]:
    if (
        observation.labels
        and observation.generation >= state.generation
        and observation.labels != state.labels
    ):
        yield LabelsChanged(labels=observation.labels)


def announced(state: JobState, observation: JobObserved) -> Iterator[Any]:
    if observation.generation >= state.generation and observation.labels != state.labels:
        yield LabelsChanged(labels=observation.labels)
        yield Announced(reason="Labelled", message="")


def test_labels_from_before_are_excused_in_their_generation_and_nowhere_else() -> None:
    assert verdicts(labelled()) == [None, None, EXCUSED, EXCUSED, None]


def test_labels_of_a_known_version_are_excused_nowhere() -> None:
    story = ScenarioStory(workers(1))
    for version, colour in ((3, "red"), (5, "blue"), (8, "red")):
        story.labels = {"colour": colour}
        story.submit(version=version)
    assert verdicts(story) == [None, None, None]


def test_labels_from_before_a_cluster_was_put_back_are_excused_until_their_version_comes_again() -> None:
    story = lives.labelled_by_version()
    assert [said for said in verdicts(story) if said] == [EXCUSED]
    story.labels = {"colour": "white"}
    story.submit(version=31, written_at=datetime(2024, 1, 9, 15, 2, tzinfo=UTC))
    assert not any(verdicts(story))


def test_labels_of_an_older_version_and_an_earlier_time_are_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("statemachine.rules.admission"), "relabelled", of_any_version)
    wrong, excused = (verdicts(lives.labelled_by_version())[index] for index in (2, 3))
    assert isinstance(wrong, str)
    assert excused == EXCUSED


@pytest.mark.parametrize(
    "rule", [of_any_generation, added_to_those_known, kept_once_there_are_some, announced]
)
def test_whatever_else_a_repeat_says_is_wrong(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    story = labelled()
    monkeypatch.setattr(import_module("statemachine.rules.admission"), "relabelled", rule)
    assert any(isinstance(verdict, str) for verdict in verdicts(story))


@pytest.mark.parametrize(("entry", "are_known"), [(-1, True), (-2, False)])
def test_labels_that_the_log_tells_and_the_object_does_not_have_are_wrong(
    entry: int, are_known: bool
) -> None:
    world, story = World(0), labelled()
    observed = story.entries[entry].cause
    assert isinstance(observed, JobObserved)
    world.cluster.objects.restore(Stored(job_object(observed, story.state)))
    (verdict,) = labels_are_those_of_the_object(world, history(story))
    assert (verdict is None) is are_known
