"""Plain data as JSON knows it: copies that share nothing, and merge patches. Pure."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from statemachine.errors import Refused

T = TypeVar("T")

_ATOMS = frozenset((str, int, float, bool, type(None)))


def copied(value: T) -> T:
    """An equal value that shares no dict and no list with `value`.

    Raises:
        Refused: something in it has no place in JSON, such as a YAML date.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    # leaves and names are tested here rather than by a call for each: they are most of the data
    if kind is dict:
        return {  # type: ignore[return-value]
            key if type(key) is str else _key(key): inner if type(inner) in _ATOMS else copied(inner)
            for key, inner in value.items()  # type: ignore[attr-defined]
        }
    if kind is list or kind is tuple:
        return [  # type: ignore[return-value]
            inner if type(inner) in _ATOMS else copied(inner)
            for inner in value  # type: ignore[attr-defined]
        ]
    return cast(T, _unusual(value))


def _unusual(value: Any) -> Any:
    """A copy of a subclass (an enum's string, a mapping proxy) as its base type."""
    if isinstance(value, Mapping):
        return {_key(key): copied(inner) for key, inner in value.items()}
    for atom in (str, bool, int, float):
        if isinstance(value, atom):
            return atom(value)
    raise Refused(400, "BadRequest", f"{type(value).__name__} {value!r:.60} cannot be written as JSON")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise Refused(400, "BadRequest", f"key {key!r:.60} is not a string")
    return key


def merged(target: Any, patch: Any) -> Any:
    """`target` with the JSON merge patch `patch` applied; neither is modified. Source: RFC 7396.

    Parts of `target` that the patch does not touch are shared with the result.
    """
    if not isinstance(patch, Mapping):
        return copied(patch)
    result: dict[str, Any] = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[_key(key)] = merged(result.get(key), value)
    return result
