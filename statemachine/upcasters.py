"""Old events made new: a history written by any earlier release folds as if it had been written today.

Works on raw JSON objects, and only when the models have refused an entry: a history of the present versions
never pays for it. An upcaster lifts one version to the next and is never edited again; renaming an event type
is lifting it to version 1 of the new name.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from statemachine.events import Event

Raw = dict[str, Any]
"""An entry, or one of its events, as JSON has it."""

Upcaster = Callable[[Raw], Raw]
"""One version to the next; gives an object of its own, and `v` in it."""

Registry = Mapping[tuple[str, int], Upcaster]
"""(event type, version that it lifts from) → upcaster."""

ENTRY = "Entry"
"""The type under which upcasters of the entry itself, its cause included, are registered."""

UPCASTERS: Registry = {}

VERSIONS: Mapping[str, int] = {
    each.model_fields["type"].default: each.model_fields["v"].default for each in get_args(get_args(Event)[0])
}
"""Event type → the version that `events.py` knows."""


class NotLifted(ValueError):
    """An entry is of a version that cannot be lifted to the present one; the message says which and why."""


def upcast(
    entry: Raw, version: int, *, registry: Registry = UPCASTERS, versions: Mapping[str, int] = VERSIONS
) -> Raw:
    """`entry` with itself lifted to `version` and each of its events to the version in `versions`.

    The entry first: an old layout may keep its events elsewhere.

    Raises:
        NotLifted: something is newer than what is known here, or no upcaster leads to it.
    """
    lifted = _lift({**entry, "type": ENTRY}, {**versions, ENTRY: version}, registry)
    lifted.pop("type")
    events = lifted.get("events")
    if not isinstance(events, list) or not all(isinstance(each, dict) for each in events):
        raise NotLifted("its events are not a list of objects")
    return {**lifted, "events": [_lift(each, versions, registry) for each in events]}


def _lift(raw: Raw, versions: Mapping[str, int], registry: Registry) -> Raw:
    for _ in registry:  # no object needs more steps than there are upcasters
        step = registry.get(_tag(raw))
        if step is None:
            break
        raw = step(raw)
    type_, version = _tag(raw)
    known = versions.get(type_)
    if known is None:
        raise NotLifted(
            f"no event {type_} is known; the history was written by a newer jobledger, or is damaged"
        )
    if version > known:
        newer = "the history was written by a newer jobledger"
        raise NotLifted(f"{type_} has version {version}, known here is {known}; {newer}")
    if version < known:
        raise NotLifted(f"{type_} has version {version}, and no upcaster leads from there to {known}")
    return raw


def _tag(raw: Raw) -> tuple[str, int]:
    type_, version = raw.get("type"), raw.get("v")
    if not isinstance(type_, str) or not isinstance(version, int):
        raise NotLifted("an event lacks its type or its version")
    return type_, version
