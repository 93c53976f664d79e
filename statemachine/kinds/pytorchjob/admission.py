"""A PyTorchJob is seen for the first time. Source: kubeflow-pytorchjob.md, sections 1, 2 and 4."""

from collections.abc import Iterator, Mapping
from typing import Any

from statemachine.events import Announced, ConditionsChanged, Event, SpecChanged
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob import words
from statemachine.kinds.pytorchjob.gang import other_scheduler
from statemachine.kinds.pytorchjob.settings import gang_scheduler
from statemachine.kinds.pytorchjob.spec import ELSEWHERE
from statemachine.observations import JobGone, JobObserved, Observation
from statemachine.phases import Phase, Trigger
from statemachine.rules.admission import (
    admitted,
    adopted,
    adopted_end,
    announcements,
    changes,
    joined,
    relabelled,
    terminating,
)
from statemachine.rules.asking import answers
from statemachine.rules.entering import entered
from statemachine.rules.words import true
from statemachine.schema.lookup import text
from statemachine.state import JobState


@answers(JobObserved, JobGone)
def admission(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """New jobs are admitted or refused, changes followed. One that another cluster runs is none of ours."""
    if not isinstance(observation, JobObserved) or state.phase is not Phase.NEW:
        for event in changes(kind, state, observation):
            yield event
            if isinstance(event, SpecChanged):
                yield from _other_scheduler(state.settings, event.spec, state.spec)
    elif text(observation.spec, "runPolicy.managedBy") != ELSEWHERE:
        yield from _first_seen(kind, state, observation)


def _first_seen(kind: Kind, state: JobState, observation: JobObserved) -> Iterator[Event]:
    recorded = observation.recorded
    verdict = kind.admit(observation.name, observation.spec, uid=state.uid, runs=recorded is not None)
    yield admitted(kind, observation, verdict)
    yield from relabelled(state, observation)
    if recorded is not None:
        yield from adopted(recorded)
    yield from announcements(verdict)
    yield from _other_scheduler(observation.settings, verdict.spec)
    yield from terminating(state, observation)
    if recorded is None or not any(condition.type == words.CREATED for condition in recorded.conditions):
        yield _set(observation, words.CREATED, words.reason(words.CREATED), words.created(observation.name))
    if recorded is not None and recorded.phase:
        yield from adopted_end(state, observation)
    elif verdict.plan is None:
        message = joined(verdict.problems)
        yield entered(state, Trigger.FOUND_INVALID, "T3", observation)
        yield _set(observation, words.FAILED, words.INVALID, message)
        yield Announced(reason=words.INVALID, message=message, level="Warning")
    elif verdict.plan.paused:
        message, reason = words.suspended(observation.name), words.reason(words.SUSPENDED)
        yield entered(state, Trigger.ADMITTED_PAUSED, "T2", observation)
        yield _set(observation, words.SUSPENDED, reason, message)
        yield Announced(reason=reason, message=message)
    else:
        yield entered(state, Trigger.ADMITTED, "T1", observation)


def _other_scheduler(
    settings: Mapping[str, str], spec: Mapping[str, Any], before: Mapping[str, Any] | None = None
) -> Iterator[Event]:
    """A warning of a template that names a scheduler beside the gang's, unless the spec before gave it already."""
    scheduler = gang_scheduler(settings)
    if before is None or not any(other_scheduler(before, scheduler)):
        yield from other_scheduler(spec, scheduler)


def _set(observation: JobObserved, type_: str, reason: str, message: str) -> ConditionsChanged:
    return ConditionsChanged(at=observation.at, conditions=(true(type_, reason, message),), last=True)
