"""Old events made new: a history written by any earlier release folds as if it had been written today.

Works on raw JSON objects, and only when the models have refused an entry, or an observation on its way to the engine:
a history of the present versions never pays for it. An upcaster lifts one version to the next and is never edited
again; renaming an event type is lifting it to version 1 of the new name.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from statemachine.events import Event
from statemachine.wire import version_of

Raw = dict[str, Any]
"""An entry, or one of its events, as JSON has it."""

Upcaster = Callable[[Raw], Raw]
"""One version to the next; gives an object of its own, and `v` in it."""

Registry = Mapping[tuple[str, int], Upcaster]
"""(event type, version that it lifts from) → upcaster."""

ENTRY = "Entry"
"""The type under which upcasters of the entry itself, its cause included, are registered."""


def _tensorboard_changed(raw: Raw) -> Raw:
    lifted: Raw = {name: raw[name] for name in ("name", "uid", "error") if name in raw}
    facts = {"facts": {"running": "true"}} if raw.get("running") else {}
    return {"type": "ChildChanged", "v": 1, "kind": "TensorBoard", **lifted, **facts}


def _pod_group_changed(raw: Raw) -> Raw:
    lifted: Raw = {name: raw[name] for name in ("name", "at", "uid") if name in raw}
    facts = {"facts": {"phase": raw["phase"]}} if raw.get("phase") else {}
    holds = {"holds": True} if raw.get("held") else {}
    return {
        "type": "ChildChanged",
        "v": 1,
        "kind": "PodGroup",
        **lifted,
        **facts,
        **holds,
        "while_active": True,
    }


def _with_planned_children(raw: Raw) -> Raw:
    plan = raw.get("plan")
    if not isinstance(plan, dict) or "tensorboard" not in plan:
        return {**raw, "v": 2}
    others = {name: value for name, value in plan.items() if name != "tensorboard"}
    board = {"kind": "TensorBoard", "name": plan["tensorboard"], "field": "spec.tensorboardSpec"}
    return {**raw, "v": 2, "plan": {**others, "children": [board]}}


UPCASTERS: Registry = {
    ("TensorBoardChanged", 1): _tensorboard_changed,
    ("PodGroupChanged", 1): _pod_group_changed,
    ("JobAdmitted", 1): _with_planned_children,
    ("SpecChanged", 1): _with_planned_children,
}


def _tensorboard_observed(raw: Raw) -> Raw:
    lifted = {name: value for name, value in raw.items() if name != "running"}
    facts = {"facts": {"running": "true"}} if raw.get("running") else {}
    return {**lifted, "type": "ChildObserved", "kind": "TensorBoard", **facts}


def _pod_group_observed(raw: Raw) -> Raw:
    lifted = {name: value for name, value in raw.items() if name != "phase"}
    facts = {"facts": {"phase": raw["phase"]}} if raw.get("phase") else {}
    return {**lifted, "type": "ChildObserved", "kind": "PodGroup", **facts}


OBSERVATIONS: Mapping[str, Upcaster] = {
    "TensorBoardObserved": _tensorboard_observed,
    "PodGroupObserved": _pod_group_observed,
}
"""Type of an observation of an earlier release → what it is today. Observations have no versions of their own."""

VERSIONS: Mapping[str, int] = {event.type: version_of(event) for event in get_args(Event)}
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
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise NotLifted("its events are not a list of objects")
    cause = {"cause": lift_observation(lifted["cause"])} if "cause" in lifted else {}
    return {**lifted, **cause, "events": [_lift(event, versions, registry) for event in events]}


def lift_observation(raw: Any) -> Any:
    """An observation of any earlier release as today's; anything else as it is."""
    step = OBSERVATIONS.get(str(raw.get("type"))) if isinstance(raw, dict) else None
    return raw if step is None else step(raw)


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
