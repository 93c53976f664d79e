"""What a job waits for, as its history stands: replicas that are not up, writes that are tried again, somebody."""

from collections.abc import Iterator
from datetime import datetime

from projectors.explain.drafts import Draft
from projectors.explain.model import IncidentKind, Wait
from projectors.explain.queues import waiting
from projectors.explain.says import listed
from projectors.explain.told import Told
from projectors.phrases import Language, Said, Several, in_words, phrase, sentences
from statemachine.observations import Container, ContainerStatus
from statemachine.phases import Phase
from statemachine.rules.driver import is_held_back
from statemachine.rules.timers import DEADLINE, RETRY
from statemachine.spec import Plan
from statemachine.state import ReplicaPhase, ReplicaState


def waits(told: Told, since: datetime, language: Language) -> Iterator[Wait]:
    """Everything that keeps the job from being where it is going; `since`: when its phase was entered."""
    state = told.state
    if state.closed or state.plan is None:
        return
    if told.refusal:
        yield _retry(told, told.refusal, language)
    in_queue = tuple(waiting(told, since, language)) if state.phase is Phase.PAUSED else ()
    if in_queue and not state.deleted:
        yield from in_queue
    elif state.phase is Phase.PAUSED and not state.deleted:
        draft = told.drafts.last(IncidentKind.PAUSE)
        by = draft.by_whom if draft else ""
        says = phrase("Somebody to resume the job; it was paused{by}.", by=by)
        yield Wait(says=says.text(language), since=since)
    if state.phase is Phase.UNKNOWN:
        yield _unknown(state.plan, since, language)
    yield from _replicas(told, since, language)
    yield from _delayed(told, since, language)
    if state.phase.is_active and DEADLINE in state.timers:
        due = state.timers[DEADLINE]
        says = phrase("The job has to end before its deadline.")
        yield Wait(says=says.text(language), since=since, next_try_at=due)


def _unknown(plan: Plan, since: datetime, language: Language) -> Wait:
    if not plan.primary:
        return Wait(says=phrase("The status of the replicas that run.").text(language), since=since)
    says = phrase("The status of {primary}, which decides the result.", primary=plan.primary)
    return Wait(says=says.text(language), since=since, replicas=(plan.primary,))


def _retry(told: Told, draft: Draft, language: Language) -> Wait:
    due = told.state.timers.get(RETRY)
    message = draft.cause.message if draft.cause else ""
    times = "" if draft.times == 1 else phrase("It was refused {times} times in a row.", times=draft.times)
    says = sentences(phrase("A refused write: it is tried again."), times)
    return Wait(says=in_words(says, language), since=draft.entry.seen_at, next_try_at=due, message=message)


def _replicas(told: Told, since: datetime, language: Language) -> Iterator[Wait]:
    """Replicas with the same thing to wait for, and nothing else to say, are told together."""
    found: dict[tuple[Said, str, datetime], list[str]] = {}
    for replica in told.state.replicas.values():
        says = _replica(told, replica)
        if says is not None:
            known = told.leaving_since if replica.leaving else told.asked_at
            begun = known.get(replica.name, since)
            found.setdefault((*says, begun), []).append(replica.name)
    for (what, message, begun), names in found.items():
        says_all = phrase("{replicas}: {what}", replicas=listed(names), what=what)
        yield Wait(says=says_all.text(language), since=begun, replicas=tuple(names), message=message)


def _delayed(told: Told, since: datetime, language: Language) -> Iterator[Wait]:
    """Replicas whose next pod is not made yet (spec R8, Back-off), those of one moment together."""
    found: dict[datetime, list[str]] = {}
    if told.state.phase.is_active and not told.state.deleted:
        for each in told.state.replicas.values():
            if each.held_until is not None and each.wanted and not each.has_pod:
                found.setdefault(each.held_until, []).append(each.name)
    for until, names in found.items():
        says = phrase(
            "back-off: the next pod of {replicas} is created later, because those before it ended or were "
            "lost in a row",
            replicas=listed(names),
        )
        yield Wait(says=says.text(language), since=since, replicas=tuple(names), next_try_at=until)


def _replica(told: Told, replica: ReplicaState) -> tuple[Said, str] | None:
    """What the replica waits for, and what the cluster said about it; None if it waits for nothing."""
    active = told.state.phase.is_active and not told.state.deleted
    if replica.has_pod and replica.leaving:
        after = phrase(", to be made anew") if active and replica.wanted else ""
        return phrase("old pod is still there ({why}){after}", why=str(replica.leaving), after=after), ""
    if active and replica.wanted and not replica.has_pod and is_held_back(told.state, replica):
        return phrase("created once every worker is Running and Ready"), ""
    if not active or not replica.has_pod or replica.ended:
        return None
    match replica.phase:
        case ReplicaPhase.CREATING:
            return phrase("pod asked for, and not seen yet"), ""
        case ReplicaPhase.PENDING:
            seen = told.last_seen.get(replica.name)
            message = seen.message or seen.reason if seen else ""
            waiting = _containers(replica.containers)
            return phrase("pod exists, and does not run yet{waiting}", waiting=waiting), message
        case _:
            return None


def _containers(containers: tuple[Container, ...]) -> Said:
    waiting = [
        phrase('container "{name}" waits: {reason}', name=each.name, reason=each.reason)
        for each in containers
        if each.state is ContainerStatus.WAITING and each.reason
    ]
    return phrase(" ({what})", what=Several(tuple(waiting), "clauses")) if waiting else ""
