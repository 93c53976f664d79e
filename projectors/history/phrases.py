"""An entry's events in one line, for lists, in the words of the design page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from projectors.phrases import Said, Several, phrase
from projectors.phrases.facts import shown_facts
from statemachine import events as e
from statemachine.state import QueueState


def summary(events: Sequence[e.Event]) -> str:
    """The events in words, in order; without those that only serve the controller itself, unless all do."""
    outer = [event for event in events if not isinstance(event, _INNER)]
    return "; ".join(str(event_words(event)) for event in outer or events)


_INNER = (e.TimerSet, e.TimerCleared, e.ConditionsChanged)

_LABELS: Final = 5
"""So many labels are named."""


def event_words(event: e.Event) -> Said:
    """The event in words: `worker-1 restart 1 of 3`."""
    match event.type:
        case "JobAdmitted" | "JobAdopted" | "SpecChanged" | "UpdateIgnored":
            return _of_job(event)
        case "JobExpired" | "JobTerminating" | "JobDeleted" | "JobClosed":
            return _of_end(event)
        case "LabelsChanged":
            return _labels(event)
        case "PhaseEntered":
            return phrase("phase {phase}{why}", phase=str(event.phase), why=_why(event.cause))
        case "ConditionsChanged":
            return phrase("conditions: {changes}", changes=Several(tuple(_conditions(event)), "commas"))
        case "Announced":
            return f"{event.reason}: {event.message}"
        case "TimerSet":
            due = event.due_at.isoformat(timespec="seconds")
            return phrase("timer {timer} set for {due}", timer=event.timer, due=due)
        case "TimerCleared":
            return phrase("timer {timer} cleared", timer=event.timer)
        case "ChildRefused":
            return phrase(
                "refused: {verb} {kind} {name}, {count} in a row{why}",
                verb=event.verb,
                kind=event.kind,
                name=event.name,
                count=event.refusals,
                why=_why(event.cause),
            )
        case "ChildrenAccepted":
            return phrase("every child accepted")
        case "CleanedUp":
            return phrase("cleaned up ({policy}): {pods} pods deleted", policy=event.policy, pods=event.pods)
        case "ChildChanged":
            return _child(event)
        case "QueueChanged":
            return _queue(event)
        case _:
            return _of_replica(event)


_OfReplica = (
    e.ReplicaRequested
    | e.ReplicaAdopted
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
_OfJob = e.JobAdmitted | e.JobAdopted | e.SpecChanged | e.UpdateIgnored
_OfEnd = e.JobExpired | e.JobTerminating | e.JobDeleted | e.JobClosed


def _of_job(event: _OfJob) -> Said:
    match event.type:
        case "JobAdmitted":
            job = f"{event.kind} {event.namespace}/{event.name}"
            return phrase("{job} admitted", job=job)
        case "JobAdopted":
            if event.spent is None:
                return phrase("the log begins here: what was before, and restarts, are not known")
            return phrase(
                "the log begins here, what was before is not known; restarts: {number}", number=event.spent
            )
        case "SpecChanged":
            return phrase("spec changed: {changes}", changes=", ".join(map(str, event.changes)))
        case "UpdateIgnored":
            if not event.problems:
                return phrase("update ignored")
            return phrase("update ignored: {problems}", problems="; ".join(map(str, event.problems)))
        case _:
            assert_never(event)


def _of_end(event: _OfEnd) -> Said:
    match event.type:
        case "JobExpired":
            return phrase("kept for {seconds} s after its end, to be deleted", seconds=event.after_seconds)
        case "JobTerminating":
            return phrase("the job is being deleted, and a finalizer holds it")
        case "JobDeleted":
            return (
                phrase("job deleted by {actor}", actor=event.actor) if event.actor else phrase("job deleted")
            )
        case "JobClosed":
            return phrase("nothing of the job is left")
        case _:
            assert_never(event)


def _conditions(event: e.ConditionsChanged) -> Iterator[Said]:
    for condition in event.conditions:
        yield f"{condition.type} {condition.status}"
    for name in event.removed:
        yield phrase("no {condition}", condition=name)


def _labels(event: e.LabelsChanged) -> Said:
    """The new labels; only the first of many, as this is one line."""
    pairs: list[Said] = [f"{key}={value}" if value else key for key, value in event.labels.items()]
    if not pairs:
        return phrase("labels removed")
    if len(pairs) > _LABELS:
        pairs[_LABELS:] = [phrase("{count} more", count=len(pairs) - _LABELS)]
    return phrase("labels are now {labels}", labels=Several(tuple(pairs), "names"))


def _child(event: e.ChildChanged) -> Said:
    name = f"{event.kind} {event.name}"
    if event.error:
        return f"{name} {event.error}"
    if not event.uid:
        return phrase("{child} gone", child=name)
    return f"{name} {shown_facts(event.facts)}" if event.facts else phrase("{child} exists", child=name)


def _queue(event: e.QueueChanged) -> Said:
    evicted: Said = ""
    if event.eviction is not None:
        reason = phrase(" ({what})", what=event.eviction.reason) if event.eviction.reason else ""
        evicted = phrase("evicted by Kueue{why}", why=reason)
    return Several((evicted, queue_words(event)), "clauses")


def queue_words(queue: e.QueueChanged | QueueState) -> Said:
    """The job's standing in its queue: `queue team-a: waits for quota (Pending)`."""
    why = phrase(" ({what})", what=queue.reason) if queue.reason else ""
    stands = _STANDINGS[queue.standing]
    return phrase("queue {queue}: {stands}{why}", queue=queue.queue or "?", stands=stands, why=why)


def _of_replica(event: _OfReplica) -> Said:
    match event.type:
        case "ReplicaRequested":
            return phrase(
                "{replica} attempt {attempt} requested", replica=event.replica, attempt=event.attempt
            )
        case "ReplicaDelayed":
            due = event.until.isoformat(timespec="seconds")
            return phrase("{replica} is not made again before {due}", replica=event.replica, due=due)
        case "ReplicaAdopted":
            return phrase(
                "{replica} attempt {attempt} exists, and is taken over",
                replica=event.replica,
                attempt=event.attempt,
            )
        case "ReplicaCreated":
            return phrase("{replica} created", replica=event.replica)
        case "ReplicaStarted" if event.node:
            return phrase("{replica} started on {node}", replica=event.replica, node=event.node)
        case "ReplicaStarted":
            return phrase("{replica} started", replica=event.replica)
        case "ReplicaUpdated":
            return _updated(event)
        case "ReplicaSucceeded":
            return phrase("{replica} succeeded", replica=event.replica)
        case "ReplicaFailed":
            return phrase("{replica} failed{why}", replica=event.replica, why=_why(event.cause))
        case "ReplicaEnded":
            return phrase("{replica} ended{why}", replica=event.replica, why=_why(event.cause))
        case "ReplicaUnreachable":
            return phrase("{replica} cannot be reached", replica=event.replica)
        case "ReplicaLost":
            return phrase("{replica} lost{why}", replica=event.replica, why=_why(event.cause))
        case "ReplicaDismissed":
            return phrase("{replica} dismissed ({why})", replica=event.replica, why=_DISMISSED[event.why])
        case "ReplicaReleased":
            return phrase("{replica} gone", replica=event.replica)
        case "RestartScheduled" | "RestartDenied":
            return _restart(event)
        case _:
            assert_never(event)


def _restart(event: e.RestartScheduled | e.RestartDenied) -> Said:
    replica = event.replica
    if event.type == "RestartDenied":
        if event.exhausted:
            return phrase("{replica} not restarted: budget used up", replica=replica)
        return phrase("{replica} not restarted", replica=replica)
    if event.limit is None:
        return phrase("{replica} restart {number}", replica=replica, number=event.number)
    return phrase(
        "{replica} restart {number} of {limit}", replica=replica, number=event.number, limit=event.limit
    )


def _updated(event: e.ReplicaUpdated) -> Said:
    """Of a running pod an ended container matters more than readiness, which stays."""
    replica = event.replica
    if event.deleting:
        return phrase("{replica} is being deleted", replica=replica)
    ended = tuple(
        phrase("container {name} ended, exit code {code}", name=container.name, code=container.exit_code)
        for container in event.containers
        if container.exit_code is not None and not container.init
    )
    if ended:
        return phrase("{replica} {what}", replica=replica, what=Several(ended, "commas"))
    return (
        phrase("{replica} ready", replica=replica)
        if event.ready
        else phrase("{replica} not ready", replica=replica)
    )


def _why(cause: e.Cause | None) -> Said:
    if cause is None:
        return ""
    if cause.exit_code is None:
        return phrase(" ({what})", what=CAUSES[cause.kind])
    return phrase(" ({what}, exit code {code})", what=CAUSES[cause.kind], code=cause.exit_code)


CAUSES: Final[Mapping[e.CauseClass, Said]] = {
    e.CauseClass.APPLICATION_EXIT: phrase("application exit"),
    e.CauseClass.OUT_OF_MEMORY: phrase("out of memory"),
    e.CauseClass.DISRUPTED: phrase("preempted or evicted"),
    e.CauseClass.NODE_LOST: phrase("node lost"),
    e.CauseClass.DELETED_BY_SOMEONE: phrase("deleted by someone"),
    e.CauseClass.DELETED_BY_US: phrase("deleted by us"),
    e.CauseClass.REFUSED_BY_API: phrase("refused by the API"),
    e.CauseClass.DEADLINE: phrase("deadline"),
    e.CauseClass.EVIDENCE_LOST: phrase("evidence lost"),
}
"""The cause classes in words: in English as the events have them."""

_STANDINGS: Final[Mapping[e.Standing, Said]] = {
    "waiting": phrase("waits for quota"),
    "reserved": phrase("quota reserved, admission checks are not passed"),
    "admitted": phrase("admitted"),
    "deactivated": phrase("deactivated"),
    "finished": phrase("finished"),
    "gone": phrase("Kueue knows the job no more"),
}

_DISMISSED: Final[Mapping[str, Said]] = {
    "pause": phrase("pause"),
    "scale": phrase("scale"),
    "clean-up": phrase("clean-up"),
    "deadline": phrase("deadline"),
    "job ended": phrase("job ended"),
}
