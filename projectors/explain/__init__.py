"""Why a job is in its present phase: steps of its life → an explanation. Pure.

An explanation depends on the entries of the log alone: it has the same bytes after a restart of jobledger and on any
machine, and the job need not exist any more. `jobledger why`, the API and the console show it.
"""

from collections.abc import Iterable
from datetime import datetime

from projectors.explain.chronicle import Chronicle
from projectors.explain.diagnosis import Diagnosis
from projectors.explain.model import Explanation, IncidentKind, Job, Nature, Restarts, RootCause, json_schema
from projectors.explain.queues import queue_of
from projectors.explain.text import as_text
from projectors.explain.waits import waits
from projectors.explain.wording import instant, listed, replicas, why_ended
from projectors.phrases import Language, Said, in_words, phrase, sentences
from statemachine.budget import budget
from statemachine.log.life import LifeStep
from statemachine.phases import Phase
from statemachine.rules.timers import RETRY
from statemachine.state import ReplicaPhase

__all__ = ["Chronicle", "Explanation", "Language", "as_text", "explain", "explanation", "json_schema"]


def explain(steps: Iterable[LifeStep], language: Language = "en") -> Explanation:
    """The explanation of the job whose steps these are: from the first on, in order, without holes.

    Raises:
        ValueError: no step can be read, so there is nothing to explain.
    """
    return explanation(Chronicle(steps), language)


def explanation(chronicle: Chronicle, language: Language = "en") -> Explanation:
    """The explanation of the job at the last step that `chronicle` took; `chronicle` stays as it is.

    Its sentences are in `language`; text of clusters and users is not translated.

    Raises:
        ValueError: the chronicle took no entry.
    """
    diagnosis = chronicle.diagnosis
    if diagnosis is None:
        raise ValueError("a job without entries has nothing to explain")
    state = diagnosis.state
    since = diagnosis.since or diagnosis.begun
    incidents = tuple(draft.finished(language) for draft in diagnosis.drafts.all)
    normal = not any(incident.nature is Nature.ABNORMAL for incident in incidents)
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
        deleted_at=_deleted_at(diagnosis),
        entries=diagnosis.entries,
        normal=normal,
        answer=in_words(_answer(diagnosis, normal=normal), language),
        root_cause=_root(diagnosis, language),
        restarts=_restarts(diagnosis),
        waits_for=tuple(waits(diagnosis, since, language)),
        incidents=incidents,
    )


def _deleted_at(diagnosis: Diagnosis) -> datetime | None:
    draft = diagnosis.drafts.last(IncidentKind.DELETION)
    return draft.entry.seen_at if draft else None


def _root(diagnosis: Diagnosis, language: Language) -> RootCause | None:
    draft = diagnosis.root
    if draft is None:
        return None
    return RootCause(
        seq=draft.entry.seq,
        at=draft.happened_at,
        replica=draft.replica,
        says=in_words(draft.says, language),
        cause=draft.evidence,
    )


def _restarts(diagnosis: Diagnosis) -> Restarts | None:
    if diagnosis.state.plan is None:
        return None
    restarts = budget(diagnosis.state)
    return Restarts(limit=restarts.limit, spent=restarts.used, left=restarts.left)


def _answer(diagnosis: Diagnosis, *, normal: bool) -> Said:
    """The state of the job in one or two sentences."""
    state = diagnosis.state
    if state.deleted:
        draft = diagnosis.drafts.last(IncidentKind.DELETION)
        by = draft.by_whom if draft else ""
        at = phrase(" at {at}", at=instant(draft.entry.seen_at)) if draft else ""
        return phrase(
            "The job was deleted{by}{at}, while it was {phase}.", by=by, at=at, phase=str(state.phase)
        )
    return sentences(_present(diagnosis), _judgement(diagnosis, normal=normal))


def _past(diagnosis: Diagnosis) -> Said:
    """Why the job failed, and the first failure that led to it."""
    end = diagnosis.drafts.last(IncidentKind.END) or diagnosis.drafts.last(IncidentKind.INVALID)
    if end is None or diagnosis.state.phase is not Phase.FAILED:
        return ""
    root = diagnosis.root
    if root is None or not root.replica or root.cause is None:
        return end.says
    began = phrase("It began with {replica}: {why}.", replica=root.replica, why=why_ended(root.cause))
    return sentences(end.says, began)


def _present(diagnosis: Diagnosis) -> Said:
    state = diagnosis.state
    match state.phase:
        case Phase.FAILED:
            return _past(diagnosis)
        case Phase.SUCCEEDED:
            return phrase("The job has succeeded.")
        case Phase.PAUSED:
            draft = diagnosis.drafts.last(IncidentKind.PAUSE)
            if queue := queue_of(state):
                return sentences(_in_queue(diagnosis, queue), _evicted(diagnosis))
            since = instant(diagnosis.since) if diagnosis.since else phrase("its creation")
            return phrase(
                "The job has been paused{by} since {since}.",
                by=draft.by_whom if draft else "",
                since=since,
            )
        case Phase.UNKNOWN:
            if state.plan and not state.plan.primary:
                return phrase("It is not known how the job is: the status of all its replicas is lost.")
            return phrase(
                "It is not known how the job is: the status of the replica that decides its result is lost."
            )
        case Phase.PENDING:
            return sentences(
                phrase("The job is starting: {how}", how=_not_up(diagnosis)), _refused(diagnosis)
            )
        case Phase.RESUMING:
            return sentences(
                phrase("The job is resuming: {how}", how=_not_up(diagnosis)), _refused(diagnosis)
            )
        case _:
            return phrase("The job is running: {how}", how=_not_up(diagnosis))


def _in_queue(diagnosis: Diagnosis, queue: str) -> Said:
    since = instant(diagnosis.since) if diagnosis.since else phrase("its creation")
    queue_state = diagnosis.state.queue
    if queue_state is not None and queue_state.standing == "deactivated":
        return phrase(
            "The job has been suspended since {since}: Kueue has deactivated its Workload.", since=since
        )
    return phrase(
        "The job has been suspended since {since}: it waits in queue {queue}.", since=since, queue=queue
    )


def _evicted(diagnosis: Diagnosis) -> Said:
    return diagnosis.eviction.says if diagnosis.eviction else ""


def _not_up(diagnosis: Diagnosis) -> Said:
    plan = diagnosis.state.plan
    names = list(plan.replicas()) if plan else []
    up = (ReplicaPhase.RUNNING, ReplicaPhase.SUCCEEDED)
    states = diagnosis.state.replicas
    down = [name for name in names if name not in states or states[name].phase not in up]
    if not down and len(names) == 1:
        return phrase("its replica is up.")
    if not down:
        return phrase("all {replicas} are up.", replicas=replicas(len(names)))
    up_now = len(names) - len(down)
    return phrase(
        "{up} of {replicas} up, without {down}.", up=up_now, replicas=replicas(len(names)), down=listed(down)
    )


def _refused(diagnosis: Diagnosis) -> Said:
    due = diagnosis.state.timers.get(RETRY)
    if diagnosis.refusal is None:
        return ""
    again = phrase("The next try is due at {due}.", due=instant(due)) if due else ""
    return sentences(diagnosis.refusal.says, again)


def _judgement(diagnosis: Diagnosis, *, normal: bool) -> Said:
    if normal:
        return phrase("Nothing abnormal has happened.")
    if diagnosis.state.phase is Phase.FAILED:
        return ""
    abnormal = [draft for draft in diagnosis.drafts.all if draft.nature is Nature.ABNORMAL]
    open_ = [draft for draft in abnormal if draft.over_at is None]
    number = len(abnormal)
    thing = (
        phrase("1 abnormal incident") if number == 1 else phrase("{count} abnormal incidents", count=number)
    )
    if diagnosis.state.phase is Phase.SUCCEEDED:
        return phrase("On the way there: {incidents}.", incidents=thing)
    if not open_:
        return phrase("So far: {incidents}, made good.", incidents=thing)
    if len(open_) == number:
        return phrase("So far: {incidents}, not made good.", incidents=thing)
    return phrase("So far: {incidents}, {open} of them not made good.", incidents=thing, open=len(open_))
