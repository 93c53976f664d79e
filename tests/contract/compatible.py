"""Whether a schema keeps what another has promised, in both directions: old readers of new events, new of old ones.

Over the part of JSON Schema that our models use. What is not known here counts as a difference.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_SAYS_NOTHING: Final = {"$schema", "$id", "$defs", "title", "description"}
_FIXED: Final = {"type", "pattern", "format", "minimum", "maximum", "maxLength", "const", "enum", "default"}
"""What has to stay as it is."""

_KNOWN: Final = {*_SAYS_NOTHING, *_FIXED} | {
    *("$ref", "properties", "required", "items", "additionalProperties", "anyOf", "x-extensible-enum")
}


def differences(old: Schema, new: Schema) -> Iterator[str]:
    """What `new` breaks of what `old` promises: a sentence each, with the path."""
    yield from _compared(old, new, "data", (old.get("$defs", {}), new.get("$defs", {})))


_Defs = tuple[Mapping[str, Schema], Mapping[str, Schema]]


def _compared(old: Schema, new: Schema, path: str, defs: _Defs) -> Iterator[str]:
    old, new = _resolved(old, defs[0]), _resolved(new, defs[1])
    for keyword in sorted((old.keys() | new.keys()) - _KNOWN):
        yield f"{path}: {keyword} is a keyword that the gate does not know"
    for keyword in sorted(_FIXED):
        if old.get(keyword) != new.get(keyword):
            yield f"{path}: {keyword} was {old.get(keyword)!r} and is {new.get(keyword)!r}"
    yield from _enum(old, new, path)
    yield from _properties(old, new, path, defs)
    yield from _inner(old, new, path, defs)


def _resolved(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    reference = schema.get("$ref")
    return schema if reference is None else {**defs[reference.rpartition("/")[2]], **_but_ref(schema)}


def _but_ref(schema: Schema) -> Schema:
    return {keyword: value for keyword, value in schema.items() if keyword not in {"$ref", "description"}}


def _enum(old: Schema, new: Schema, path: str) -> Iterator[str]:
    before, now = old.get("x-extensible-enum"), new.get("x-extensible-enum")
    if (before is None) is not (now is None):
        yield f"{path}: x-extensible-enum came or went"
    elif before is not None and now is not None and (gone := sorted(set(before) - set(now))):
        yield f"{path}: values are gone: {', '.join(gone)}"


def _properties(old: Schema, new: Schema, path: str, defs: _Defs) -> Iterator[str]:
    before, now = old.get("properties", {}), new.get("properties", {})
    needed, needs = set(old.get("required", ())), set(new.get("required", ()))
    for name, schema in before.items():
        if name not in now:
            yield f"{path}.{name}: is gone"
            continue
        if (name in needed) is not (name in needs):
            yield f"{path}.{name}: required {'no longer' if name in needed else 'now'}"
        yield from _compared(schema, now[name], f"{path}.{name}", defs)
    for name in sorted(needs - set(before)):
        yield f"{path}.{name}: is new and required"


def _inner(old: Schema, new: Schema, path: str, defs: _Defs) -> Iterator[str]:
    """Of lists, maps and alternatives."""
    for keyword in ("items", "additionalProperties"):
        before, now = old.get(keyword), new.get(keyword)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            yield from _compared(before, now, f"{path}[]", defs)
        elif before != now:
            yield f"{path}: {keyword} was {before!r} and is {now!r}"
    others, alternatives = old.get("anyOf", ()), new.get("anyOf", ())
    if len(others) != len(alternatives):
        yield f"{path}: has other alternatives"
        return
    for before, now in zip(others, alternatives, strict=True):
        yield from _compared(before, now, path, defs)


def of_catalogue(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What is no longer so of types, their places and their severities."""
    for name, promised in old.items():
        now = new.get(name)
        if now is None:
            yield f"{name}: the type is gone"
            continue
        for keyword in ("type", "severity"):
            if promised[keyword] != now[keyword]:
                yield f"{name}: {keyword} was {promised[keyword]} and is {now[keyword]}"
        for anchor in promised["anchors"]:
            if anchor not in now["anchors"]:
                yield f"{name}: no longer stands at the place of {anchor}"
