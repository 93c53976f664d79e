"""Which actions a job has at the moment (spec console.md, section 5). Pure."""

from collections.abc import Sequence
from functools import cache

from projectors.history import Listed
from statemachine.kinds import KINDS, KNOWN
from statemachine.phases import ACTIVE, FINAL, Phase
from statemachine.schema.tables import walk


def offered(job: Listed) -> Sequence[str]:
    """The actions for a row of the list, in the order of its menu."""
    return actions(
        job.kind,
        Phase(job.phase),
        paused=job.shown["paused"],
        elastic=job.shown["elastic"] is not None,
        deleting=job.shown["deleting"],
    )


def actions(kind: str, phase: Phase, *, paused: bool, elastic: bool, deleting: bool) -> Sequence[str]:
    """The actions for a job of this kind in this phase."""
    offered = ["yaml", "clone"]
    if deleting:
        return offered
    if phase not in FINAL:
        if KINDS[KNOWN.index(kind)].pausing(True):
            offered += ["resume"] if paused else ["pause"] if phase in ACTIVE or phase is Phase.NEW else []
        if elastic:
            offered.append("scale")
        if has(kind, "spec.runPolicy"):
            offered.append("policy")
    return [*offered, "delete"]


def has(kind: str, *paths: str) -> bool:
    """The kind's spec has one of these fields."""
    return not _fields(kind).isdisjoint(paths)


@cache
def _fields(kind: str) -> frozenset[str]:
    return frozenset(path for path, _ in walk(KINDS[KNOWN.index(kind)].model))
