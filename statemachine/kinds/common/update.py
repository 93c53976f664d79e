"""An update of a spec that exists: what may change is taken over, the rest is named (spec R2).

A place in a spec is a tuple of steps, field names and indexes: names of resources hold dots, so that a path
in one string could not be followed.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from statemachine.schema.fields import SpecPart
from statemachine.schema.tables import fields

Steps = tuple[str | int, ...]


def rendered(steps: Steps) -> str:
    """The path of a place in a spec as users read it: `spec.a[0].limits[nvidia.com/gpu]`."""
    return "spec" + "".join(
        f".{step}" if isinstance(step, str) and step.replace("_", "a").isalnum() else f"[{step}]"
        for step in steps
    )


def mutable_changes(before: SpecPart, after: SpecPart, at: Steps = ()) -> Iterator[Steps]:
    """Where mutable values differ, defaults counted as said; as deep as objects go."""
    for shape in fields(type(before)).values():
        old, new = getattr(before, shape.attribute), getattr(after, shape.attribute)
        here = (*at, shape.name)
        if shape.mutable is not None:
            yield from _differences(_plain(old), _plain(new), here)
        elif shape.part is not None and not shape.many and old is not None and new is not None:
            yield from mutable_changes(old, new, here)


def frozen_changes(model: type[SpecPart], old: Any, new: Any, at: Steps = ()) -> Iterator[Steps]:
    """Where pod templates differ, as deep as both sides have the same shape; an object that is absent is empty."""
    old, new = ({} if side is None else side for side in (old, new))
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return
    for shape in fields(model).values():
        here, was, now = (*at, shape.name), old.get(shape.name), new.get(shape.name)
        if shape.mutable is not None:
            continue
        if shape.opaque:
            yield from _differences(was, now, here, into_lists=True)
        elif shape.part is not None and shape.many and isinstance(was, list) and isinstance(now, list):
            for index, (one, other) in enumerate(zip(was, now, strict=False)):
                yield from frozen_changes(shape.part, one, other, (*here, index))
        elif shape.part is not None:
            yield from frozen_changes(shape.part, was, now, here)


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Two specs are the same bytes: 1, 1.0 and true are equal, and differ."""
    return json.dumps(one) == json.dumps(other)


def _plain(value: Any) -> Any:
    return value.model_dump(by_alias=True, warnings=False) if isinstance(value, SpecPart) else value


def _differences(old: Any, new: Any, at: Steps, *, into_lists: bool = False) -> Iterator[Steps]:
    """Where two JSON values differ. A null is the same as nothing."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), (*at, key), into_lists=into_lists)
    elif into_lists and isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, (*at, index), into_lists=True)
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield at


def value_at(spec: Any, steps: Steps) -> Any:
    """The value at a place that objects alone lead to; None where there is none."""
    for step in steps:
        spec = spec.get(step) if isinstance(spec, Mapping) else None
    return spec


def with_value(spec: Mapping[str, Any] | None, steps: Steps, value: Any) -> dict[str, Any]:
    """A copy of `spec` with the value at such a place replaced; None takes the field away."""
    key, rest = str(steps[0]), steps[1:]
    copy = dict(spec or {})
    if rest:
        copy[key] = with_value(copy.get(key), rest, value)
    elif value is None:
        copy.pop(key, None)
    else:
        copy[key] = value
    return copy
