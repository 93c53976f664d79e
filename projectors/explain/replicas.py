"""Replicas that end, and pods that come and go because of something."""

from projectors.explain.drafts import Draft
from projectors.explain.model import Budget, IncidentKind, Nature, StepKind
from projectors.explain.says import budget_says, why_ended
from projectors.explain.told import Told
from projectors.phrases import Said, phrase, sentences
from statemachine import events as e
from statemachine.ids import ReplicaName, split_replica
from statemachine.log.entry import Entry


def restart(told: Told, entry: Entry, event: e.RestartScheduled) -> None:
    """A restart was granted, and paid for."""
    told.failures.pop(event.replica, None)
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
    draft = told.add_of(event.replica, entry, IncidentKind.RESTART, nature, says=says, cause=cause)
    draft.budget = Budget(limit=limit, before=cause.budget_before, after=cause.budget_after)
    draft.step(entry, StepKind.DISMISSED, event.replica, uid=cause.pod_uid)
    told.leaving_since[event.replica] = entry.seen_at
    if not event.after_success:
        told.drafts.failed(event.replica, draft)


def denied(told: Told, entry: Entry, event: e.RestartDenied) -> None:
    """An ended replica stays ended."""
    failed = told.failures.pop(event.replica, None) is not None
    cause, limit = event.cause, event.limit
    why = phrase("its restart policy does not restart this")
    if event.exhausted:
        why = phrase("the restart budget is used up")
    elif told.state.terminating:
        why = phrase("the job is being deleted")
    left = budget_says(cause.budget_before, cause.budget_after, limit)
    if failed:
        nature = Nature.ABNORMAL
        says = sentences(
            failing(event.replica, cause), phrase("It is not restarted: {why} ({left}).", why=why, left=left)
        )
        plan = told.state.plan
        ends = any(isinstance(each, e.PhaseEntered) and each.phase.is_final for each in entry.events)
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
    draft = told.add_of(event.replica, entry, IncidentKind.FAILURE, nature, says=says, cause=cause)
    draft.budget = Budget(limit=limit, before=cause.budget_before, after=cause.budget_after)
    if failed:
        told.drafts.failed(event.replica, draft)


def failing(replica: ReplicaName, cause: e.Cause) -> Said:
    """That the replica failed, and of what."""
    return phrase("{replica} failed: {why}.", replica=replica, why=why_ended(cause))


def unjudged(told: Told, entry: Entry, event: e.ReplicaFailed) -> None:
    """A failure that nothing was decided on, because the job had ended, or follows no restart policy."""
    ended = told.state.is_final
    tail = phrase("The job had ended before this was seen.") if ended else ""
    says = sentences(failing(event.replica, event.cause), tail)
    nature = Nature.EXPECTED if ended else Nature.ABNORMAL
    draft = told.add_of(event.replica, entry, IncidentKind.FAILURE, nature, says=says, cause=event.cause)
    if not ended:
        told.drafts.failed(event.replica, draft)
    elif told.root and told.root.replica and _is_earlier(draft, told.root):
        draft.nature, told.root = Nature.ABNORMAL, draft  # seen late, and yet the first of the chain


def _is_earlier(draft: Draft, root: Draft) -> bool:
    """It happened before what is held for the root; only times that the cluster told count here."""
    at, root_at = draft.entry.happened_at, root.entry.happened_at
    return at is not None and root_at is not None and at < root_at


def lost(told: Told, entry: Entry, event: e.ReplicaLost) -> None:
    """How the pod ended, if that was seen, tells more than that it is gone."""
    seen = told.ends.pop(event.replica, None)
    telling = seen is not None and seen.kind is not e.CauseClass.EVIDENCE_LOST
    cause = seen if seen is not None and telling else event.cause
    if told.state.phase.is_active and not told.state.deleted:
        nature = Nature.ABNORMAL
        tail = phrase("It is created again, at no cost to the restart budget.")
        if told.state.terminating:
            tail = phrase("It is not created again: the job is being deleted.")
        elif event.for_good:
            driver = split_replica(told.state.running_plan.driver)[0]
            tail = phrase(
                "It is not created again: the {driver} counts on the pods that it was started with.",
                driver=driver,
            )
    else:
        nature = Nature.EXPECTED
        tail = phrase("Nothing follows from that: the job had no more use for it.")
    says = sentences(phrase("{replica} was lost: {why}.", replica=event.replica, why=why_ended(cause)), tail)
    draft = told.add_of(event.replica, entry, IncidentKind.LOSS, nature, says=says, cause=cause)
    draft.step(entry, StepKind.GONE, event.replica, uid=event.uid)
    if nature is Nature.ABNORMAL:
        told.drafts.failed(event.replica, draft)
