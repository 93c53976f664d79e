"""Whether a value is a tree of JSON values at all. YAML can say more: loops, dates, keys that are numbers.

Checked before anything else looks at a spec, and without recursion, so that nothing after it can trip.
"""

import math
from collections.abc import Iterator

from statemachine.errors import Problem
from statemachine.schema.fields import INT64_MAX

MAX_DEPTH = 64
MAX_VALUES = 200_000

_Visit = tuple[str, object, tuple[int, ...]]


def unreadable(spec: object) -> Problem | None:
    """The first thing in `spec` that no JSON document of reasonable size can hold; None if all is well."""
    return None if _is_plain(spec) else _first_fault(spec)


def _is_plain(spec: object) -> bool:
    """All is well, without a look at where anything is: so is nearly every spec, and paths cost most of a walk.

    Level by level, so that a loop is too deep after a while.
    """
    level, values = [spec], 1
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for value in level:
            if type(value) is dict:
                if not all(type(key) is str for key in value):
                    return False
                inner.extend(value.values())
            elif type(value) is list:
                inner.extend(value)
            elif type(value) is not str and (isinstance(value, dict | list) or _fault(value, ())):
                return False
        values += len(inner)
        if not inner:
            return values < MAX_VALUES
        if values >= MAX_VALUES:
            return False
        level = inner
    return False


def _first_fault(spec: object) -> Problem | None:
    stack: list[_Visit] = [("spec", spec, ())]
    for _ in range(MAX_VALUES):
        if not stack:
            return None
        path, value, above = stack.pop()
        fault = _fault(value, above)
        if fault:
            return Problem("", _short(path), fault)
        if isinstance(value, dict | list):
            stack.extend(_inside(path, value, (*above, id(value))))
    return Problem("", "spec", f"Too long: holds more than {MAX_VALUES} values")


def _fault(value: object, above: tuple[int, ...]) -> str:
    match value:
        case dict() | list() if id(value) in above:
            return "Invalid value: contains itself"
        case dict() | list() if len(above) >= MAX_DEPTH:
            return f"Invalid value: nested more than {MAX_DEPTH} levels deep"
        case dict():
            strange = next((key for key in value if not isinstance(key, str)), None)
            return "" if strange is None else f"Invalid value: field name {strange!s:.40} must be a string"
        case int() if not -INT64_MAX - 1 <= value <= INT64_MAX:
            return "Invalid value: must be an integer of 64 bits"
        case float() if not math.isfinite(value):
            return "Invalid value: must be a finite number"
        case str() | int() | float() | list() | None:
            return ""
        case _:
            kind = type(value).__name__
            return f"Invalid value: a {kind} is no JSON value; put it in quotes to make it a string"


def _inside(path: str, value: dict[str, object] | list[object], above: tuple[int, ...]) -> Iterator[_Visit]:
    if isinstance(value, dict):
        return ((f"{path}.{key}", inner, above) for key, inner in value.items())
    return ((f"{path}[{index}]", inner, above) for index, inner in enumerate(value))


def _short(path: str) -> str:
    """The path, cut where a reader has seen enough of it."""
    return path if len(path) <= 120 else f"{path[:119]}…"
