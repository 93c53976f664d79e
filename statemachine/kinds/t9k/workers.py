"""Kinds whose workers stand under `spec.worker`: their template, and how many processes one of them has room for.

Every function copes with broken specs. Source: deepspeedjob.md, colossalaijob.md and mpijob.md, section 1.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.schema.layout import Container, Slot
from statemachine.schema.lookup import entries, find
from statemachine.schema.quantities import quantity

WORKER: Final = "worker"

WORKER_TEMPLATE: Final = "spec.worker.template.spec"
"""Path of the workers' pod."""


def worker_slots(spec: Mapping[str, Any]) -> Iterator[Slot]:
    """The pod template of the workers, if it is one."""
    if isinstance(find(spec, "worker.template"), Mapping):
        yield Slot(WORKER, WORKER_TEMPLATE, entries(spec, "worker.template"))


def processes_by_gpu(training: Container) -> int:
    """One process for each GPU that the container may use, one where it has none."""
    gpus = quantity(entries(training, "resources.limits").get("nvidia.com/gpu"))
    return max(1, int(gpus or 1))
