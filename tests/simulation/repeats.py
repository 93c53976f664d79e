"""An invariant of a system at rest: reports that come again say nothing, or what the newest report makes good."""

from statemachine import events as e
from statemachine.decide import decide
from statemachine.evolve import fold
from statemachine.observations import ChildObserved, JobObserved, WriteRefused
from statemachine.state import JobState
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

    And for one whose version tells that it is old: older releases named none, and a cluster that is put back uses
    versions again (ADR 0046).
    """
    observation, newest = step.entry.cause, _newest_labels(story)
    if not isinstance(observation, JobObserved) or observation.generation != story.state.generation:
        return ()
    if newest is None or newest.record.seq <= step.record.seq:
        return ()
    if observation.version and not _is_put_back(story.state, observation):
        return ()
    version, written = observation.version, observation.written_at
    return (e.LabelsChanged(labels=observation.labels, version=version, written_at=written),)


def _is_put_back(state: JobState, observation: JobObserved) -> bool:
    """The labels that are known have a lower version, and were written later."""
    now, then = observation.written_at, state.labels_written
    if now is None or then is None:
        return False
    return 0 < state.labels_version < observation.version and now < then


def _are_made_good(story: Story, said: tuple[e.Event, ...]) -> bool:
    """The newest report of labels, seen after that, leads back to what was."""
    newest, state = _newest_labels(story), fold(story.state, said)
    return newest is not None and fold(state, decide(state, newest.entry.cause)) == story.state


def _newest_labels(story: Story) -> LoggedEntry | None:
    changes = (step for step in reversed(story.steps) if _changes_labels(step))
    return next(changes, None)


def _changes_labels(step: LoggedEntry) -> bool:
    return any(isinstance(event, e.LabelsChanged) for event in step.entry.events)
