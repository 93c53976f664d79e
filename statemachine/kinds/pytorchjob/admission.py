"""A PyTorchJob is seen for the first time. Source: kubeflow-pytorchjob.md, sections 1, 2 and 4."""

from collections.abc import Iterator

from statemachine.events import Announced, ConditionsChanged, Event
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob import words
from statemachine.kinds.pytorchjob.spec import ELSEWHERE
from statemachine.observations import JobObserved, Observation
from statemachine.phases import Phase, Trigger
from statemachine.rules.admission import (
    admitted,
    adopted,
    adopted_end,
    changes,
    joined,
    noticed,
    relabelled,
    terminating,
)
from statemachine.rules.entering import entered
from statemachine.rules.words import true
from statemachine.schema.lookup import text
from statemachine.state import JobState


def admission(kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """New jobs are admitted or refused, changes followed. One that another cluster runs is none of ours."""
    if not isinstance(seen, JobObserved) or state.phase is not Phase.NEW:
        yield from changes(kind, state, seen)
    elif text(seen.spec, "runPolicy.managedBy") != ELSEWHERE:
        yield from _first_seen(kind, state, seen)


def _first_seen(kind: Kind, state: JobState, seen: JobObserved) -> Iterator[Event]:
    recorded = seen.recorded
    found = kind.admit(seen.name, seen.spec, uid=state.uid, runs=recorded is not None)
    yield admitted(kind, seen, found)
    yield from relabelled(state, seen)
    if recorded is not None:
        yield from adopted(recorded)
    yield from noticed(found)
    yield from terminating(state, seen)
    if recorded is None or not any(condition.type == words.CREATED for condition in recorded.conditions):
        yield _set(seen, words.CREATED, words.reason(words.CREATED), words.created(seen.name))
    if recorded is not None and recorded.phase:
        yield from adopted_end(state, seen)
    elif found.plan is None:
        message = joined(found.problems)
        yield entered(state, Trigger.FOUND_INVALID, "T3", seen)
        yield _set(seen, words.FAILED, words.INVALID, message)
        yield Announced(reason=words.INVALID, message=message, level="Warning")
    elif found.plan.paused:
        message, reason = words.suspended(seen.name), words.reason(words.SUSPENDED)
        yield entered(state, Trigger.ADMITTED_PAUSED, "T2", seen)
        yield _set(seen, words.SUSPENDED, reason, message)
        yield Announced(reason=reason, message=message)
    else:
        yield entered(state, Trigger.ADMITTED, "T1", seen)


def _set(seen: JobObserved, type_: str, reason: str, message: str) -> ConditionsChanged:
    return ConditionsChanged(at=seen.at, conditions=(true(type_, reason, message),), last=True)
