"""An entry's events in one line, for lists; the words are those of the design page."""

from collections.abc import Sequence
from typing import Final, assert_never

from statemachine import events as e


def summary(events: Sequence[e.Event]) -> str:
    """What the events say, in order; what only serves the controller itself is left out if there is more."""
    said = [_phrase(each) for each in events if not isinstance(each, _INNER)]
    return "; ".join(said or [_phrase(each) for each in events])


_INNER = (e.TimerSet, e.TimerCleared, e.ConditionsChanged)

_LABELS: Final = 5
"""So many are named."""


def _phrase(event: e.Event) -> str:
    match event.type:
        case "JobAdmitted" | "SpecChanged" | "UpdateIgnored" | "JobExpired" | "JobDeleted" | "JobClosed":
            return _of_job(event)
        case "LabelsChanged":
            return _labels(event)
        case "PhaseEntered":
            return f"phase {event.phase}{_why(event.cause)}"
        case "ConditionsChanged":
            changed = [f"{each.type} {each.status}" for each in event.conditions]
            return f"conditions: {', '.join([*changed, *(f'no {each}' for each in event.removed)])}"
        case "Announced":
            return f"{event.reason}: {event.message}"
        case "TimerSet":
            return f"timer {event.timer} set for {event.due_at.isoformat(timespec='seconds')}"
        case "TimerCleared":
            return f"timer {event.timer} cleared"
        case "ChildRefused":
            wish = f"{event.verb} {event.kind} {event.name}"
            return f"refused: {wish}, {event.refusals} in a row{_why(event.cause)}"
        case "ChildrenAccepted":
            return "every child accepted"
        case "CleanedUp":
            return f"cleaned up ({event.policy}): {event.pods} pods deleted"
        case "TensorBoardChanged":
            return f"TensorBoard {event.name} {event.error or ('runs' if event.running else 'does not run')}"
        case "PodGroupChanged":
            return f"PodGroup {event.name} {event.phase or ('made' if event.uid else 'gone')}"
        case _:
            return _of_replica(event)


_OfReplica = (
    e.ReplicaRequested
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
_OfJob = e.JobAdmitted | e.SpecChanged | e.UpdateIgnored | e.JobExpired | e.JobDeleted | e.JobClosed


def _of_job(event: _OfJob) -> str:
    match event.type:
        case "JobAdmitted":
            return f"{event.kind} {event.namespace}/{event.name} admitted"
        case "SpecChanged":
            return f"spec changed: {', '.join(event.changes)}"
        case "UpdateIgnored":
            return f"update ignored{_list([str(each) for each in event.problems])}"
        case "JobExpired":
            return f"kept for {event.after_seconds} s after its end, to be deleted"
        case "JobDeleted":
            return f"job deleted{f' by {event.actor}' if event.actor else ''}"
        case "JobClosed":
            return "nothing of the job is left"
        case _:
            assert_never(event)


def _labels(event: e.LabelsChanged) -> str:
    """The new labels; of many the first, for this is one line."""
    pairs = [f"{key}={value}" if value else key for key, value in event.labels.items()]
    if len(pairs) > _LABELS:
        pairs[_LABELS:] = [f"{len(pairs) - _LABELS} more"]
    return f"labels are now {', '.join(pairs)}" if pairs else "labels removed"


def _of_replica(event: _OfReplica) -> str:
    match event.type:
        case "ReplicaRequested":
            what = f"attempt {event.attempt} requested"
        case "ReplicaCreated":
            what = "created"
        case "ReplicaStarted":
            what = f"started{f' on {event.node}' if event.node else ''}"
        case "ReplicaUpdated":
            what = _updated(event)
        case "ReplicaSucceeded":
            what = "succeeded"
        case "ReplicaFailed":
            what = f"failed{_why(event.cause)}"
        case "ReplicaEnded":
            what = f"ended{_why(event.cause)}"
        case "ReplicaUnreachable":
            what = "cannot be reached"
        case "ReplicaLost":
            what = f"lost{_why(event.cause)}"
        case "ReplicaDismissed":
            what = f"dismissed ({event.why})"
        case "ReplicaReleased":
            what = "gone"
        case "RestartScheduled":
            what = f"restart {event.spent}{'' if event.limit is None else f' of {event.limit}'}"
        case "RestartDenied":
            what = "not restarted" + (": budget used up" if event.exhausted else "")
        case _:
            assert_never(event)
    return f"{event.replica} {what}"


def _updated(event: e.ReplicaUpdated) -> str:
    """Readiness is not taken back while a pod runs: a container that has ended beside others tells more."""
    if event.deleting:
        return "is being deleted"
    ended = [each for each in event.containers if each.exit_code is not None and not each.init]
    if ended:
        return ", ".join(f"container {each.name} ended, exit code {each.exit_code}" for each in ended)
    return "ready" if event.ready else "not ready"


def _why(cause: e.Cause | None) -> str:
    if cause is None:
        return ""
    code = "" if cause.exit_code is None else f", exit code {cause.exit_code}"
    return f" ({cause.kind}{code})"


def _list(items: Sequence[str]) -> str:
    return f": {'; '.join(items)}" if items else ""
