"""Jobs, replicas and entries as `/api` tells them: plain data with names in camel case. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from jobledger.console.details.point_in_time import DescribedEntry
from jobledger.console.details.replicas import ReplicaRow
from jobledger.console.details.subject import Subject
from jobledger.console.drafts import examined
from jobledger.console.monitoring.panels import ShownPanel
from projectors.history import EntryRow, Listed
from projectors.history.facts import resources
from statemachine.budget import Budget, budget
from statemachine.kinds import kind_of
from statemachine.timestamps import rfc3339
from statemachine.wire import Wire

Data = dict[str, Any]


def camel(name: str) -> str:
    """`created_at` as `createdAt`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def plain(value: object) -> Any:
    """What JSON can hold of a value: instants as RFC 3339, spans in seconds."""
    match value:
        case datetime():
            return rfc3339(value)
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return float(value)
        case Wire():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case _:
            return value


def fields(record: Any) -> Data:
    """The fields of a dataclass."""
    return {camel(name): plain(value) for name, value in asdict(record).items()}


def listed(row: Listed) -> Data:
    """A row of the list, with what it shows beside the job's own fields."""
    columns = fields(row)
    shown = columns.pop("shown")
    return {**{camel(name): value for name, value in shown.items()}, **columns}


def job(subject: Subject, rows: Sequence[ReplicaRow], launch: str, offered: Sequence[str]) -> Data:
    """The job: its spec in the canonical form, status, sums, restarts, command lines; secrets taken out."""
    state, held = subject.state, subject.job or {}
    restarts = budget(state) if state else Budget(None, 0)
    about = {"namespace": subject.namespace, "kind": subject.kind, "name": subject.name, "uid": subject.uid}
    phase = state.phase.value if state else subject.remembered.phase.value if subject.remembered else "New"
    return {
        **({"apiVersion": held["apiVersion"]} if held else {}),
        **about,
        "phase": phase,
        "gone": subject.gone,
        "metadata": held.get("metadata") or {},
        "spec": _canonical(held),
        "status": held.get("status") or {},
        "sums": sums(subject),
        "restarts": {
            "count": restarts.used,
            "limit": restarts.limit,
        },
        "commands": {
            "launch": launch,
            "replicas": {
                row.name: [{"container": one.name, "command": one.command} for one in row.containers]
                for row in rows
            },
        },
        "actions": list(offered),
    }


def _canonical(held: Mapping[str, Any]) -> Data:
    if not held:
        return {}
    kind = kind_of(held["apiVersion"], held["kind"])
    return dict(examined(kind, dict(held)).manifest.get("spec") or {})


def sums(subject: Subject) -> Mapping[str, Mapping[str, float | None]]:
    """Requests and limits of all main replicas, by resource."""
    asked, allowed = resources(subject.state) if subject.state else ({}, {})
    return {
        name: {"request": plain(asked.get(name)), "limit": plain(allowed.get(name))}
        for name in sorted({*asked, *allowed})
    }


def panel(shown: ShownPanel, error: str) -> Data:
    """A panel: its bounds and lines, points as `[seconds since 1970, value]`."""
    return {
        "name": shown.panel.name,
        "unit": shown.panel.unit,
        "request": shown.request,
        "limit": shown.limit,
        "start": shown.span.start,
        "end": shown.span.end,
        "step": shown.span.step,
        "lines": [fields(line) for line in shown.lines],
        "linesInAll": shown.of,
        "error": error,
    }


def entry(words: DescribedEntry) -> Data:
    """An entry of the job's life."""
    return fields(words)


def remembered(row: EntryRow) -> Data:
    """An entry that only the history view knows: what it was about, and the phase behind it."""
    return {
        "seq": row.seq,
        "at": rfc3339(row.seen_at),
        "delay": None,
        "cause": row.cause_type,
        "actor": row.actor,
        "actorSource": row.actor_source,
        "events": [row.summary],
        "types": list(row.events),
        "before": None,
        "after": row.phase_after.value,
    }
