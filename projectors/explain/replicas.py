"""Incidents of single replicas: restarts, failures and losses."""

from projectors.explain.diagnosis import Diagnosis
from projectors.explain.drafts import IncidentDraft
from projectors.explain.model import Budget, IncidentKind, Nature, StepKind
from projectors.explain.wording import budget_says, why_ended
from projectors.phrases import Said, phrase, sentences
from statemachine import events as e
from statemachine.ids import ReplicaName, split_replica
from statemachine.log.entry import Entry


def restart(diagnosis: Diagnosis, entry: Entry, event: e.RestartScheduled) -> None:
    """Adds a restart, with what it costs the budget."""
    diagnosis.failures.pop(event.replica, None)
    cause, limit = event.cause, event.limit
    of = "" if limit is None else phrase(" of {limit}", limit=limit)
    number = phrase("restart {number}{of}", number=event.number, of=of)
    says: Said
    if event.after_success:
        nature = Nature.EXPECTED
        says = phrase(
            "{replica} ended with exit code 0, and its restart policy starts it again ({number}).",
            replica=event.replica,
            number=number,
        )
    else:
        nature = Nature.ABNORMAL
        again = phrase("It is restarted ({number}).", number=number)
        says = sentences(failing(event.replica, cause), again)
    draft = diagnosis.add_of(event.replica, entry, IncidentKind.RESTART, nature, says=says, cause=cause)
    draft.budget = Budget(limit=limit, before=cause.budget_before, after=cause.budget_after)
    draft.step(entry, StepKind.DISMISSED, event.replica, uid=cause.pod_uid)
    diagnosis.leaving_since[event.replica] = entry.seen_at
    if not event.after_success:
        diagnosis.drafts.failed(event.replica, draft)


def denied(diagnosis: Diagnosis, entry: Entry, event: e.RestartDenied) -> None:
    """Adds the end of a replica that is not restarted."""
    failed = diagnosis.failures.pop(event.replica, None) is not None
    cause, limit = event.cause, event.limit
    why = phrase("its restart policy does not restart this")
    if event.exhausted:
        why = phrase("the restart budget is used up")
    elif diagnosis.state.terminating:
        why = phrase("the job is being deleted")
    left = budget_says(cause.budget_before, cause.budget_after, limit)
    if failed:
        nature = Nature.ABNORMAL
        says = sentences(
            failing(event.replica, cause), phrase("It is not restarted: {why} ({left}).", why=why, left=left)
        )
        plan = diagnosis.state.plan
        ends = any(isinstance(decided, e.PhaseEntered) and decided.phase.is_final for decided in entry.events)
        if plan is not None and event.replica != plan.primary and not ends:
            goes_on = phrase("The job goes on: its success and failure rules decide its result.")
            if plan.primary:
                goes_on = phrase("The job goes on: {primary} decides its result.", primary=plan.primary)
            says = sentences(says, goes_on)
    else:
        nature = Nature.EXPECTED
        says = phrase(
            "{replica} ended with exit code 0. It is not started again: {why} ({left}).",
            replica=event.replica,
            why=why,
            left=left,
        )
    draft = diagnosis.add_of(event.replica, entry, IncidentKind.FAILURE, nature, says=says, cause=cause)
    draft.budget = Budget(limit=limit, before=cause.budget_before, after=cause.budget_after)
    if failed:
        diagnosis.drafts.failed(event.replica, draft)


def failing(replica: ReplicaName, cause: e.Cause) -> Said:
    """The sentence that the replica failed, and why."""
    return phrase("{replica} failed: {why}.", replica=replica, why=why_ended(cause))


def unjudged(diagnosis: Diagnosis, entry: Entry, event: e.ReplicaFailed) -> None:
    """Adds a failure without a decision: the job had ended, or has no restart policy."""
    ended = diagnosis.state.is_final
    tail = phrase("The job had ended before this was seen.") if ended else ""
    says = sentences(failing(event.replica, event.cause), tail)
    nature = Nature.EXPECTED if ended else Nature.ABNORMAL
    draft = diagnosis.add_of(event.replica, entry, IncidentKind.FAILURE, nature, says=says, cause=event.cause)
    if not ended:
        diagnosis.drafts.failed(event.replica, draft)
    elif diagnosis.root and diagnosis.root.replica and _is_earlier(draft, diagnosis.root):
        draft.nature, diagnosis.root = Nature.ABNORMAL, draft  # observed late, but the first of the chain


def _is_earlier(draft: IncidentDraft, root: IncidentDraft) -> bool:
    """The incident happened before the present root, by times of the cluster."""
    at, root_at = draft.entry.happened_at, root.entry.happened_at
    return at is not None and root_at is not None and at < root_at


def lost(diagnosis: Diagnosis, entry: Entry, event: e.ReplicaLost) -> None:
    """Adds the loss of a replica; the observed end of its pod is a better cause than its absence."""
    ended = diagnosis.ends.pop(event.replica, None)
    is_better = ended is not None and ended.kind is not e.CauseClass.EVIDENCE_LOST
    cause = ended if ended is not None and is_better else event.cause
    if diagnosis.state.phase.is_active and not diagnosis.state.deleted:
        nature = Nature.ABNORMAL
        tail = phrase("It is created again, at no cost to the restart budget.")
        if diagnosis.state.terminating:
            tail = phrase("It is not created again: the job is being deleted.")
        elif event.for_good:
            driver = split_replica(diagnosis.state.running_plan.driver)[0]
            tail = phrase(
                "It is not created again: the {driver} counts on the pods that it was started with.",
                driver=driver,
            )
    else:
        nature = Nature.EXPECTED
        tail = phrase("Nothing follows from that: the job had no more use for it.")
    says = sentences(phrase("{replica} was lost: {why}.", replica=event.replica, why=why_ended(cause)), tail)
    draft = diagnosis.add_of(event.replica, entry, IncidentKind.LOSS, nature, says=says, cause=cause)
    draft.step(entry, StepKind.GONE, event.replica, uid=event.uid)
    if nature is Nature.ABNORMAL:
        diagnosis.drafts.failed(event.replica, draft)
