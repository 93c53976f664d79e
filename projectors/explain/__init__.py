"""Why a job is as it is: entries in, an explanation out. Pure.

Taken only from the entries of the log, so it is the same, byte for byte, after a restart of jobledger and on any
machine, and does not need the job to exist any more. Used by `jobledger why`, the API and the console.
"""

from collections.abc import Sequence
from datetime import datetime

from projectors.explain.chronicle import chronicle
from projectors.explain.model import Explanation, IncidentKind, Job, Nature, Restarts, RootCause, json_schema
from projectors.explain.says import counted, instant, listed, why_ended
from projectors.explain.text import as_text
from projectors.explain.told import Told
from projectors.explain.waits import waits
from statemachine.events import JobDeleted, PhaseEntered
from statemachine.log.entry import Entry
from statemachine.phases import Phase
from statemachine.rules.timers import RETRY
from statemachine.state import ReplicaPhase

__all__ = ["Explanation", "as_text", "explain", "json_schema", "life"]


def explain(entries: Sequence[Entry]) -> Explanation:
    """The explanation of the job whose entries these are: from the first on, in order, without holes.

    Deleting a job that has ended does not change its answer: that explains the job's life, which was over. A job
    deleted before it had ended is explained to its very end, as the deletion is what ended it.

    Raises:
        ValueError: there are no entries, so there is nothing to explain.
    """
    if not entries:
        raise ValueError("a job without entries has nothing to explain")
    told = chronicle(entries[0].job, life(entries))
    state = told.state
    since = told.since or entries[0].seen_at
    incidents = tuple(each.finished() for each in told.drafts.all)
    normal = not any(each.nature is Nature.ABNORMAL for each in incidents)
    return Explanation(
        job=Job(
            uid=state.uid,
            api_version=state.api_version,
            kind=state.kind,
            namespace=state.namespace,
            name=state.name,
        ),
        phase=state.phase,
        since=since,
        deleted_at=_deleted_at(told),
        entries=told.entries,
        normal=normal,
        answer=_answer(told, normal=normal),
        root_cause=_root(told),
        restarts=_restarts(told),
        waits_for=tuple(waits(told, since)),
        incidents=incidents,
    )


def life(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries up to the deletion of a job that had ended by then; else all."""
    ended = False
    for number, entry in enumerate(entries):
        if ended and any(isinstance(event, JobDeleted) for event in entry.events):
            return entries[:number]
        ended |= any(isinstance(event, PhaseEntered) and event.phase.is_final for event in entry.events)
    return entries


def _deleted_at(told: Told) -> datetime | None:
    draft = told.drafts.last(IncidentKind.DELETION)
    return draft.entry.seen_at if draft else None


def _root(told: Told) -> RootCause | None:
    draft = told.root
    if draft is None:
        return None
    return RootCause(
        seq=draft.entry.seq,
        at=draft.happened_at,
        replica=draft.replica,
        says=draft.says,
        cause=draft.evidence,
    )


def _restarts(told: Told) -> Restarts | None:
    plan, spent = told.state.plan, told.state.spent
    if plan is None:
        return None
    limit = plan.backoff_limit
    return Restarts(limit=limit, spent=spent, left=None if limit is None else max(0, limit - spent))


def _answer(told: Told, *, normal: bool) -> str:
    """How the job stands, in one or two sentences."""
    state = told.state
    if state.deleted:
        draft = told.drafts.last(IncidentKind.DELETION)
        by = f" by {draft.by}" if draft and draft.by else ""
        at = f" at {instant(draft.entry.seen_at)}" if draft else ""
        return f"The job was deleted{by}{at}, while it was {state.phase}."
    return " ".join(filter(None, (_present(told), _judgement(told, normal=normal))))


def _past(told: Told) -> str:
    """What the job ended of, and where that began."""
    end = told.drafts.last(IncidentKind.END) or told.drafts.last(IncidentKind.INVALID)
    if end is None or told.state.phase is not Phase.FAILED:
        return ""
    root = told.root
    if root is None or not root.replica or root.cause is None:
        return end.says
    return f"{end.says} It began with {root.replica}: {why_ended(root.cause)}."


def _present(told: Told) -> str:
    state = told.state
    match state.phase:
        case Phase.FAILED:
            return _past(told)
        case Phase.SUCCEEDED:
            return "The job has succeeded."
        case Phase.PAUSED:
            draft = told.drafts.last(IncidentKind.PAUSE)
            by = f" by {draft.by}" if draft and draft.by else ""
            return (
                f"The job has been paused{by} since {instant(told.since) if told.since else 'its creation'}."
            )
        case Phase.UNKNOWN:
            return (
                "It is not known how the job is: the status of the replica that decides its result is lost."
            )
        case Phase.PENDING | Phase.RESUMING:
            word = "starting" if state.phase is Phase.PENDING else "resuming"
            return f"The job is {word}: {_not_up(told)}{_refused(told)}"
        case _:
            return f"The job is running: {_not_up(told)}"


def _not_up(told: Told) -> str:
    plan = told.state.plan
    names = list(plan.replicas()) if plan else []
    up = (ReplicaPhase.RUNNING, ReplicaPhase.SUCCEEDED)
    known = told.state.replicas
    down = [name for name in names if name not in known or known[name].phase not in up]
    if not down:
        return "its replica is up." if len(names) == 1 else f"all {counted(len(names), 'replica')} are up."
    return f"{len(names) - len(down)} of {counted(len(names), 'replica')} up, without {listed(down)}."


def _refused(told: Told) -> str:
    due = told.state.timers.get(RETRY)
    if told.refusal is None:
        return ""
    return f" {told.refusal.says}" + (f" The next try is due at {instant(due)}." if due else "")


def _judgement(told: Told, *, normal: bool) -> str:
    if normal:
        return "Nothing abnormal has happened."
    if told.state.phase is Phase.FAILED:
        return ""
    found = [each for each in told.drafts.all if each.nature is Nature.ABNORMAL]
    open_ = [each for each in found if each.over_at is None]
    thing = counted(len(found), "abnormal incident")
    if told.state.phase is Phase.SUCCEEDED:
        return f"On the way there: {thing}."
    if not open_:
        return f"So far: {thing}, made good."
    return f"So far: {thing}, {'not' if len(open_) == len(found) else f'{len(open_)} of them not'} made good."
