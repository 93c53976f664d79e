"""Whether a schema registry takes a schema as BACKWARD compatible with an older one: what was valid stays valid.

After the documented rules of Confluent's registry for JSON Schema, which is stricter than JSON Schema where objects
are open, over the part of JSON Schema that our models use. Each change has the name that the registry gives it.
Source: docs.confluent.io, "JSON Schema compatibility rules".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Schema = Mapping[str, Any]
Defs = tuple[Mapping[str, Schema], Mapping[str, Schema]]

COMPATIBLE: Final = frozenset({
    "ENUM_ARRAY_EXTENDED",
    "MAXIMUM_INCREASED",
    "MAXIMUM_REMOVED",
    "MAX_LENGTH_INCREASED",
    "MAX_LENGTH_REMOVED",
    "MINIMUM_DECREASED",
    "MINIMUM_REMOVED",
    "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
    "PATTERN_REMOVED",
    "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL",
    "REQUIRED_ATTRIBUTE_REMOVED",
    "SUM_TYPE_EXTENDED",
    "ADDITIONAL_PROPERTIES_ADDED",
    "ADDITIONAL_PROPERTIES_EXTENDED",
})  # fmt: skip

_BOUNDS: Final = {"minimum": "MINIMUM", "maximum": "MAXIMUM", "maxLength": "MAX_LENGTH"}


class Change(NamedTuple):
    """What differs, and where."""

    path: str
    name: str


def refusals(old: Schema, new: Schema) -> list[Change]:
    """The changes for which a registry that is set to BACKWARD refuses `new`."""
    return [change for change in changes(old, new) if change.name not in COMPATIBLE]


def changes(old: Schema, new: Schema) -> list[Change]:
    """All changes that the registry knows a name for."""
    return list(_compared(old, new, "#", (old.get("$defs", {}), new.get("$defs", {}))))


def _compared(old: Schema, new: Schema, path: str, defs: Defs) -> Iterator[Change]:
    old, new = _resolved(old, defs[0]), _resolved(new, defs[1])
    if "anyOf" in old or "anyOf" in new:
        yield from _alternatives(old, new, path, defs)
    elif _kind(old) != _kind(new):
        yield Change(path, "TYPE_CHANGED")
    else:
        yield from _values(old, new, path)
        yield from _properties(old, new, path, defs)
        yield from _others(old, new, path, defs)
        if "items" in old and "items" in new:
            yield from _compared(old["items"], new["items"], f"{path}/items", defs)


def _resolved(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    reference = schema.get("$ref")
    return schema if reference is None else _resolved(defs[reference.rpartition("/")[2]], defs)


def _kind(schema: Schema) -> str:
    """What the registry takes a schema for."""
    if "enum" in schema:
        return "enum"
    return "const" if "const" in schema else str(schema.get("type"))


def _values(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    before, now = set(old.get("enum", ())), set(new.get("enum", ()))
    if before != now:
        more, fewer = "ENUM_ARRAY_EXTENDED", "ENUM_ARRAY_NARROWED"
        changed = more if before < now else fewer if now < before else "ENUM_ARRAY_CHANGED"
        yield Change(path, changed)
    if old.get("const") != new.get("const"):
        yield Change(path, "TYPE_CHANGED")
    if old.get("pattern") != new.get("pattern"):
        yield Change(path, f"PATTERN_{_came_or_went(old.get('pattern'), new.get('pattern'))}")
    for keyword, name in _BOUNDS.items():
        least, most = old.get(keyword), new.get(keyword)
        if least is None or most is None:
            if least is not most:
                yield Change(path, f"{name}_{_came_or_went(least, most)}")
        elif least != most:
            yield Change(path, f"{name}_{'INCREASED' if most > least else 'DECREASED'}")


def _came_or_went(before: object, now: object) -> str:
    return "ADDED" if before is None else "REMOVED" if now is None else "CHANGED"


def _is_open(schema: Schema) -> bool:
    return schema.get("additionalProperties", True) is True


def _properties(old: Schema, new: Schema, path: str, defs: Defs) -> Iterator[Change]:
    before, now = old.get("properties", {}), new.get("properties", {})
    needed, needs = set(old.get("required", ())), set(new.get("required", ()))
    for name in before:
        place = f"{path}/properties/{name}"
        if name not in now:
            yield Change(
                place, f"PROPERTY_REMOVED_FROM_{'OPEN' if _is_open(new) else 'CLOSED'}_CONTENT_MODEL"
            )
            continue
        if (name in needed) is not (name in needs):
            yield Change(place, f"REQUIRED_ATTRIBUTE_{'REMOVED' if name in needed else 'ADDED'}")
        yield from _compared(before[name], now[name], place, defs)
    for name in now.keys() - before.keys():
        how = "REQUIRED" if name in needs else "OPTIONAL"
        closed = f"{how}_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"
        added = "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL" if _is_open(old) else closed
        yield Change(f"{path}/properties/{name}", added)


def _others(old: Schema, new: Schema, path: str, defs: Defs) -> Iterator[Change]:
    """Of properties that have no name in the schema."""
    before, now = old.get("additionalProperties", True), new.get("additionalProperties", True)
    path = f"{path}/additionalProperties"
    if (before is False) is not (now is False):
        yield Change(path, f"ADDITIONAL_PROPERTIES_{'ADDED' if before is False else 'REMOVED'}")
    elif isinstance(before, Mapping) and isinstance(now, Mapping):
        yield from _compared(before, now, path, defs)
    elif before != now:
        yield Change(path, f"ADDITIONAL_PROPERTIES_{'NARROWED' if before is True else 'EXTENDED'}")


def _alternatives(old: Schema, new: Schema, path: str, defs: Defs) -> Iterator[Change]:
    """Every old alternative has a new one that takes what it took."""
    before, now = old.get("anyOf", [old]), new.get("anyOf", [new])
    for number, alternative in enumerate(before):
        place = f"{path}/anyOf/{number}"
        compared = [list(_compared(alternative, other, place, defs)) for other in now]
        fits = [changes for changes in compared if all(change.name in COMPATIBLE for change in changes)]
        if not fits:
            yield Change(
                place, "COMBINED_TYPE_SUBSCHEMAS_CHANGED" if len(now) >= len(before) else "SUM_TYPE_NARROWED"
            )
        else:
            yield from min(fits, key=len)
    if len(now) > len(before):
        yield Change(path, "SUM_TYPE_EXTENDED")
