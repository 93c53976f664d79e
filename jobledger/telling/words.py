"""Observations and events in a few words each, for tables."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

from projectors.explain.says import exit_code
from statemachine import events as e
from statemachine import observations as o
from statemachine.timestamps import rfc3339


def seen_words(seen: o.Observation) -> str:
    """What was noticed: `pod worker-1 Failed, exit code 137`."""
    match seen:
        case o.JobObserved():
            by = f" by {seen.actor}" if seen.actor else ""
            return f"job, generation {seen.generation}{by}"
        case o.JobGone():
            return "job gone" + (f", by {seen.actor}" if seen.actor else "")
        case o.PodObserved():
            return _pod(seen)
        case o.PodGone():
            return f"pod {seen.replica} gone"
        case o.PodUnreadable():
            return f"pod {seen.replica} unreadable"
        case o.TimerFired():
            return f"timer {seen.timer}"
        case o.WriteRefused():
            return f"{seen.verb} {seen.kind} {seen.name} refused, {seen.status}"
        case o.PodGroupObserved():
            return f"PodGroup {seen.phase or ('seen' if seen.uid else 'gone')}"
        case o.TensorBoardObserved():
            state = "running" if seen.running else "gone" if not seen.uid else "not running"
            return f"TensorBoard {state}"


def _pod(seen: o.PodObserved) -> str:
    codes = [each.exit_code for each in seen.containers if each.exit_code]
    reason = seen.disruption or seen.reason
    parts = [f"pod {seen.replica} {seen.phase}", *([reason] if reason else [])]
    parts += [str(exit_code(codes[0]))] if codes else []
    return ", ".join([*parts, *(["being deleted"] if seen.deleting else [])])


def events_words(events: Iterable[e.Event]) -> str:
    """Events in order; the same of several replicas in a row is said once, with how many."""
    return ", ".join(_run(list(run)) for _, run in groupby(events, lambda each: each.type))


def _run(events: list[e.Event]) -> str:
    details = [each for each in dict.fromkeys(map(_detail, events)) if each]
    if len(details) > 2:
        return f"{events[0].type} ×{len(events)}"
    return " ".join(filter(None, (events[0].type, " ".join(details))))


def _detail(event: e.Event) -> str:
    match event:
        case e.PhaseEntered():
            return f"{event.phase}"
        case e.RestartScheduled():
            limit = "" if event.limit is None else f"/{event.limit}"
            return f"{event.replica} ({event.spent}{limit})"
        case e.ReplicaRequested():
            return f"{event.replica}.{event.attempt}"
        case e.ReplicaFailed() if event.cause.exit_code is not None:
            return f"{event.replica} ({event.cause.kind}, {event.cause.exit_code})"
        case e.ReplicaFailed():
            return f"{event.replica} ({event.cause.kind})"
        case e.Announced():
            return event.reason
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
    pairs = value.items() if isinstance(value, dict) else ((None, each) for each in _each(value))
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


def _each(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else [value]


def _shown(value: object) -> str:
    if value in ({}, []):
        return str(value)
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(each if each.isprintable() else " " for each in text)


def clock(at: datetime) -> str:
    """`2024-05-17T09:30:00Z`, as --at takes it."""
    return rfc3339(at)
