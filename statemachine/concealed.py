"""Values of environment variables that are not in the log: references that stand in their places (ADR 0022). Pure.

A reference says which key it was made with and holds a keyed hash, which is another one for a value that changed,
and from which nobody can guess it. The bridge makes them (`k8s_bridge.env_values`), a projector puts the values back.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

_REFERENCE: Final = re.compile(r"jobledger\.dev/env-value:(?P<key>[0-9a-f]{8}):(?P<hash>[0-9a-f]{32})\n?")

_LEAVES: Final = frozenset((str, int, float, bool, type(None)))

Change = Callable[[str, Any], Any]
"""Name and value of a variable → what to put in the value's place."""


def reference(key: str, digest: str, *, several_lines: bool) -> str:
    """What stands for a value: 8 hexadecimal digits for the key, 32 for the hash.

    It has several lines if the value has, as a rule warns of those (DS11).
    """
    return f"jobledger.dev/env-value:{key}:{digest}" + ("\n" if several_lines else "")


def is_reference(value: object) -> bool:
    """The text stands for a value that is not here."""
    return isinstance(value, str) and bool(_REFERENCE.fullmatch(value))


def with_variables(value: Any, change: Change) -> Any:
    """A copy of plain data in which literal values of all `env` lists, wherever they are, are changed."""
    # leaves are tested here rather than by a call for each: they are most of the data
    if isinstance(value, Mapping):
        return {
            key: inner
            if type(inner) in _LEAVES
            else [_changed(variable, change) for variable in inner]
            if key == "env" and isinstance(inner, list)
            else with_variables(inner, change)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _LEAVES else with_variables(item, change) for item in value]
    return value


def variables(value: Any) -> Iterator[tuple[str, Any]]:
    """Name and literal value of every variable in the `env` lists of plain data, wherever they are; in any order."""
    unread = [value]
    while unread:
        part = unread.pop()
        # the exact type first: asking an abstract class costs ten times as much
        if type(part) is dict or (type(part) is not list and isinstance(part, Mapping)):
            for key, inner in part.items():
                if type(inner) in _LEAVES:
                    continue
                if key == "env" and isinstance(inner, list):
                    yield from (
                        (str(entry.get("name", "")), entry["value"]) for entry in inner if _is_literal(entry)
                    )
                else:
                    unread.append(inner)
        elif isinstance(part, list | tuple):
            unread.extend(item for item in part if type(item) not in _LEAVES)


def _is_literal(entry: Any) -> bool:
    return isinstance(entry, Mapping) and entry.get("value") not in (None, "")


def _changed(entry: Any, change: Change) -> Any:
    if not _is_literal(entry):
        return entry
    return {**entry, "value": change(str(entry.get("name", "")), entry["value"])}


def as_known(old: Any, new: Any) -> Any:
    """`new`, with the value of `old` in each place where nobody can tell whether they differ.

    That is where one of them is a reference and the other is none, or was made with another key: the setting was
    changed, or the key. What cannot be compared has not changed: pod templates never do.
    """
    if isinstance(new, str):  # leaves come first: they are most of the data, and cheap to tell from the rest
        return new if old == new or not isinstance(old, str) or _comparable(old, new) else old
    if type(new) in _LEAVES:
        return new
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {key: as_known(old.get(key), inner) for key, inner in new.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [as_known(one, other) for one, other in zip(old, new, strict=True)]
    return new


def _comparable(old: str, new: str) -> bool:
    before, after = _REFERENCE.fullmatch(old), _REFERENCE.fullmatch(new)
    if before is None or after is None:
        return before is after
    return before["key"] == after["key"]
