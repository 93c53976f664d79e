"""An invariant of a system at rest: reports that come again say nothing, or what the newest report makes good."""

from statemachine import events as e
from statemachine.decide import decide
from statemachine.evolve import fold
from statemachine.observations import ChildObserved, JobObserved, WriteRefused
from tests.simulation.histories import LoggedEntry, Story
from tests.simulation.verdicts import Excuse, Verdicts
from tests.simulation.world import World


def repeats_say_nothing(_: World, story: Story) -> Verdicts:
    """Whatever was observed, seen again, changes nothing: deliveries come twice, and late."""
    for step in story.steps:
        if not (said := decide(story.state, step.entry.cause)):
            yield None
        elif isinstance(step.entry.cause, WriteRefused | ChildObserved):
            yield Excuse("report of the present")
        elif said == _labels_before(story, step) and _are_made_good(story, said):
            yield Excuse("labels from before")
        else:
            yield f"the cause of entry {step.entry.seq}, seen again, says {said}"


def _labels_before(story: Story, step: LoggedEntry) -> tuple[e.Event, ...]:
    """What a report says again whose labels were changed since, in one generation of the job; empty for any other.

    And for one that says its version: older releases did not.
    """
    observation, newest = step.entry.cause, _newest_labels(story)
    if not isinstance(observation, JobObserved) or observation.version:
        return ()
    if newest is None or newest.record.seq <= step.record.seq:
        return ()
    return (
        (e.LabelsChanged(labels=observation.labels),)
        if observation.generation == story.state.generation
        else ()
    )


def _are_made_good(story: Story, said: tuple[e.Event, ...]) -> bool:
    """The newest report of labels, seen after that, leads back to what was."""
    newest, state = _newest_labels(story), fold(story.state, said)
    return newest is not None and fold(state, decide(state, newest.entry.cause)) == story.state


def _newest_labels(story: Story) -> LoggedEntry | None:
    changes = (step for step in reversed(story.steps) if _changes_labels(step))
    return next(changes, None)


def _changes_labels(step: LoggedEntry) -> bool:
    return any(isinstance(event, e.LabelsChanged) for event in step.entry.events)
