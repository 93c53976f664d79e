"""What must hold of the spec of a SledgeJob."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.kinds.common.rule_builders import claim
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.lookup import entries, is_object, number
from tests.support.sledgejob.roles import TYPES, slots


def _dogs(spec: Mapping[str, Any]) -> int:
    teams = [entries(spec, part) for part in TYPES if is_object(spec.get(part))]
    return sum(number(team, "number") or 1 for team in teams)


_ENOUGH: Final = claim(
    "SL1",
    "spec.arrivals: more than there are dogs",
    lambda draft: (number(draft.spec, "arrivals") or 1) <= _dogs(draft.spec),
    says="no more have to arrive than there are",
    cel="!has(self.arrivals) || self.arrivals <= (has(self.dogs.number) ? self.dogs.number : 1) + "
    "(has(self.leaders) ? (has(self.leaders.number) ? self.leaders.number : 1) : 0)",
)


def _containers(draft: Draft) -> Iterator[Problem]:
    for slot in slots(draft.spec):
        if not slot.containers:
            yield Problem("SL2", f"{slot.path}.containers", "Required value")


RULES: Final = (
    _ENOUGH,
    Rule("SL2", Layer.CONTROLLER, "a template has a container", "<path>: Required value", _containers),
)
