"""Why a job is as it is: the steps of its life in, an explanation out. Pure.

Taken only from the entries of the log, so it is the same, byte for byte, after a restart of jobledger and on any
machine, and does not need the job to exist any more. Used by `jobledger why`, the API and the console.
"""

from collections.abc import Iterable
from datetime import datetime

from projectors.explain.chronicle import Chronicle
from projectors.explain.model import Explanation, IncidentKind, Job, Nature, Restarts, RootCause, json_schema
from projectors.explain.queues import queue_of
from projectors.explain.says import instant, listed, replicas, why_ended
from projectors.explain.text import as_text
from projectors.explain.told import Told
from projectors.explain.waits import waits
from projectors.phrases import Language, Said, in_words, phrase, sentences
from statemachine.budget import budget
from statemachine.log.life import Step
from statemachine.phases import Phase
from statemachine.rules.timers import RETRY
from statemachine.state import ReplicaPhase

__all__ = ["Chronicle", "Explanation", "Language", "as_text", "explain", "explanation", "json_schema"]


def explain(steps: Iterable[Step], language: Language = "en") -> Explanation:
    """The explanation of the job whose steps these are: from the first on, in order, without holes.

    Raises:
        ValueError: there are none that can be told, so there is nothing to explain.
    """
    return explanation(Chronicle(steps), language)


def explanation(chronicle: Chronicle, language: Language = "en") -> Explanation:
    """The explanation of the job, as far as `chronicle` was told its life, which it does not change.

    Its sentences are in `language`; what clusters and users wrote stays as it is.

    Raises:
        ValueError: it was told of no entry.
    """
    told = chronicle.told
    if told is None:
        raise ValueError("a job without entries has nothing to explain")
    state = told.state
    since = told.since or told.begun
    incidents = tuple(each.finished(language) for each in told.drafts.all)
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
        answer=in_words(_answer(told, normal=normal), language),
        root_cause=_root(told, language),
        restarts=_restarts(told),
        waits_for=tuple(waits(told, since, language)),
        incidents=incidents,
    )


def _deleted_at(told: Told) -> datetime | None:
    draft = told.drafts.last(IncidentKind.DELETION)
    return draft.entry.seen_at if draft else None


def _root(told: Told, language: Language) -> RootCause | None:
    draft = told.root
    if draft is None:
        return None
    return RootCause(
        seq=draft.entry.seq,
        at=draft.happened_at,
        replica=draft.replica,
        says=in_words(draft.says, language),
        cause=draft.evidence,
    )


def _restarts(told: Told) -> Restarts | None:
    if told.state.plan is None:
        return None
    found = budget(told.state)
    return Restarts(limit=found.limit, spent=found.used, left=found.left)


def _answer(told: Told, *, normal: bool) -> Said:
    """How the job stands, in one or two sentences."""
    state = told.state
    if state.deleted:
        draft = told.drafts.last(IncidentKind.DELETION)
        by = draft.by_whom if draft else ""
        at = phrase(" at {at}", at=instant(draft.entry.seen_at)) if draft else ""
        return phrase(
            "The job was deleted{by}{at}, while it was {phase}.", by=by, at=at, phase=str(state.phase)
        )
    return sentences(_present(told), _judgement(told, normal=normal))


def _past(told: Told) -> Said:
    """What the job ended of, and where that began."""
    end = told.drafts.last(IncidentKind.END) or told.drafts.last(IncidentKind.INVALID)
    if end is None or told.state.phase is not Phase.FAILED:
        return ""
    root = told.root
    if root is None or not root.replica or root.cause is None:
        return end.says
    began = phrase("It began with {replica}: {why}.", replica=root.replica, why=why_ended(root.cause))
    return sentences(end.says, began)


def _present(told: Told) -> Said:
    state = told.state
    match state.phase:
        case Phase.FAILED:
            return _past(told)
        case Phase.SUCCEEDED:
            return phrase("The job has succeeded.")
        case Phase.PAUSED:
            draft = told.drafts.last(IncidentKind.PAUSE)
            if queue := queue_of(state):
                return sentences(_in_queue(told, queue), _evicted(told))
            since = instant(told.since) if told.since else phrase("its creation")
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
            return sentences(phrase("The job is starting: {how}", how=_not_up(told)), _refused(told))
        case Phase.RESUMING:
            return sentences(phrase("The job is resuming: {how}", how=_not_up(told)), _refused(told))
        case _:
            return phrase("The job is running: {how}", how=_not_up(told))


def _in_queue(told: Told, queue: str) -> Said:
    since = instant(told.since) if told.since else phrase("its creation")
    known = told.state.queue
    if known is not None and known.standing == "deactivated":
        return phrase(
            "The job has been suspended since {since}: Kueue has deactivated its Workload.", since=since
        )
    return phrase(
        "The job has been suspended since {since}: it waits in queue {queue}.", since=since, queue=queue
    )


def _evicted(told: Told) -> Said:
    return told.eviction.says if told.eviction else ""


def _not_up(told: Told) -> Said:
    plan = told.state.plan
    names = list(plan.replicas()) if plan else []
    up = (ReplicaPhase.RUNNING, ReplicaPhase.SUCCEEDED)
    known = told.state.replicas
    down = [name for name in names if name not in known or known[name].phase not in up]
    if not down and len(names) == 1:
        return phrase("its replica is up.")
    if not down:
        return phrase("all {replicas} are up.", replicas=replicas(len(names)))
    up_now = len(names) - len(down)
    return phrase(
        "{up} of {replicas} up, without {down}.", up=up_now, replicas=replicas(len(names)), down=listed(down)
    )


def _refused(told: Told) -> Said:
    due = told.state.timers.get(RETRY)
    if told.refusal is None:
        return ""
    again = phrase("The next try is due at {due}.", due=instant(due)) if due else ""
    return sentences(told.refusal.says, again)


def _judgement(told: Told, *, normal: bool) -> Said:
    if normal:
        return phrase("Nothing abnormal has happened.")
    if told.state.phase is Phase.FAILED:
        return ""
    found = [each for each in told.drafts.all if each.nature is Nature.ABNORMAL]
    open_ = [each for each in found if each.over_at is None]
    number = len(found)
    thing = (
        phrase("1 abnormal incident") if number == 1 else phrase("{count} abnormal incidents", count=number)
    )
    if told.state.phase is Phase.SUCCEEDED:
        return phrase("On the way there: {incidents}.", incidents=thing)
    if not open_:
        return phrase("So far: {incidents}, made good.", incidents=thing)
    if len(open_) == number:
        return phrase("So far: {incidents}, not made good.", incidents=thing)
    return phrase("So far: {incidents}, {open} of them not made good.", incidents=thing, open=len(open_))
