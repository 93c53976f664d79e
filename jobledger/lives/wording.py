"""Observations and events in a few words each, for tables."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

from projectors.phrases import Said, Several, phrase
from projectors.phrases.actors import by_whom
from projectors.phrases.exits import exit_code
from projectors.phrases.facts import shown_facts
from statemachine import events as e
from statemachine import observations as o
from statemachine.timestamps import rfc3339


def observation_words(observation: o.Observation) -> Said:
    """What was observed: `pod worker-1 Failed, exit code 137`."""
    match observation:
        case o.JobObserved():
            return _job(observation)
        case o.JobGone():
            if observation.actor_source:
                return phrase("job gone{by}", by=by_whom(observation.actor, observation.actor_source))
            return (
                phrase("job gone, by {actor}", actor=observation.actor)
                if observation.actor
                else phrase("job gone")
            )
        case o.PodObserved():
            return _pod(observation)
        case o.PodGone():
            return phrase("pod {replica} gone", replica=observation.replica)
        case o.PodUnreadable():
            return phrase("pod {replica} unreadable", replica=observation.replica)
        case o.TimerFired():
            return phrase("timer {timer}", timer=observation.timer)
        case o.WriteRefused():
            refused = {
                "verb": observation.verb,
                "kind": observation.kind,
                "name": observation.name,
                "status": str(observation.status),
            }
            return phrase("{verb} {kind} {name} refused, {status}", **refused)
        case o.WorkloadObserved():
            return _workload(observation)
        case o.ChildObserved():
            return _child(observation)


def _workload(observation: o.WorkloadObserved) -> Said:
    true = [condition.type for condition in observation.conditions if condition.status == "True"]
    if not observation.uid:
        return phrase("Workload {name} gone", name=observation.name)
    return Several((phrase("Workload {name}", name=observation.name), *true), "commas")


def _child(observation: o.ChildObserved) -> Said:
    if not observation.uid:
        return phrase("{child} gone", child=observation.kind)
    return (
        f"{observation.kind} {shown_facts(observation.facts)}"
        if observation.facts
        else phrase("{child} exists", child=observation.kind)
    )


def _job(observation: o.JobObserved) -> Said:
    if observation.actor and observation.actor_source:
        by = by_whom(observation.actor, observation.actor_source)
        return phrase("job, generation {generation}{by}", generation=observation.generation, by=by)
    if observation.actor:
        return phrase(
            "job, generation {generation} by {actor}",
            generation=observation.generation,
            actor=observation.actor,
        )
    return phrase("job, generation {generation}", generation=observation.generation)


def _pod(observation: o.PodObserved) -> Said:
    codes = [container.exit_code for container in observation.containers if container.exit_code]
    return Several(
        (
            phrase("pod {replica} {phase}", replica=observation.replica, phase=str(observation.phase)),
            observation.disruption or observation.reason,
            exit_code(codes[0]) if codes else "",
            phrase("being deleted") if observation.deleting else "",
        ),
        "commas",
    )


def events_words(events: Iterable[e.Event]) -> str:
    """Events in order; the same of several replicas in a row is said once, with how many."""
    return ", ".join(_run(list(run)) for _, run in groupby(events, lambda event: event.type))


def _run(events: list[e.Event]) -> str:
    details = [detail for detail in dict.fromkeys(map(_detail, events)) if detail]
    if len(details) > 2:
        return f"{events[0].type} ×{len(events)}"
    return " ".join(filter(None, (events[0].type, " ".join(details))))


def _detail(event: e.Event) -> str:
    match event:
        case e.PhaseEntered():
            return f"{event.phase}"
        case e.RestartScheduled():
            limit = "" if event.limit is None else f"/{event.limit}"
            return f"{event.replica} ({event.number}{limit})"
        case e.ReplicaRequested():
            return f"{event.replica}.{event.attempt}"
        case e.ReplicaFailed() if event.cause.exit_code is not None:
            return f"{event.replica} ({event.cause.kind}, {event.cause.exit_code})"
        case e.ReplicaFailed():
            return f"{event.replica} ({event.cause.kind})"
        case e.Announced():
            return event.reason
        case e.QueueChanged():
            return event.standing if event.eviction is None else f"{event.standing} ({event.eviction.reason})"
        case e.TimerSet() | e.TimerCleared():
            return event.timer
        case e.ChildRefused():
            return f"{event.kind} {event.name}"
        case e.ConditionsChanged():
            return ""
        case _:
            return str(getattr(event, "replica", ""))


def fields(value: object, indent: str = "") -> Iterator[str]:
    """Plain data as indented lines, for reading; lists of objects get a dash for each."""
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in _values(value))
    for name, inner in pairs:
        head = f"{indent}- " if name is None else f"{indent}{name}: "
        if isinstance(inner, dict | list) and inner:
            nested = list(fields(inner, indent + "  "))
            if name is None:
                yield head + nested[0].lstrip()
                yield from nested[1:]
            else:
                yield head.rstrip()
                yield from nested
        else:
            yield head + _shown(inner)


def _values(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else [value]


def _shown(value: object) -> str:
    if value in ({}, []):
        return str(value)
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(character if character.isprintable() else " " for character in text)


def clock(at: datetime) -> str:
    """`2024-05-17T09:30:00Z`, as --at takes it."""
    return rfc3339(at)
