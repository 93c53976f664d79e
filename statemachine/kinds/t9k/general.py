"""Rules about names, replica types, bounds and aliases: G1, G3, G4, G7, G10-G12. Source: spec R2."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from statemachine.kinds.common.look import items, text
from statemachine.kinds.common.says import Claim, bounds, claim, unless_absent
from statemachine.rulebook import Draft, Rule

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")

NAME = claim(
    "G1",
    "metadata.name must be a DNS-1035 label: lower-case letters, digits and '-', starting with a letter",
    lambda draft: _DNS_1035.fullmatch(draft.name) is not None,
    says="the job's name is a DNS-1035 label: Services are named after it",
    cel="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    cel_at="",
    source="spec R2, G1",
)


TYPE_NAME = bounds(
    "G3",
    "spec.replicaSpecs[*].type",
    says="a replica type is a DNS-1035 label of at most 20 characters",
    source="spec R2, G3",
)

DEADLINE_AND_BUDGET = bounds(
    "G11",
    "spec.runPolicy.activeDeadlineSeconds",
    "spec.runPolicy.backoffLimit",
    "spec.runPolicy.cleanUpPolicy",
    says="`activeDeadlineSeconds` ≥ 1, `backoffLimit` ≥ 0, `cleanUpPolicy` one of None, All, Unfinished",
    source="spec R2, G11",
)

PRIORITY = bounds(
    "G10",
    "spec.scheduler.t9kScheduler.priority",
    says="`scheduler.t9kScheduler.priority` is 0 to 100",
    source="spec R2, G10",
)


def listed_types(spec: Mapping[str, Any], path: str = "replicaSpecs") -> list[str]:
    """The types named by the entries of a list, in order; entries without one count as the empty type."""
    return [text(each, "type") for _, each in items(spec, path)]


UNIQUE_TYPES = claim(
    "G4",
    "spec.replicaSpecs: replica types must be unique",
    lambda draft: not _repeated(listed_types(draft.spec)),
    says="no replica type is listed twice",
    cel="self.replicaSpecs.all(r, self.replicaSpecs.exists_one(s, s.type == r.type))",
    source="spec R2, G4",
)


def _repeated(types: list[str]) -> bool:
    named = [each for each in types if each]
    return len(dict.fromkeys(named)) < len(named)


def known_types(*fixed: str) -> Iterator[Rule]:
    """G7 for debug and resume; the replica types are `fixed`, or else those in `replicaSpecs`."""
    for path in ("runMode.debug.replicaSpecs", "runMode.pause.resumeSpecs"):
        own = f"each.type in {list(fixed)}" if fixed else "self.replicaSpecs.exists(r, r.type == each.type)"
        yield claim(
            "G7",
            f"spec.{path}: unknown or repeated replica type",
            _each_known_once(path, fixed),
            says=f"every type in `{path}` exists and is listed once",
            cel=f"{unless_absent(path)} || self.{path}.all(each, {own} && "
            f"self.{path}.exists_one(other, other.type == each.type))",
            source="spec R2, G7",
        )


def _each_known_once(path: str, fixed: tuple[str, ...]) -> Claim:
    def holds(draft: Draft) -> bool:
        mentioned = [each for each in listed_types(draft.spec, path) if each]
        known = fixed or listed_types(draft.spec)
        return not _repeated(mentioned) and all(each in known for each in mentioned)

    return holds
