"""Internal events of replicas → drafts of public ones. `state` is the one before the event."""

from projectors.contract import of_parts
from projectors.contract.catalogue import Severity
from projectors.contract.page import Draft, Page, instant
from statemachine import events as e
from statemachine.state import JobState, ReplicaPhase

OfReplica = (
    e.ReplicaRequested
    | e.ReplicaDelayed
    | e.ReplicaCreated
    | e.ReplicaStarted
    | e.ReplicaUpdated
    | e.ReplicaSucceeded
    | e.ReplicaFailed
    | e.ReplicaEnded
    | e.ReplicaUnreachable
    | e.ReplicaLost
    | e.ReplicaDismissed
    | e.ReplicaReleased
    | e.RestartScheduled
    | e.RestartDenied
)


def of_replica(page: Page, state: JobState, event: OfReplica) -> Draft:
    """What leaves of an event of a replica."""
    draft = Draft(page)
    draft.replica = event.replica
    uid = getattr(event, "uid", "") or ""
    node = event.node if event.type == "ReplicaStarted" else ""
    attempt = event.attempt if event.type == "ReplicaRequested" else 0
    draft.fields["replica"] = of_parts.replica(
        page, state, event.replica, uid=uid, node=node, attempt=attempt
    )
    return _said(draft, page, state, event)


def _said(draft: Draft, page: Page, state: JobState, event: OfReplica) -> Draft:
    match event.type:
        case "ReplicaRequested":
            return draft.of("replica.requested")
        case "ReplicaDelayed":
            return draft.of("replica.delayed", retry_at=instant(event.until), in_a_row=event.row)
        case "ReplicaReleased":
            return draft.of("replica.released")
        case "ReplicaLost":
            why = of_parts.cause(draft, event.cause)
            return draft.of("replica.lost", cause=why, for_good=event.for_good)
        case "ReplicaDismissed":
            why = of_parts.cause(draft, event.cause)
            return draft.of(
                "replica.stopping", why=of_parts.in_camel(event.why), again=event.again, cause=why
            )
        case "RestartScheduled":
            why = of_parts.cause(draft, event.cause)
            paid = of_parts.granted(event)
            return draft.of(
                "replica.restart_scheduled", cause=why, budget=paid, after_success=event.after_success
            )
        case "RestartDenied":
            return _denied(draft, page, state, event)
        case _:
            return _observed(draft, page, state, event)


def _denied(draft: Draft, page: Page, state: JobState, event: e.RestartDenied) -> Draft:
    return draft.of(
        "replica.restart_denied",
        Severity.ERROR if event.exhausted else None,
        cause=of_parts.cause(draft, event.cause),
        budget=of_parts.denied(page, state, event),
        exhausted=event.exhausted,
    )


_Observed = (
    e.ReplicaCreated
    | e.ReplicaStarted
    | e.ReplicaUpdated
    | e.ReplicaSucceeded
    | e.ReplicaFailed
    | e.ReplicaEnded
    | e.ReplicaUnreachable
)


def _observed(draft: Draft, page: Page, state: JobState, event: _Observed) -> Draft:
    """What leaves of an event that has the pod's containers."""
    draft.fields["containers"] = of_parts.containers(draft, event.containers)
    match event.type:
        case "ReplicaCreated":
            was_unknown = state.replicas[event.replica].phase is ReplicaPhase.UNKNOWN
            return draft.of("replica.pending", from_unknown=was_unknown, adopted=_is_adopted(page, event))
        case "ReplicaStarted":
            return draft.of("replica.running", ready=event.ready)
        case "ReplicaUpdated":
            return draft.of("replica.updated", ready=event.ready, deleting=event.deleting)
        case "ReplicaSucceeded":
            return draft.of("replica.succeeded", cause=None)
        case "ReplicaFailed":
            return draft.of("replica.failed", cause=of_parts.cause(draft, event.cause))
        case "ReplicaEnded":
            return draft.of("replica.stopped", cause=of_parts.cause(draft, event.cause))
        case "ReplicaUnreachable":
            return draft.of("replica.unknown")


def _is_adopted(page: Page, event: e.ReplicaCreated) -> bool:
    return any(
        other.type == "ReplicaAdopted" and other.replica == event.replica for other in page.entry.events
    )
