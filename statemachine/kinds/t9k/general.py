"""Rules about names, replica types, bounds and aliases: G1, G3, G4, G7, G10-G12, G18. Source: spec R2."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from statemachine.kinds.common.rule_builders import bounds, claim, unless_absent
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import items, text

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
    return [text(item, "type") for _, item in items(spec, path)]


UNIQUE_TYPES = claim(
    "G4",
    "spec.replicaSpecs: replica types must be unique",
    lambda draft: not _repeated(listed_types(draft.spec)),
    says="no replica type is listed twice",
    cel="self.replicaSpecs.all(r, self.replicaSpecs.exists_one(s, s.type == r.type))",
    source="spec R2, G4",
)


def _repeated(types: list[str]) -> bool:
    named = [type_ for type_ in types if type_]
    return len(dict.fromkeys(named)) < len(named)


_DEBUG = "runMode.debug.replicaSpecs"
_RESUME = "runMode.pause.resumeSpecs"


def known_types(*fixed: str) -> tuple[Rule, ...]:
    """G7 and G18 for debug and resume; the replica types are `fixed`, or else those in `replicaSpecs`."""
    own = f"each.type in {list(fixed)}" if fixed else "self.replicaSpecs.exists(r, r.type == each.type)"
    return (
        _mentions(
            _DEBUG,
            lambda spec: not _repeated(listed_types(spec, _DEBUG)),
            says=f"no type in `{_DEBUG}` is listed twice",
        ),
        _mentions(
            _RESUME,
            lambda spec: not _repeated(listed_types(spec, _RESUME)) and not _unknown(spec, _RESUME, fixed),
            says=f"every type in `{_RESUME}` exists and is listed once",
            claim_of_entry=f"{own} && ",
        ),
        _debug_of_nobody(fixed),
    )


def _mentions(
    path: str, holds: Callable[[Mapping[str, Any]], bool], *, says: str, claim_of_entry: str = ""
) -> Rule:
    """G7 for the list at `path`: types are there once; `claim_of_entry` is what else CEL asks of an entry."""
    return claim(
        "G7",
        f"spec.{path}: unknown or repeated replica type",
        lambda draft: holds(draft.spec),
        says=says,
        cel=f"{unless_absent(path)} || self.{path}.all(each, {claim_of_entry}"
        f"self.{path}.exists_one(other, other.type == each.type))",
        source="spec R2, G7",
    )


def _unknown(spec: Mapping[str, Any], path: str, fixed: tuple[str, ...]) -> list[str]:
    """The types mentioned at `path` that the job does not have."""
    known = fixed or listed_types(spec)
    return [mentioned for mentioned in listed_types(spec, path) if mentioned and mentioned not in known]


def _debug_of_nobody(fixed: tuple[str, ...]) -> Rule:
    said = f'{_DEBUG}: no replica type "%s"; types that are not named take the defaults'

    def check(draft: Draft) -> Iterator[Notice]:
        for type_ in _unknown(draft.spec, _DEBUG, fixed):
            yield Notice("DebugTypeIgnored", said % type_)

    return Rule(
        "G18",
        Layer.WARNING,
        says=f"every type in `{_DEBUG}` exists",
        text=said % "<t>",
        check=check,
        source="spec R2, G18",
    )
