"""Internal events of jobs → drafts of public ones. `state` is the one before the event."""

from typing import Any, Final

from projectors.contract import of_parts
from projectors.contract.catalogue import Severity
from projectors.contract.model import jobs, parts
from projectors.contract.model.written import written
from projectors.contract.page import Draft, Page, instant, maybe, warnings
from projectors.contract.scrub import spec_digest
from statemachine import events as e
from statemachine.errors import Problem
from statemachine.observations import WriteRefused
from statemachine.phases import Phase, Trigger
from statemachine.rules.timers import DEADLINE, RETRY
from statemachine.state import JobState

MOST_CHANGES: Final = 200

_Phase = written(parts.Phase)
_Child = written(jobs.Child)
_PodGroup = written(jobs.PodGroup)
_Queue = written(jobs.Queue)
_Eviction = written(jobs.Eviction)

OfJob = (
    e.JobAdmitted
    | e.JobAdopted
    | e.SpecChanged
    | e.LabelsChanged
    | e.UpdateIgnored
    | e.PhaseEntered
    | e.ChildRefused
    | e.ChildrenAccepted
    | e.CleanedUp
    | e.ChildChanged
    | e.QueueChanged
    | e.JobExpired
    | e.JobTerminating
    | e.JobDeleted
    | e.JobClosed
)


def of_job(page: Page, state: JobState, event: OfJob) -> Draft | None:
    """What leaves of an event of a job; None: nothing."""
    draft = Draft(page)
    match event.type:
        case "JobAdmitted":
            return _created(draft, page)
        case "JobAdopted":
            return draft.of(
                "job.adopted",
                started_at=maybe(event.started_at),
                completed_at=maybe(event.completed_at),
                spent=event.spent,
                restarts=event.restarts,
            )
        case "SpecChanged":
            return _updated(draft, page, state, tuple(event.changes))
        case "LabelsChanged":
            is_own = not any(other.type in {"JobAdmitted", "SpecChanged"} for other in page.entry.events)
            return _updated(draft, page, state, ("metadata.labels",)) if is_own else None
        case "UpdateIgnored":
            if not event.problems:
                return None
            return draft.of("job.update_rejected", problems=of_parts.problems(draft, event.problems))
        case "PhaseEntered":
            return _phase(draft, page, state, event)
        case "ChildrenAccepted":
            return draft.of("job.initialized", start=event.start)
        case "ChildRefused":
            return _refused(draft, page, event)
        case "ChildChanged":
            return _gang(draft, page, event)
        case "QueueChanged":
            return _queue(draft, event)
        case "CleanedUp":
            return draft.of("job.cleaned_up", policy=event.policy, pods=event.pods)
        case "JobExpired":
            return draft.of("job.expired", after_seconds=event.after_seconds)
        case "JobTerminating":
            return draft.of("job.terminating", requested_at=instant(event.at))
        case "JobDeleted":
            return draft.of("job.deleted")
        case "JobClosed":
            return _closed(draft, page)


def _created(draft: Draft, page: Page) -> Draft:
    """A refused job has what is wrong with it behind the phase that it entered for that, in one text."""
    after = page.after
    entered = next((index for index, event in enumerate(page.entry.events) if _is_refusal(event)), None)
    said = warnings(page.entry.events)
    wrong = [
        Problem("", "", message) for index, _, message in said if entered is not None and index > entered
    ]
    return draft.of(
        "job.created",
        accepted=after.plan is not None,
        plan=of_parts.plan(draft, page, after),
        problems=of_parts.problems(draft, wrong),
        notices=of_parts.notices(
            draft, [warning for warning in said if entered is None or warning[0] < entered]
        ),
        spec_digest=spec_digest(after.spec),
        paused=after.plan is not None and after.plan.paused,
    )


def _is_refusal(event: e.Event) -> bool:
    return event.type == "PhaseEntered" and event.trigger is Trigger.FOUND_INVALID


def _updated(draft: Draft, page: Page, state: JobState, changed: tuple[str, ...]) -> Draft:
    if any(event.type == "LabelsChanged" for event in page.entry.events) and "metadata.labels" not in changed:
        changed = (*changed, "metadata.labels")
    return draft.of(
        "job.updated",
        changed=tuple(draft.text(path) for path in draft.few(changed, MOST_CHANGES)),
        plan=of_parts.plan(draft, page, page.after),
        plan_before=of_parts.plan(draft, page, state),
        spec_digest=spec_digest(page.after.spec),
        spec_digest_before=spec_digest(state.spec),
        notices=of_parts.notices(draft, warnings(page.entry.events)),
    )


def _phase(draft: Draft, page: Page, state: JobState, event: e.PhaseEntered) -> Draft:
    after = page.after
    phase = _Phase(
        from_=state.phase.value,
        to=event.phase.value,
        trigger=event.trigger.value,
        rule=event.rule,
        start=after.starts,
    )
    reason: dict[str, Any] = {"reason": _failed(page, event)} if event.phase is Phase.FAILED else {}
    return draft.of(
        f"job.{event.phase.lower()}",
        phase=phase,
        counts=of_parts.counts(after),
        budget=of_parts.budget(after),
        created_at=maybe(after.created_at),
        started_at=maybe(after.started_at),
        completed_at=maybe(after.completed_at),
        deadline_at=maybe(after.timers.get(DEADLINE)),
        cause=of_parts.maybe_cause(draft, event.cause),
        **reason,
    )


def _failed(page: Page, event: e.PhaseEntered) -> str:
    if any(other.type == "RestartDenied" and other.exhausted for other in page.entry.events):
        return "BackoffLimitExceeded"
    match event.trigger:
        case Trigger.FOUND_INVALID:
            return "InvalidSpec"
        case Trigger.CHILD_REFUSED_FOR_GOOD:
            return "ChildRefused"
        case Trigger.DEADLINE_PASSED:
            return "DeadlineExceeded"
        case Trigger.FOUND_FAILED:
            return "Adopted"
        case _:
            return "ReplicaFailed"


def _refused(draft: Draft, page: Page, event: e.ChildRefused) -> Draft:
    report = page.entry.cause
    return draft.of(
        "job.child_refused",
        child=_Child(kind=event.kind, name=event.name),
        verb=event.verb,
        status=report.status if isinstance(report, WriteRefused) else None,
        refusals=event.refusals,
        retryable=event.retryable,
        cause=of_parts.cause(draft, event.cause),
        retry_at=maybe(page.after.timers.get(RETRY)),
    )


def _gang(draft: Draft, page: Page, event: e.ChildChanged) -> Draft | None:
    if not any(owned.gang and owned.kind == event.kind for owned in page.kind.owns):
        return None
    group = _PodGroup(name=event.name, uid=event.uid or None, phase=event.facts.get("phase", ""))
    return draft.of("job.pod_group_changed", pod_group=group, held=event.holds)


def _queue(draft: Draft, event: e.QueueChanged) -> Draft:
    lost = event.eviction
    queue = _Queue(
        name=event.queue,
        cluster_queue=event.cluster_queue,
        flavors=draft.few(event.flavors, of_parts.MOST_TYPES),
        workload=event.workload,
        standing=event.standing,
        reason=draft.text(event.reason),
        message=draft.text(event.message),
    )
    eviction = (
        None
        if lost is None
        else _Eviction(
            reason=draft.text(lost.reason),
            message=draft.text(lost.message),
            preemptor_uid=lost.preemptor or None,
            happened_at=maybe(lost.happened_at),
        )
    )
    severity = None if lost is None else Severity.WARN
    return draft.of("job.queue_changed", severity, queue=queue, eviction=eviction)


def _closed(draft: Draft, page: Page) -> Draft:
    after = page.after
    return draft.of(
        "job.closed",
        outcome=after.phase.value if after.is_final else "Deleted",
        entries=page.entry.seq,
        restarts=dict(after.restarts),
        spent=after.spent,
        head_hash=page.hash,
    )
