"""RunEvents as the reference client has them: read into its classes, which are made from OpenLineage's schemas."""

import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import attr
from openlineage.client import event_v2
from openlineage.client.facet_v2 import (
    error_message_run,
    job_type_job,
    parent_run,
    processing_engine_run,
    tags_run,
)
from openlineage.client.serde import Serde

FACETS: Final[Mapping[str, type]] = {
    "parent": parent_run.ParentRunFacet,
    "processing_engine": processing_engine_run.ProcessingEngineRunFacet,
    "tags": tags_run.TagsRunFacet,
    "errorMessage": error_message_run.ErrorMessageRunFacet,
    "jobType": job_type_job.JobTypeJobFacet,
}
"""Those of OpenLineage; other facets are read as any facet."""

_MADE: Final = frozenset({"schemaURL", "_schemaURL"})
"""Fields that the classes fill by themselves; that they say the same is compared."""


def differences(event: Mapping[str, Any]) -> list[str]:
    """What the reference client reads otherwise than it stands there, or cannot read."""
    try:
        read = _read(event_v2.RunEvent, event, "event")
    except (TypeError, ValueError) as error:
        return [str(error)]
    own = {name for name in event["run"]["facets"] if name not in FACETS}
    again = Serde.to_dict(read)
    for name in own:
        again["run"]["facets"][name] = event["run"]["facets"][name]
    return [] if _plain(again) == _plain(event) else [f"{again} is not {event}"]


def _plain(tree: Any) -> Any:
    """Without fields that are null, empty or absent alike."""
    if isinstance(tree, Mapping):
        return {key: _plain(value) for key, value in tree.items() if value not in (None, {}, [])}
    return [_plain(item) for item in tree] if isinstance(tree, list) else tree


def _read(kind: Any, value: Any, path: str) -> Any:
    """`value` as `kind`, a class of the client or a type of its fields. Raises TypeError, ValueError."""
    if get_origin(kind) in {Union, types.UnionType}:
        if value is None and type(None) in get_args(kind):
            return None
        kind = next(option for option in get_args(kind) if option is not type(None))
    if get_origin(kind) is list:
        return [_read(get_args(kind)[0], item, f"{path}[]") for item in _of(list, value, path)]
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {
            name: _read(FACETS.get(name, inner), item, f"{path}.{name}")
            for name, item in _of(dict, value, path).items()
            if name in FACETS or not path.endswith("facets")
        }
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if attr.has(kind):
        return _object(kind, _of(dict, value, path), path)
    return _of(kind, value, path)


def _object(kind: Any, fields: Mapping[str, Any], path: str) -> Any:
    hints, known = _fields(kind)
    if strange := fields.keys() - known.keys():
        raise TypeError(f"{path} has no {', '.join(sorted(strange))}")
    given = {
        known[name].alias: _read(hints[name], value, f"{path}.{name}")
        for name, value in fields.items()
        if name not in _MADE
    }
    return kind(**given)


@cache
def _fields(kind: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The fields' types, and the fields, by name. To work out the types takes longer than to read an event."""
    return get_type_hints(kind), {field.name: field for field in attr.fields(kind)}


def _of(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{path} is no {kind.__name__}: {value!r}")
    return value
