"""What a job waits for at the end of its history: replicas that are not up, refused writes, a person."""

from collections.abc import Iterator
from datetime import datetime

from projectors.explain.diagnosis import Diagnosis
from projectors.explain.drafts import IncidentDraft
from projectors.explain.model import IncidentKind, Wait
from projectors.explain.queues import waiting
from projectors.explain.wording import listed
from projectors.phrases import Language, Said, Several, in_words, phrase, sentences
from statemachine.observations import Container, ContainerStatus
from statemachine.phases import Phase
from statemachine.rules.driver import is_held_back
from statemachine.rules.timers import DEADLINE, RETRY
from statemachine.spec import Plan
from statemachine.state import ReplicaPhase, ReplicaState


def waits(diagnosis: Diagnosis, since: datetime, language: Language) -> Iterator[Wait]:
    """Everything that keeps the job from going on; `since`: when its phase was entered."""
    state = diagnosis.state
    if state.closed or state.plan is None:
        return
    if diagnosis.refusal:
        yield _retry(diagnosis, diagnosis.refusal, language)
    in_queue = tuple(waiting(diagnosis, since, language)) if state.phase is Phase.PAUSED else ()
    if in_queue and not state.deleted:
        yield from in_queue
    elif state.phase is Phase.PAUSED and not state.deleted:
        draft = diagnosis.drafts.last(IncidentKind.PAUSE)
        by = draft.by_whom if draft else ""
        says = phrase("Somebody to resume the job; it was paused{by}.", by=by)
        yield Wait(says=says.text(language), since=since)
    if state.phase is Phase.UNKNOWN:
        yield _unknown(state.plan, since, language)
    yield from _replicas(diagnosis, since, language)
    yield from _delayed(diagnosis, since, language)
    if state.phase.is_active and DEADLINE in state.timers:
        due = state.timers[DEADLINE]
        says = phrase("The job has to end before its deadline.")
        yield Wait(says=says.text(language), since=since, next_try_at=due)


def _unknown(plan: Plan, since: datetime, language: Language) -> Wait:
    if not plan.primary:
        return Wait(says=phrase("The status of the replicas that run.").text(language), since=since)
    says = phrase("The status of {primary}, which decides the result.", primary=plan.primary)
    return Wait(says=says.text(language), since=since, replicas=(plan.primary,))


def _retry(diagnosis: Diagnosis, draft: IncidentDraft, language: Language) -> Wait:
    due = diagnosis.state.timers.get(RETRY)
    message = draft.cause.message if draft.cause else ""
    times = "" if draft.times == 1 else phrase("It was refused {times} times in a row.", times=draft.times)
    says = sentences(phrase("A refused write: it is tried again."), times)
    return Wait(says=in_words(says, language), since=draft.entry.seen_at, next_try_at=due, message=message)


def _replicas(diagnosis: Diagnosis, since: datetime, language: Language) -> Iterator[Wait]:
    """A wait for each group of replicas that wait for the same thing with the same message."""
    groups: dict[tuple[Said, str, datetime], list[str]] = {}
    for replica in diagnosis.state.replicas.values():
        says = _replica(diagnosis, replica)
        if says is not None:
            since_by_name = diagnosis.leaving_since if replica.leaving else diagnosis.asked_at
            begun = since_by_name.get(replica.name, since)
            groups.setdefault((*says, begun), []).append(replica.name)
    for (wait, message, begun), names in groups.items():
        says_all = phrase("{replicas}: {what}", replicas=listed(names), what=wait)
        yield Wait(says=says_all.text(language), since=begun, replicas=tuple(names), message=message)


def _delayed(diagnosis: Diagnosis, since: datetime, language: Language) -> Iterator[Wait]:
    """A wait for each moment at which back-off ends and next pods are made (spec R8, Back-off)."""
    names_by_time: dict[datetime, list[str]] = {}
    if diagnosis.state.phase.is_active and not diagnosis.state.deleted:
        for replica in diagnosis.state.replicas.values():
            if replica.held_until is not None and replica.wanted and not replica.has_pod:
                names_by_time.setdefault(replica.held_until, []).append(replica.name)
    for until, names in names_by_time.items():
        says = phrase(
            "back-off: the next pod of {replicas} is created later, because those before it ended or were "
            "lost in a row",
            replicas=listed(names),
        )
        yield Wait(says=says.text(language), since=since, replicas=tuple(names), next_try_at=until)


def _replica(diagnosis: Diagnosis, replica: ReplicaState) -> tuple[Said, str] | None:
    """What the replica waits for, with the cluster's message; None if it waits for nothing."""
    active = diagnosis.state.phase.is_active and not diagnosis.state.deleted
    if replica.has_pod and replica.leaving:
        after = phrase(", to be made anew") if active and replica.wanted else ""
        return phrase("old pod is still there ({why}){after}", why=str(replica.leaving), after=after), ""
    if active and replica.wanted and not replica.has_pod and is_held_back(diagnosis.state, replica):
        return phrase("created once every worker is Running and Ready"), ""
    if not active or not replica.has_pod or replica.ended:
        return None
    match replica.phase:
        case ReplicaPhase.CREATING:
            return phrase("pod asked for, and not seen yet"), ""
        case ReplicaPhase.PENDING:
            report = diagnosis.last_seen.get(replica.name)
            message = report.message or report.reason if report else ""
            waiting = _containers(replica.containers)
            return phrase("pod exists, and does not run yet{waiting}", waiting=waiting), message
        case _:
            return None


def _containers(containers: tuple[Container, ...]) -> Said:
    waiting = [
        phrase('container "{name}" waits: {reason}', name=container.name, reason=container.reason)
        for container in containers
        if container.state is ContainerStatus.WAITING and container.reason
    ]
    return phrase(" ({what})", what=Several(tuple(waiting), "clauses")) if waiting else ""
