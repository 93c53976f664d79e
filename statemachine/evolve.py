"""Event → next state. The only way in which state changes; asks no kind, no clock and no setting."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final, assert_never

from msgspec.structs import force_setattr

from statemachine import conditions, moving
from statemachine import events as e
from statemachine.ids import ReplicaName, split_replica
from statemachine.phases import Phase
from statemachine.replicas import Move
from statemachine.spec import Plan
from statemachine.state import (
    ChildState,
    ConditionState,
    JobState,
    QueueState,
    ReplicaState,
    changed,
    child_key,
)

# Python 3.11 looks a member up in its class through a metaclass, which costs as much as the copy of a replica
_BEGUN, _REQUESTED, _STOOD_DOWN = Move.BEGUN, Move.REQUESTED, Move.STOOD_DOWN
_SUCCEEDED, _FAILED = Move.SUCCEEDED, Move.FAILED

Changes = dict[str, Any]
"""Fields of a JobState and their new values; under `_REPLICA` the one replica that is another now."""

_REPLICA: Final = "one replica"


def fold(state: JobState, events: Iterable[e.Event]) -> JobState:
    """The state after `events`, in order.

    The replicas are copied once, however many events change one: a job of a thousand is admitted in linear time.
    """
    now = changed(state)  # nobody else sees it yet, so it can be brought forward event by event
    replicas: dict[ReplicaName, ReplicaState] | None = None
    for event in events:
        news = _changes(now, event)
        replica: ReplicaState | None
        if isinstance(news, ReplicaState):
            replica = news
        else:
            replica = news.pop(_REPLICA, None)
            for name, value in news.items():
                force_setattr(now, name, value)
        if replica is not None:
            if replicas is None or now.replicas is not replicas:
                replicas = dict(now.replicas)
                force_setattr(now, "replicas", replicas)
            replicas[replica.name] = replica
    return now


def evolve(state: JobState, event: e.Event) -> JobState:
    """The state after `event` has happened to a job in `state`."""
    return fold(state, (event,))


def _changes(state: JobState, event: e.Event) -> Changes | ReplicaState:
    """What `event` changes of a job in `state`; the replica alone where it is all that changes."""
    # by tag, not by class: a class pattern that misses costs three times as much, and a fold does little else
    match event.type:
        case "ReplicaRequested":
            replica = state.replicas[event.replica]
            return moving.requested(replica, _REQUESTED, event.attempt, event.row + 1)
        case "ReplicaCreated":
            replica = state.replicas[event.replica]
            created = moving.created(replica, event)
            if replica.uid or not state.refused:
                return created
            return _with(created) | {"refusals": 0} | _taken(state, "create")
        case "ReplicaDelayed":
            return moving.delayed(state.replicas[event.replica], event)
        case "ReplicaStarted":
            return moving.started(state.replicas[event.replica], event)
        case "ReplicaUpdated":
            updated = moving.updated(state.replicas[event.replica], event)
            return _with(updated) | _taken(state, "delete") if event.deleting else updated
        case "ReplicaSucceeded":
            return moving.ended(state.replicas[event.replica], event, _SUCCEEDED)
        case "ReplicaFailed":
            return moving.ended(state.replicas[event.replica], event, _FAILED)
        case "ReplicaEnded":
            replica = state.replicas[event.replica]
            return moving.ended(replica, event, Move.ENDED if replica.leaving else Move.TAKEN)
        case "ReplicaUnreachable":
            return moving.unreachable(state.replicas[event.replica], event)
        case "PhaseEntered":
            return _phase_entered(state, event)
        case "ConditionsChanged":
            return {"conditions": conditions.changed(state.conditions, event)}
        case "Announced":
            return {}
        case "ReplicaLost":
            return _gone(state, event.replica, Move.LOST_FOR_GOOD if event.for_good else Move.LOST)
        case "ReplicaReleased":
            return _gone(state, event.replica, Move.RELEASED) | _taken(state, "delete")
        case "ReplicaDismissed":
            return moving.dismissed(state.replicas[event.replica], event)
        case "RestartScheduled":
            return _with(moving.restarted(state.replicas[event.replica], event)) | _paid(state, event)
        case "RestartDenied":
            return moving.denied(state.replicas[event.replica], event)
        case "TimerSet":
            timers = {**state.timers, event.timer: event.due_at}
            return {"timers": timers, "unread_written": event.written_at or state.unread_written}
        case "TimerCleared":
            return {"timers": {name: at for name, at in state.timers.items() if name != event.timer}}
        case "ChildRefused":
            said = f"{event.verb} {event.kind} {event.cause.reason}"
            others = (refusal for refusal in state.refused if refusal != said)
            return {"refusals": event.refusals, "refused": (*others, said)}
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
            return _taken_over(state, event)
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
            return {
                "labels": event.labels,
                "labels_version": event.version,
                "labels_written": event.written_at,
            }
        case "UpdateIgnored":
            return {"generation": event.generation, "ignored": event.problems}
        case "JobDeleted":
            return {"deleted": True, "replicas": _all_leave(state), "timers": {}}
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


def _without_those_of_activity(state: JobState) -> dict[str, ChildState]:
    return {
        key: child._replace(uid="", facts={}) if child.while_active else child
        for key, child in state.children.items()
    }


def _with(replica: ReplicaState) -> Changes:
    return {_REPLICA: replica}


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
        "restarts": {type_.type: 0 for type_ in plan.types} if plan else {},
    }


def _cleaned_up(event: e.CleanedUp) -> Changes:
    tally: Changes = {"tally": event.tally} if event.tally else {}
    return {"cleaned": True, "in_place": event.in_place, **tally}


def _adopted(state: JobState, event: e.JobAdopted) -> Changes:
    """What the job object said of its life, where it said something."""
    recorded: Changes = {
        "conditions": tuple(
            ConditionState(
                condition.type,
                condition.status,
                condition.reason,
                condition.message,
                condition.changed_at,
                condition.updated_at,
            )
            for condition in event.conditions
        ),
        "started_at": event.started_at,
        "completed_at": event.completed_at,
        "restarts": {**state.restarts, **event.restarts} if event.restarts else None,
        "spent": event.spent,
        "tally": event.tally,
    }
    return {name: value for name, value in recorded.items() if value}


def _spec_changed(state: JobState, event: e.SpecChanged) -> Changes:
    replicas = _fit(state.replicas, event.plan)
    if event.plan.scale != state.running_plan.scale:
        replicas = {name: changed(replica, row=0, held_until=None) for name, replica in replicas.items()}
    if state.phase.is_active:
        for name in event.plan.replicas():
            if not state.running_plan.holds(name):
                replicas[name] = replicas[name].moved(Move.JOINED)
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
        name: replica if replica.has_pod else moving.forgotten(replica)
        for name, replica in replicas.items()
        if name not in wished
    }
    return wished | beyond


def _taken(state: JobState, verb: str) -> Changes:
    """The cluster has taken such a write: a refusal is news again."""
    if not state.refused:
        return {}
    return {"refused": tuple(refusal for refusal in state.refused if not refusal.startswith(verb))}


def _gone(state: JobState, name: ReplicaName, move: Move) -> Changes:
    replica = state.replicas[name]
    beyond = state.plan is not None and not state.plan.holds(name)
    return _with(moving.forgotten(replica) if beyond else moving.gone(replica, move))


def _taken_over(state: JobState, event: e.ReplicaAdopted) -> Changes:
    """A pod of a later attempt; of a job that has ended it may have to be cleaned up."""
    replica = state.replicas[event.replica]
    wanted = state.phase.is_active and state.running_plan.holds(event.replica)
    move = Move.ADOPTED if wanted else Move.ADOPTED_UNWANTED
    adopted = moving.requested(replica, move, event.attempt, max(1, replica.row))
    return _with(adopted) | ({"cleaned": False} if state.is_final else {})


def _all_leave(state: JobState) -> dict[ReplicaName, ReplicaState]:
    return {
        name: changed(replica.moved(Move.JOB_DELETED), leaving=replica.leaving or "job deleted")
        for name, replica in state.replicas.items()
    }


def _paid(state: JobState, event: e.RestartScheduled) -> Changes:
    type_ = split_replica(event.replica)[0]
    restarts = {**state.restarts, type_: state.restarts.get(type_, 0) + 1}
    return {"restarts": restarts, "spent": event.spent}


def _phase_entered(state: JobState, event: e.PhaseEntered) -> Changes:
    """What a phase brings with it, besides its name: the clock of an activity, and who is wanted."""
    entered: Changes = {"phase": event.phase}
    brings = _BRINGS.get(event.phase)
    return entered if brings is None else entered | brings(state, event)


def _pending(state: JobState, event: e.PhaseEntered) -> Changes:
    if state.phase is not Phase.NEW:
        return {}
    since = state.started_at or event.at  # that of a job that was adopted is known
    return {"started_at": since, "starts": 1, "replicas": _want_all(state)}


def _paused(state: JobState, _: e.PhaseEntered) -> Changes:
    if state.phase is Phase.NEW:
        return {"starts": 1, "accepted": 1}
    paused = {"accepted": state.starts, "refusals": 0, "replicas": _want_none(state)}
    return paused | {"children": _without_those_of_activity(state)}


def _resuming(state: JobState, event: e.PhaseEntered) -> Changes:
    if state.phase is not Phase.PAUSED:
        return {}
    return {"started_at": event.at, "starts": state.starts + 1, "replicas": _want_all(state)}


def _running(_state: JobState, _: e.PhaseEntered) -> Changes:
    return {"has_run": True}


def _ended(state: JobState, event: e.PhaseEntered) -> Changes:
    ended: Changes = {"completed_at": event.at, "timers": {}, "failure": event.cause}
    return ended | {"replicas": _want_none(state)}


_BRINGS: Final[Mapping[Phase, Callable[[JobState, e.PhaseEntered], Changes]]] = {
    Phase.PENDING: _pending,
    Phase.PAUSED: _paused,
    Phase.RESUMING: _resuming,
    Phase.RUNNING: _running,
    Phase.SUCCEEDED: _ended,
    Phase.FAILED: _ended,
}


def _want_all(state: JobState) -> dict[ReplicaName, ReplicaState]:
    """A new start: every replica of the scale is wanted, and what happened before it no longer counts."""
    replicas = dict(state.replicas)
    for replica in islice(state.replicas.values(), state.running_plan.scale):
        replicas[replica.name] = changed(replica.moved(_BEGUN), row=0, held_until=None)
    return replicas


def _want_none(state: JobState) -> dict[ReplicaName, ReplicaState]:
    return {name: replica.moved(_STOOD_DOWN) for name, replica in state.replicas.items()}
