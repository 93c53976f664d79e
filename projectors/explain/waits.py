"""What a job waits for, as its history stands: replicas that are not up, writes that are tried again, somebody."""

from collections.abc import Iterator
from datetime import datetime

from projectors.explain.drafts import Draft
from projectors.explain.model import IncidentKind, Wait
from projectors.explain.says import listed
from projectors.explain.told import Told
from statemachine.observations import Container, ContainerStatus
from statemachine.phases import Phase
from statemachine.rules.launcher import is_held_back
from statemachine.rules.timers import DEADLINE, RETRY
from statemachine.state import ReplicaPhase, ReplicaState


def waits(told: Told, since: datetime) -> Iterator[Wait]:
    """Everything that keeps the job from being where it is going; `since`: when its phase was entered."""
    state = told.state
    if state.closed or state.plan is None:
        return
    if told.refusal:
        yield _retry(told, told.refusal)
    if state.phase is Phase.PAUSED and not state.deleted:
        draft = told.drafts.last(IncidentKind.PAUSE)
        by = f" by {draft.by}" if draft and draft.by else ""
        yield Wait(says=f"Somebody to resume the job; it was paused{by}.", since=since)
    if state.phase is Phase.UNKNOWN:
        says = f"The status of {state.plan.primary}, which decides the result."
        yield Wait(says=says, since=since, replicas=(state.plan.primary,))
    yield from _replicas(told, since)
    if state.phase.is_active and DEADLINE in state.timers:
        due = state.timers[DEADLINE]
        yield Wait(says="The job has to end before its deadline.", since=since, next_try_at=due)


def _retry(told: Told, draft: Draft) -> Wait:
    due = told.state.timers.get(RETRY)
    message = draft.cause.message if draft.cause else ""
    times = "" if draft.times == 1 else f" It was refused {draft.times} times in a row."
    says = f"A refused write: it is tried again.{times}"
    return Wait(says=says, since=draft.entry.seen_at, next_try_at=due, message=message)


def _replicas(told: Told, since: datetime) -> Iterator[Wait]:
    """Replicas with the same thing to wait for, and nothing else to say, are told together."""
    found: dict[tuple[str, str, datetime], list[str]] = {}
    for replica in told.state.replicas.values():
        says = _replica(told, replica)
        if says is not None:
            known = told.leaving_since if replica.leaving else told.asked_at
            begun = known.get(replica.name, since)
            found.setdefault((*says, begun), []).append(replica.name)
    for (text, message, begun), names in found.items():
        says_all = f"{listed(names)}: {text}"
        yield Wait(says=says_all, since=begun, replicas=tuple(names), message=message)


def _replica(told: Told, replica: ReplicaState) -> tuple[str, str] | None:
    """What the replica waits for, and what the cluster said about it; None if it waits for nothing."""
    active = told.state.phase.is_active and not told.state.deleted
    if replica.has_pod and replica.leaving:
        after = ", to be made anew" if active and replica.wanted else ""
        return f"old pod is still there ({replica.leaving}){after}", ""
    if active and replica.wanted and not replica.has_pod and is_held_back(told.state, replica):
        return "created once every worker is Running and Ready", ""
    if not active or not replica.has_pod or replica.ended:
        return None
    match replica.phase:
        case ReplicaPhase.CREATING:
            return "pod asked for, and not seen yet", ""
        case ReplicaPhase.PENDING:
            seen = told.last_seen.get(replica.name)
            message = seen.message or seen.reason if seen else ""
            return f"pod exists, and does not run yet{_containers(replica.containers)}", message
        case _:
            return None


def _containers(containers: tuple[Container, ...]) -> str:
    waiting = [
        f'container "{each.name}" waits: {each.reason}'
        for each in containers
        if each.state is ContainerStatus.WAITING and each.reason
    ]
    return f" ({'; '.join(waiting)})" if waiting else ""
