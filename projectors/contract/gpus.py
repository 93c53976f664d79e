"""How many GPUs a pod holds, from its template. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any, Final

from statemachine.schema.layout import Slot
from statemachine.schema.lookup import entries, items
from statemachine.schema.quantities import quantity

Resources = tuple[tuple[str, Decimal], ...]
"""Patterns of extended resources, and how much of a GPU one of each is."""

USUAL_NAMES: Final = "nvidia.com/gpu,amd.com/gpu,gpu.intel.com/*,habana.ai/gaudi,huawei.com/Ascend*"


def resources(text: str) -> Resources:
    """What `name,name=fraction` means. Raises ValueError."""
    counted = []
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, share = part.partition("=")
        weight = quantity(share) if equals else Decimal(1)
        if not name or weight is None or weight <= 0:
            raise ValueError(f"must be names of resources, such as nvidia.com/gpu or name=0.5, not {part}")
        counted.append((name, weight))
    return tuple(counted)


USUAL: Final = resources(USUAL_NAMES)


def gpus(slot: Slot, counted: Resources) -> Decimal:
    """The GPUs of a pod of this template: of all containers together, or of the init container that has most."""
    together = sum((_of(container, counted) for _, container in slot.containers), Decimal(0))
    alone = (_of(container, counted) for _, container in items(slot.template, "spec.initContainers"))
    return max((together, *alone))


def _of(container: Mapping[str, Any], counted: Resources) -> Decimal:
    limits = entries(container, "resources.limits")
    return sum((_share(name, counted) * _number(value) for name, value in limits.items()), Decimal(0))


def _share(name: str, counted: Iterable[tuple[str, Decimal]]) -> Decimal:
    return next((share for pattern, share in counted if fnmatchcase(name, pattern)), Decimal(0))


def _number(value: object) -> Decimal:
    return max(quantity(value) or Decimal(0), Decimal(0))
