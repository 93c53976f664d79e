"""A job is seen for the first time, changes, or goes: what is accepted of it (spec R2, T1–T3)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.events import (
    Announced,
    ConditionsChanged,
    Event,
    JobAdmitted,
    JobAdopted,
    JobDeleted,
    JobTerminating,
    LabelsChanged,
    SpecChanged,
    UpdateIgnored,
)
from statemachine.ids import CLUSTER_DOMAIN
from statemachine.kind import Admission, Kind
from statemachine.observations import JobGone, JobObserved, Observation, Recorded
from statemachine.phases import Phase, Trigger
from statemachine.rulebook import UNKNOWN_FIELD
from statemachine.rules import words
from statemachine.rules.asking import answers
from statemachine.rules.entering import entered
from statemachine.rules.pause import rescaled
from statemachine.spec import Plan
from statemachine.state import JobState

_BEGINS_HERE: Final = "The ledger of this job begins here; what was before is not known."


@answers(JobObserved, JobGone)
def admission(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """New jobs are admitted or refused, newer generations change the spec or are ignored."""
    match observation:
        case JobObserved() if state.phase is Phase.NEW:
            yield from _first_seen(kind, state, observation)
        case _:
            yield from changes(kind, state, observation)


def changes(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """What becomes of a known job: newer generations change the spec or are ignored, labels change, it is deleted."""
    match observation:
        case JobObserved() if state.phase is Phase.NEW:
            return
        case JobObserved() if not state.deleted:
            yield from adopted_end(state, observation)
            yield from terminating(state, observation)
            if observation.generation > state.generation and observation.terminating_since is None:
                yield from _updated(kind, state, observation)
            yield from relabelled(state, observation)
        case JobGone() if state.phase is not Phase.NEW and not state.deleted:
            yield JobDeleted(at=observation.at, actor=observation.actor)
        case _:
            return


def terminating(state: JobState, observation: JobObserved) -> Iterator[Event]:
    """Its deletion was asked for, and a finalizer holds it."""
    if observation.terminating_since is not None and not state.terminating:
        yield JobTerminating(at=observation.terminating_since, actor=observation.actor)


def adopted_end(state: JobState, observation: JobObserved) -> Iterator[Event]:
    """The job has ended, says its status: that the log does not know it shows that the log was lost, or begins late.

    A status is written only of what is in the log.
    """
    if observation.recorded is None or not observation.recorded.phase or state.is_final:
        return
    failed = observation.recorded.phase == "Failed"
    trigger = Trigger.FOUND_FAILED if failed else Trigger.FOUND_SUCCEEDED
    if state.phase is not Phase.NEW:
        yield from adopted(observation.recorded)
    end = entered(state, trigger, "adopted", observation)
    yield end.changed(at=observation.recorded.completed_at or observation.at)


def adopted(recorded: Recorded) -> Iterator[Event]:
    """What is known of the life that the log does not know, and that the rest is not."""
    yield JobAdopted(
        conditions=recorded.conditions,
        started_at=recorded.started_at,
        completed_at=recorded.completed_at,
        restarts=recorded.restarts,
        spent=recorded.spent,
        tally=recorded.tally,
    )
    yield Announced(reason="Adopted", message=_BEGINS_HERE)


def relabelled(state: JobState, observation: JobObserved) -> Iterator[Event]:
    """The labels are others than those known. An older version of the job is old news: its labels are, too."""
    if observation.labels != state.labels and not _is_older(observation, state):
        yield LabelsChanged(
            labels=observation.labels, version=observation.version, written_at=observation.written_at
        )


def _is_older(observation: JobObserved, state: JobState) -> bool:
    """The job object has been changed since, as its generation says, or its resourceVersion.

    A cluster that is put back from a backup uses versions again; what is written then is written later.
    """
    if observation.generation != state.generation:
        return observation.generation < state.generation
    if not 0 < observation.version <= state.labels_version:
        return False
    now, then = observation.written_at, state.labels_written
    return now is None or then is None or now <= then


def _first_seen(kind: Kind, state: JobState, observation: JobObserved) -> Iterator[Event]:
    verdict = kind.admit(
        observation.name, observation.spec, uid=state.uid, runs=observation.recorded is not None
    )
    yield admitted(kind, observation, verdict)
    yield from relabelled(state, observation)
    if observation.recorded is None:
        yield Announced(reason="Created", message=f"A {kind.names.kind} has been created: {observation.name}")
    else:
        yield from adopted(observation.recorded)
    yield from announcements(verdict)
    yield from terminating(state, observation)
    if observation.recorded is not None and observation.recorded.phase:
        yield from adopted_end(state, observation)
    elif verdict.plan is None:
        yield from _refused(state, observation, verdict)
    elif verdict.plan.paused:
        yield entered(state, Trigger.ADMITTED_PAUSED, "T2", observation)
        yield ConditionsChanged(at=observation.at, conditions=words.WHEN_PAUSED)
        yield Announced(reason="Paused", message=words.PAUSED_MESSAGE)
    else:
        yield entered(state, Trigger.ADMITTED, "T1", observation)


def admitted(kind: Kind, observation: JobObserved, verdict: Admission) -> JobAdmitted:
    """The first event of every job."""
    return JobAdmitted(
        api_version=observation.api_version,
        kind=kind.names.kind,
        object_kind="" if observation.kind == kind.names.kind else observation.kind,
        namespace=observation.namespace,
        name=observation.name,
        generation=observation.generation,
        at=observation.at,
        spec=verdict.spec,
        plan=_with_service(observation, verdict.plan),
        settings=observation.settings,
    )


def _with_service(job: JobObserved, plan: Plan | None) -> Plan | None:
    """Its pods share a Service where Services have names in DNS, unless they were made already, by whatever rules.

    Observations of before name no domain: they are decided as they were.
    """
    if plan is None or (CLUSTER_DOMAIN in job.settings and job.recorded is None):
        return plan
    return plan.changed(service="")


def _refused(state: JobState, observation: JobObserved, verdict: Admission) -> Iterator[Event]:
    text = joined(verdict.problems)
    yield entered(state, Trigger.FOUND_INVALID, "T3", observation)
    yield ConditionsChanged(at=observation.at, conditions=words.when_invalid(text))
    yield Announced(reason="InvalidSpec", message=text, level="Warning")


def announcements(verdict: Admission, *, but: str = "") -> Iterator[Event]:
    """What users are warned of, but for notices of one reason."""
    for notice in verdict.notices:
        if notice.reason != but:
            yield Announced(reason=notice.reason, message=notice.message, level="Warning")


def joined(problems: tuple[Problem, ...]) -> str:
    """Several problems in one message (spec R2)."""
    return "; ".join(map(str, problems))


def _updated(kind: Kind, state: JobState, observation: JobObserved) -> Iterator[Event]:
    """A newer generation. What may not change is reported once, and again only when it differs (spec R2)."""
    if state.plan is None:
        yield UpdateIgnored(generation=observation.generation, problems=state.ignored)
        return
    verdict, problems = judged_update(kind, state, observation.spec)
    if problems or verdict.plan is None:
        yield UpdateIgnored(generation=observation.generation, problems=problems)
        if problems != state.ignored:
            yield Announced(reason="InvalidUpdate", message=joined(problems), level="Warning")
        return
    frozen = tuple(Problem("G17", path, _FROZEN) for path in verdict.frozen)
    if verdict.changes:
        yield from _accepted(kind, state, observation, verdict.plan, verdict)
    if not verdict.changes or frozen:
        yield UpdateIgnored(generation=observation.generation, problems=frozen)
    for problem in frozen:
        if problem not in state.ignored:
            message = f"{problem.path} {problem.text}"
            yield Announced(reason="ImmutableFieldChanged", message=message, level="Warning")


def judged_update(
    kind: Kind, state: JobState, spec: Mapping[str, Any]
) -> tuple[Admission, tuple[Problem, ...]]:
    """What an update to `spec` would be, and why nothing of it is accepted, if so."""
    update = kind.admit(state.name, spec, state.spec, uid=state.uid)
    return update, (*update.problems, *_too_late(kind, state, update))


def _too_late(kind: Kind, state: JobState, verdict: Admission) -> Iterator[Problem]:
    """What may change only until the job is finished (spec R2)."""
    if state.is_final:
        for path in kind.fixed_when_finished(verdict.changes or {}):
            yield Problem("G17", "", f"{path} is immutable")


_FROZEN = "cannot be changed after creation; delete and create the job again"


def _accepted(
    kind: Kind, state: JobState, observation: JobObserved, after: Plan, verdict: Admission
) -> Iterator[Event]:
    changes = dict(verdict.changes or {})
    before = state.running_plan
    after = after.changed(service=before.service)  # its pods know no other
    yield SpecChanged(generation=observation.generation, changes=changes, spec=verdict.spec, plan=after)
    yield from announcements(verdict, but=UNKNOWN_FIELD)
    if before.scale != after.scale:
        numbers = kind.scale_of(before), kind.scale_of(after)
        message = "Scale changed from {} to {} replicas".format(*numbers)
        yield Announced(reason="Scaled", message=message)
        yield from rescaled(state, after)
    if state.is_final and after.paused and not before.paused:
        message = f"The job has ended ({state.phase}); pausing it does nothing."
        yield Announced(reason="PauseIgnored", message=message, level="Warning")
