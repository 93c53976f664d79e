"""Event → next state. The only way in which state changes; asks no kind, no clock and no setting."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from statemachine import events as e
from statemachine.ids import PodUid, ReplicaName, split_replica
from statemachine.phases import Phase
from statemachine.spec import Plan
from statemachine.state import (
    ChildState,
    ConditionState,
    JobState,
    QueueState,
    ReplicaPhase,
    ReplicaState,
    changed,
    child_key,
)

Changes = dict[str, object]
"""Fields of a JobState and their new values."""


def fold(state: JobState, events: Iterable[e.Event]) -> JobState:
    """The state after `events`, in order."""
    now = changed(state)  # a copy that nobody else sees yet, so it can be brought forward event by event
    fields = now.__dict__
    for event in events:
        fields |= _changes(now, event)
    return now


def evolve(state: JobState, event: e.Event) -> JobState:
    """The state after `event` has happened to a job in `state`."""
    return fold(state, (event,))


def _changes(state: JobState, event: e.Event) -> Changes:
    """What `event` changes of a job in `state`."""
    # by tag, not by class: a class pattern that misses costs three times as much, and a fold does little else
    match event.type:
        case "ReplicaRequested":
            return _with(state, _requested(state.replicas[event.replica], event.attempt, event.row + 1))
        case "ReplicaCreated":
            replica = state.replicas[event.replica]
            again: Changes = (
                {} if replica.uid or not state.refused else {"refusals": 0} | _taken(state, "create")
            )
            return _with(state, _created(replica, event)) | again
        case "ReplicaDelayed":
            waiting = state.replicas[event.replica]
            return _with(state, waiting._replace(row=event.row, held_until=event.until, running_since=None))
        case "ReplicaStarted":
            return _with(state, _running(state.replicas[event.replica], event))
        case "ReplicaUpdated":
            replica = state.replicas[event.replica]
            ready, deleting = event.ready, event.deleting
            seen = replica._replace(containers=event.containers, ready=ready, deleting=deleting)
            return _with(state, seen) | (_taken(state, "delete") if deleting else {})
        case "ReplicaSucceeded":
            return _with(state, _ended(state.replicas[event.replica], event, ReplicaPhase.SUCCEEDED))
        case "ReplicaFailed":
            return _with(state, _ended(state.replicas[event.replica], event, ReplicaPhase.FAILED))
        case "ReplicaEnded":
            replica = state.replicas[event.replica]
            return _with(state, _ended(replica, event, replica.phase))
        case "ReplicaUnreachable":
            replica = state.replicas[event.replica]
            unknown = replica._replace(
                phase=ReplicaPhase.UNKNOWN,
                containers=event.containers,
                unknown_at=event.at,
                unknown_written=event.written_at,
            )
            return _with(state, unknown)
        case "PhaseEntered":
            return _phase_entered(state, event)
        case "ConditionsChanged":
            return {"conditions": _conditions(state.conditions, event)}
        case "Announced":
            return {}
        case "ReplicaLost":
            wanted = state.replicas[event.replica].wanted and not event.for_good
            return _released(state, event.replica, wanted=wanted, lost=event.for_good)
        case "ReplicaReleased":
            left = state.replicas[event.replica]
            wanted = left.wanted and bool(left.leaving)
            return _released(state, event.replica, wanted=wanted) | _taken(state, "delete")
        case "ReplicaDismissed":
            return _with(state, _dismissed(state.replicas[event.replica], event))
        case "RestartScheduled":
            return _restart(state, event)
        case "RestartDenied":
            return _with(state, _denied(state.replicas[event.replica], event))
        case "TimerSet":
            timers = {**state.timers, event.timer: event.due_at}
            return {"timers": timers, "unread_written": event.written_at or state.unread_written}
        case "TimerCleared":
            return {"timers": {name: at for name, at in state.timers.items() if name != event.timer}}
        case "ChildRefused":
            said = f"{event.verb} {event.kind} {event.cause.reason}"
            return {"refusals": event.refusals, "refused": tuple(dict.fromkeys((*state.refused, said)))}
        case "ChildrenAccepted":
            return {"accepted": event.start, "refusals": 0} | _taken(state, "create")
        case "CleanedUp":
            return _cleaned_up(event)
        case "ChildChanged":
            return {"children": _with_child(state, _child(state, event))}
        case "QueueChanged":
            return {"queue": _queue(event)}
        case "JobExpired":
            return {"expired": True}
        case "ReplicaAdopted":
            found = state.replicas[event.replica]
            adopted = _requested(found, event.attempt, max(1, found.row))
            holds = state.running_plan.holds(event.replica)
            adopted = adopted._replace(wanted=state.phase.is_active and holds, made=True)
            return _with(state, adopted) | ({"cleaned": False} if state.is_final else {})
        case _:
            return _of_job(state, event)


_OfJob = (
    e.JobAdmitted
    | e.JobAdopted
    | e.SpecChanged
    | e.LabelsChanged
    | e.UpdateIgnored
    | e.JobTerminating
    | e.JobDeleted
    | e.JobClosed
)


def _of_job(state: JobState, event: _OfJob) -> Changes:
    """What an event changes that few jobs have more than one of."""
    match event.type:
        case "JobAdopted":
            return _adopted(state, event)
        case "JobTerminating":
            return {"terminating": True}
        case "JobAdmitted":
            return _admitted(event)
        case "SpecChanged":
            return _spec_changed(state, event)
        case "LabelsChanged":
            return {"labels": event.labels}
        case "UpdateIgnored":
            return {"generation": event.generation, "ignored": event.problems}
        case "JobDeleted":
            leaving = {
                name: each._replace(wanted=False, leaving=each.leaving or "job deleted")
                for name, each in state.replicas.items()
            }
            return {"deleted": True, "replicas": leaving, "timers": {}}
        case "JobClosed":
            return {"closed": True, "spec": {}, "labels": {}, "replicas": {}, "timers": {}}
        case _:
            assert_never(event)


def _queue(event: e.QueueChanged) -> QueueState:
    return QueueState(
        workload=event.workload,
        uid=event.uid,
        queue=event.queue,
        cluster_queue=event.cluster_queue,
        flavors=event.flavors,
        standing=event.standing,
        reason=event.reason,
        message=event.message,
        since=event.at,
        evicted=event.evicted,
        evicted_at=event.evicted_at,
    )


def _child(state: JobState, event: e.ChildChanged) -> ChildState:
    known = state.child(event.kind, event.name)
    return ChildState(
        event.kind,
        event.name,
        event.uid,
        event.facts,
        event.error,
        held_at=event.at if event.holds else known.held_at if known else None,
        while_active=event.while_active,
    )


def _with_child(state: JobState, child: ChildState) -> dict[str, ChildState]:
    return {**state.children, child_key(child.kind, child.name): child}


def _outdated(state: JobState, event: e.SpecChanged) -> Mapping[str, ChildState]:
    """What is made of a field that has changed shows another spec until its next report."""
    children = dict(state.children)
    for planned in event.plan.children:
        known = state.child(planned.kind, planned.name)
        if known and any(path.startswith(planned.field) for path in event.changes):
            children[child_key(planned.kind, planned.name)] = known._replace(outdated=True)
    return children


def _paused(state: JobState) -> dict[str, ChildState]:
    return {
        key: child._replace(uid="", facts={}) if child.while_active else child
        for key, child in state.children.items()
    }


def _with(state: JobState, replica: ReplicaState) -> Changes:
    return {"replicas": {**state.replicas, replica.name: replica}}


def _admitted(event: e.JobAdmitted) -> Changes:
    plan = event.plan
    return {
        "api_version": event.api_version,
        "kind": event.kind,
        "object_kind": event.object_kind or event.kind,
        "settings": event.settings,
        "namespace": event.namespace,
        "name": event.name,
        "generation": event.generation,
        "created_at": event.at,
        "spec": event.spec,
        "plan": plan,
        "replicas": _fit({}, plan) if plan else {},
        "restarts": {each.type: 0 for each in plan.types} if plan else {},
    }


def _cleaned_up(event: e.CleanedUp) -> Changes:
    tally: Changes = {"tally": event.tally} if event.tally else {}
    return {"cleaned": True, "in_place": event.in_place, **tally}


def _adopted(state: JobState, event: e.JobAdopted) -> Changes:
    """What the job object said of its life, where it said something."""
    found: Changes = {
        "conditions": tuple(
            ConditionState(
                each.type, each.status, each.reason, each.message, each.changed_at, each.updated_at
            )
            for each in event.conditions
        ),
        "started_at": event.started_at,
        "completed_at": event.completed_at,
        "restarts": {**state.restarts, **event.restarts} if event.restarts else None,
        "spent": event.spent,
        "tally": event.tally,
    }
    return {name: value for name, value in found.items() if value}


def _spec_changed(state: JobState, event: e.SpecChanged) -> Changes:
    replicas = _fit(state.replicas, event.plan)
    if event.plan.scale != state.running_plan.scale:
        replicas = {name: each._replace(row=0, held_until=None) for name, each in replicas.items()}
    if state.phase.is_active:
        for name in event.plan.replicas():
            if not state.running_plan.holds(name):
                replicas[name] = replicas[name]._replace(wanted=True)
    return {
        "generation": event.generation,
        "spec": event.spec,
        "plan": event.plan,
        "ignored": (),
        "replicas": replicas,
        "children": _outdated(state, event),
    }


def _fit(replicas: Mapping[ReplicaName, ReplicaState], plan: Plan) -> dict[ReplicaName, ReplicaState]:
    """The replicas of the plan's scale, in order, and behind them those that have been in it."""
    wished = {name: replicas.get(name) or ReplicaState(name) for name in plan.replicas()}
    beyond = {
        name: each if each.has_pod else _left(each) for name, each in replicas.items() if name not in wished
    }
    return wished | beyond


def _left(replica: ReplicaState) -> ReplicaState:
    """Outside the scale only attempts and restarts count: should the replica come back, no number is used again."""
    return ReplicaState(replica.name, attempt=replica.attempt, restarts=replica.restarts)


def _requested(replica: ReplicaState, attempt: int, row: int) -> ReplicaState:
    return replica._replace(
        attempt=attempt,
        uid=PodUid(""),
        phase=ReplicaPhase.CREATING,
        containers=(),
        node="",
        ready=False,
        deleting=False,
        ended=False,
        wanted=True,
        leaving="",
        spared=False,
        counted=False,
        judged=False,
        row=row,
        running_since=None,
        held_until=None,
    )


def _taken(state: JobState, verb: str) -> Changes:
    """The cluster has taken such a write: a refusal is news again."""
    if not state.refused:
        return {}
    return {"refused": tuple(each for each in state.refused if not each.startswith(verb))}


def _created(replica: ReplicaState, event: e.ReplicaCreated) -> ReplicaState:
    return replica._replace(uid=event.uid, phase=ReplicaPhase.PENDING, containers=event.containers, made=True)


def _running(replica: ReplicaState, event: e.ReplicaStarted) -> ReplicaState:
    return replica._replace(
        uid=event.uid,
        phase=ReplicaPhase.RUNNING,
        containers=event.containers,
        node=event.node,
        ready=event.ready,
        started=True,
        recovering=False,
        running_since=replica.running_since or event.at,
    )


def _denied(replica: ReplicaState, event: e.RestartDenied) -> ReplicaState:
    lost = replica.phase is ReplicaPhase.FAILED
    return replica._replace(judged=True, lost_for_good=lost, exhausted=event.exhausted, recovering=False)


def _ended(
    replica: ReplicaState, event: e.ReplicaSucceeded | e.ReplicaFailed | e.ReplicaEnded, phase: ReplicaPhase
) -> ReplicaState:
    """The pod's end is known. A pod that was being deleted keeps the phase it had (spec R7)."""
    stays = replica.spared and not isinstance(event, e.ReplicaEnded)
    return replica._replace(
        uid=event.uid,
        phase=phase,
        containers=event.containers,
        ended=True,
        ready=False,
        leaving="" if stays else replica.leaving,
        spared=False,
        started=replica.started or not replica.leaving,  # one that leaves may be of an earlier start
    )


def _released(state: JobState, name: ReplicaName, *, wanted: bool, lost: bool = False) -> Changes:
    """The pod is gone. A replica of the scale keeps its exit codes."""
    if state.plan is not None and not state.plan.holds(name):
        return _with(state, _left(state.replicas[name]))
    gone = state.replicas[name]
    return _with(
        state,
        gone._replace(
            phase=ReplicaPhase.DELETED,
            uid=PodUid(""),
            ready=False,
            deleting=False,
            leaving="",
            spared=False,
            counted=False,
            wanted=wanted,
            lost_for_good=gone.lost_for_good or lost,
        ),
    )


def _dismissed(replica: ReplicaState, event: e.ReplicaDismissed) -> ReplicaState:
    spared = (
        event.unless_ended and not replica.ended
    )  # one that ended in a deletion is not running, nor to stay
    left = replica._replace(leaving=event.why, wanted=event.again, spared=spared, counted=event.counted)
    if not event.again:
        return left
    hurt = replica.recovering or replica.lost_for_good  # until the pod that follows runs
    return left._replace(recovering=hurt, lost_for_good=False, exhausted=False)


def _restart(state: JobState, event: e.RestartScheduled) -> Changes:
    failed = state.replicas[event.replica]
    replica = failed._replace(
        leaving="restart",
        wanted=True,
        judged=True,
        recovering=not event.after_success,
        restarts=failed.restarts + 1,
    )
    type_ = split_replica(event.replica)[0]
    return {
        "replicas": {**state.replicas, replica.name: replica},
        "restarts": {**state.restarts, type_: state.restarts.get(type_, 0) + 1},
        "spent": event.spent,
    }


def _phase_entered(state: JobState, event: e.PhaseEntered) -> Changes:
    """What a phase brings with it, besides its name: the clock of an activity, and who is wanted."""
    entered: Changes = {"phase": event.phase}
    match event.phase:
        case Phase.PENDING if state.phase is Phase.NEW:
            since = state.started_at or event.at  # that of a job that was adopted is known
            return entered | {"started_at": since, "starts": 1, "replicas": _want_all(state)}
        case Phase.PAUSED if state.phase is Phase.NEW:
            return entered | {"starts": 1, "accepted": 1}
        case Phase.PAUSED:
            paused = {"accepted": state.starts, "refusals": 0, "replicas": _want_none(state)}
            return entered | paused | {"children": _paused(state)}
        case Phase.RESUMING if state.phase is Phase.PAUSED:
            starts = state.starts + 1
            return entered | {"started_at": event.at, "starts": starts, "replicas": _want_all(state)}
        case Phase.SUCCEEDED | Phase.FAILED:
            ended: Changes = {"completed_at": event.at, "timers": {}, "failure": event.cause}
            return entered | ended | {"replicas": _want_none(state)}
        case _:
            return entered


def _want_all(state: JobState) -> dict[ReplicaName, ReplicaState]:
    """A new start: every replica of the scale is wanted, and what happened before it no longer counts."""
    return {
        name: each._replace(
            wanted=True,
            started=False,
            recovering=False,
            lost_for_good=False,
            exhausted=False,
            made=False,
            row=0,
            held_until=None,
        )
        if state.running_plan.holds(name)
        else each
        for name, each in state.replicas.items()
    }


def _want_none(state: JobState) -> dict[ReplicaName, ReplicaState]:
    return {name: each._replace(wanted=False) for name, each in state.replicas.items()}


def _conditions(
    conditions: tuple[ConditionState, ...], event: e.ConditionsChanged
) -> tuple[ConditionState, ...]:
    """The list in order of first appearance; a time moves only with the status. Source: spec R6."""
    if event.last:
        return _newest_last(conditions, event)
    merged = {each.type: each for each in conditions if each.type not in event.removed}
    for each in event.conditions:
        before = merged.get(each.type)
        since = before.changed_at if before and before.status == each.status else event.at
        updated = event.at if event.first else None
        merged[each.type] = ConditionState(each.type, each.status, each.reason, each.message, since, updated)
    if event.first:
        new = {each.type: merged[each.type] for each in event.conditions}
        merged = new | {name: each for name, each in merged.items() if name not in new}
    return tuple(merged.values())


def _newest_last(
    conditions: tuple[ConditionState, ...], event: e.ConditionsChanged
) -> tuple[ConditionState, ...]:
    """The list with what has changed at its end."""
    before = {each.type: each for each in conditions}
    moved = {each.type for each in event.conditions}
    kept = [
        each._replace(status="False") if each.type in event.ended else each
        for each in conditions
        if each.type not in event.removed and each.type not in moved
    ]
    for each in event.conditions:
        old = before.get(each.type)
        since = old.changed_at if old and old.status == each.status else event.at
        kept.append(ConditionState(each.type, each.status, each.reason, each.message, since, event.at))
    return tuple(kept)
