"""Public events as rows of a table: columns with types for what analysts ask for, and the whole data beside them.

Pure. Names of columns stay; new ones may come. Where an event does not have what a column says, it is null.
Source: docs/events.md, "Parquet".
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final, NamedTuple

from projectors.contract.page import PublicEvent

Row = dict[str, Any]
"""Column → value: a text, an int, a datetime, a map of labels, or None."""


class Kind(Enum):
    """Types of columns; the value is what they are called for users."""

    TEXT = "text"
    INTEGER = "integer"
    INSTANT = "timestamp, µs, UTC"
    LABELS = "map of text to text"


class Column(NamedTuple):
    """A column, and where in the data of an event its value is; without a path it is the attribute of its name."""

    name: str
    kind: Kind = Kind.TEXT
    path: tuple[str, ...] = ()


_ATTRIBUTES: Final = (
    *("specversion", "id", "source", "type", "subject", "datacontenttype", "dataschema", "partitionkey"),
    *("sequence", "correlationid", "causationid", "authtype", "authid", "severitytext", "traceparent"),
    *("apiversion", "kind", "name", "namespace"),
)

_TEXTS: Final = (
    *(
        ("job_uid", "job.uid"),
        ("job_kind", "job.kind"),
        ("entry_hash", "entry.hash"),
        ("entry_cause", "entry.cause"),
    ),
    *(("replica_name", "replica.name"), ("replica_type", "replica.type")),
    *(("pod_name", "replica.pod.name"), ("pod_uid", "replica.pod.uid"), ("pod_node", "replica.pod.node")),
    *(("phase_from", "phase.from"), ("phase_to", "phase.to"), ("phase_trigger", "phase.trigger")),
    *(("phase_rule", "phase.rule"), ("cause_class", "cause.class"), ("cause_rule", "cause.rule")),
    *(
        ("cause_pod_uid", "cause.podUid"),
        ("cause_node", "cause.node"),
        ("cause_container", "cause.container"),
    ),
    *(("cause_reason", "cause.reason"), ("cause_message", "cause.message")),
)
_INTEGERS: Final = (
    *(("job_generation", "job.generation"), ("entry_seq", "entry.seq"), ("entry_index", "entry.index")),
    *(("entry_policy", "entry.policy"), ("replica_index", "replica.index")),
    *(("replica_attempt", "replica.attempt"), ("phase_start", "phase.start")),
    *(("cause_exit_code", "cause.exitCode"), ("cause_signal", "cause.signal")),
    *(("budget_spent", "budget.spent"), ("budget_limit", "budget.limit")),
)

COLUMNS: Final[Sequence[Column]] = (
    *(Column(name) for name in _ATTRIBUTES),
    Column("severitynumber", Kind.INTEGER),
    Column("time", Kind.INSTANT),
    Column("recordedtime", Kind.INSTANT),
    Column("job_labels", Kind.LABELS, ("job", "labels")),
    *(Column(name, Kind.TEXT, tuple(path.split("."))) for name, path in _TEXTS),
    *(Column(name, Kind.INTEGER, tuple(path.split("."))) for name, path in _INTEGERS),
)
"""Beside them the column `data` has the whole data as JSON text."""

DATA: Final = "data"


def row(event: PublicEvent) -> Row:
    """The event as a row of the columns, and of `DATA`."""
    data = json.loads(event.data)
    values = {column.name: _value(column, event, data) for column in COLUMNS}
    return {**values, DATA: event.data.decode()}


def _value(column: Column, event: PublicEvent, data: Mapping[str, Any]) -> Any:
    value = _inner(data, column.path) if column.path else event.attributes.get(column.name)
    return datetime.fromisoformat(value) if column.kind is Kind.INSTANT and isinstance(value, str) else value


def _inner(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
