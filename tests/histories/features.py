"""What a life shows, as words that can be counted: causes, events, transitions, refusals, timers, reasons."""

from collections import Counter
from collections.abc import Iterable, Iterator

from statemachine.events import Announced, Event, PhaseEntered, UpdateIgnored
from statemachine.evolve import fold
from statemachine.log.codec import decode
from statemachine.log.entry import Entry
from statemachine.observations import (
    ChildObserved,
    JobObserved,
    Observation,
    PodObserved,
    TimerFired,
    WriteRefused,
)
from statemachine.state import JobState

CLASSES = ("kind", "cause", "event", "phase", "refusal", "ignored", "timer", "reason", "decision")
"""The first word of every feature."""


def features(bodies: Iterable[bytes]) -> frozenset[str]:
    """Everything that the entries of one job show."""
    return frozenset(_features(bodies))


def census(lives: Iterable[Iterable[bytes]]) -> dict[str, Counter[str]]:
    """Class → feature → how many lives show it."""
    table: dict[str, Counter[str]] = {name: Counter() for name in CLASSES}
    for bodies in lives:
        for feature in features(bodies):
            table[feature.split(" ", 1)[0]][feature.split(" ", 1)[1]] += 1
    return table


def _features(bodies: Iterable[bytes]) -> Iterator[str]:
    state: JobState | None = None
    for body in bodies:
        entry = decode(body)
        before = state or JobState(entry.job)
        state = fold(before, entry.events)
        if isinstance(entry.cause, JobObserved):
            yield f"kind {entry.cause.kind}"
        if state.phase is not before.phase:
            yield f"phase {before.phase.value or 'New'}>{state.phase.value}"
        yield from _of_cause(entry.cause)
        yield from _of_entry(entry)


def _of_cause(cause: Observation) -> Iterator[str]:
    yield f"cause {cause.type}"
    match cause:
        case PodObserved():
            yield f"cause {cause.type} {cause.phase.value}{' deleting' if cause.deleting else ''}"
        case ChildObserved():
            yield f"cause {cause.kind} {' '.join(cause.facts.values()) or 'gone'}"
        case TimerFired():
            yield f"timer {cause.timer.split(':', 1)[0].split('/', 1)[0]}"
        case WriteRefused():
            yield f"refusal {cause.verb} {cause.kind} {cause.status}"
        case _:
            pass


def _of_entry(entry: Entry) -> Iterator[str]:
    for event in entry.events:
        yield from _of_event(event)
    yield f"decision {entry.cause.type} -> {' '.join(event.type for event in entry.events)}"


def _of_event(event: Event) -> Iterator[str]:
    yield f"event {event.type}"
    match event:
        case Announced():
            yield f"reason {event.reason}"
        case UpdateIgnored():
            for problem in event.problems:
                yield f"ignored {problem.rule or problem.path}"
        case PhaseEntered():
            yield f"phase rule {event.rule}"
        case _:
            pass
