"""Kinds whose replica types stand in a list, `spec.replicaSpecs`: templates, numbers, and the length of names.

Every function copes with broken specs. Source: spec R2, R3.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from statemachine.kinds.common.names import cel_fits, digits, name_length
from statemachine.rulebook import Rule
from statemachine.schema.layout import Slot
from statemachine.schema.lookup import entries, items, number, text

Spec = Mapping[str, Any]


def slots(spec: Spec) -> Iterator[Slot]:
    """The pod templates of a spec, in order."""
    for index, item in items(spec, "replicaSpecs"):
        path = f"spec.replicaSpecs[{index}].template.spec"
        if isinstance(item.get("template"), Mapping):
            yield Slot(text(item, "type"), path, entries(item, "template"))


def numbers(spec: Spec) -> Iterator[tuple[str, int]]:
    """Path and value of the number of replicas of every type; one where the spec has none."""
    for index, item in items(spec, "replicaSpecs"):
        value = number(item, "replicas")
        yield f"spec.replicaSpecs[{index}].replicas", 1 if value is None else value


def scales(spec: Spec) -> dict[str, int]:
    """The number of replicas by type."""
    types = [text(item, "type") for _, item in items(spec, "replicaSpecs")]
    return dict(zip(types, (value for _, value in numbers(spec)), strict=True))


def names_fit(*, hashed: bool) -> Rule:
    """G2 for pods called `<job>-<type>-<index>`, or `<job>-<5 digits>-<type>-<index>` where they are `hashed`."""
    before, shown = (6, "<job>-<5 digits>") if hashed else (0, "<job>")
    return name_length(
        "G2",
        lambda spec: max(
            (before + 2 + len(type_) + digits(scale) for type_, scale in scales(spec).items()), default=0
        ),
        says=f"`{shown}-<type>-<index>` has at most 63 characters, for every index that there may be",
        cel="self.spec.replicaSpecs.all(r, "
        + cel_fits(f"{before + 1} + size(r.type) + 1", "has(r.replicas) ? r.replicas : 1")
        + ")",
        source="spec R2, G2",
    )
