"""Elastic training: its rules (PT3-PT6, shared by name and text, and G21) and how replicas spread over types.

Source: spec R12; pytorchtrainingjob.md, sections 2 and 5.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from statemachine.kinds.common.rule_builders import claim
from statemachine.kinds.t9k.immutable import fixed, fixed_switch
from statemachine.rulebook import SCALE_IGNORED, Draft, Layer, Notice, Rule
from statemachine.schema.lookup import find, flag, number

_SOURCE = "spec R12"


def _required(draft: Draft) -> bool:
    ends = (find(draft.spec, "elastic.minReplicas"), find(draft.spec, "elastic.maxReplicas"))
    return not flag(draft.spec, "elastic.enabled") or None not in ends


def _ordered(draft: Draft) -> bool:
    low, high = number(draft.spec, "elastic.minReplicas"), number(draft.spec, "elastic.maxReplicas")
    return low is None or (low >= 1 and (high is None or low <= high))


def _in_range(draft: Draft) -> bool:
    low, high = number(draft.spec, "elastic.minReplicas"), number(draft.spec, "elastic.maxReplicas")
    wish = number(draft.spec, "elastic.expectedReplicas")
    return wish is None or low is None or high is None or low <= wish <= high


def elastic_rules(required: str, ordered: str, in_range: str, kept: str) -> tuple[Rule, ...]:
    """The rules of `spec.elastic` under the kind's own ids."""
    return (
        claim(
            required,
            "spec.elastic: minReplicas and maxReplicas are required",
            _required,
            says="enabled elastic training has `minReplicas` and `maxReplicas`",
            cel="!has(self.elastic) || !on(self.elastic) || "
            "(has(self.elastic.minReplicas) && has(self.elastic.maxReplicas))",
            source=_SOURCE,
        ),
        claim(
            ordered,
            "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas",
            _ordered,
            says="1 ≤ `minReplicas` ≤ `maxReplicas`",
            cel="!has(self.elastic) || !has(self.elastic.minReplicas) || (self.elastic.minReplicas >= 1 && "
            "(!has(self.elastic.maxReplicas) || self.elastic.minReplicas <= self.elastic.maxReplicas))",
            source=_SOURCE,
        ),
        claim(
            in_range,
            "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas",
            _in_range,
            says="`minReplicas` ≤ `expectedReplicas` ≤ `maxReplicas`",
            cel="!has(self.elastic) || !has(self.elastic.expectedReplicas) || "
            "!has(self.elastic.minReplicas) || !has(self.elastic.maxReplicas) || "
            "(self.elastic.minReplicas <= self.elastic.expectedReplicas && "
            "self.elastic.expectedReplicas <= self.elastic.maxReplicas)",
            source=_SOURCE,
        ),
        fixed("elastic.minReplicas", id_=kept),
        fixed("elastic.maxReplicas", id_=kept),
        fixed_switch("elastic", id_=kept),
    )


def scale_ignored(
    is_elastic: Callable[[Mapping[str, Any]], bool], replicas: Callable[[Mapping[str, Any]], int]
) -> Rule:
    """G21: a wish for another number of replicas of a job whose number, `replicas`, is fixed. Source: spec R2."""
    said = "spec.elastic is not enabled: the number of replicas stays %s"

    def check(draft: Draft) -> Iterator[Notice]:
        if draft.old is not None and not is_elastic(draft.spec) and _wish(draft.spec) != _wish(draft.old):
            yield Notice(SCALE_IGNORED, said % replicas(draft.spec))

    return Rule(
        "G21",
        Layer.WARNING,
        says="`elastic.expectedReplicas` changes only while `elastic` is enabled",
        text=said % "<n>",
        check=check,
        source="spec R2, G21",
    )


def _wish(spec: Mapping[str, Any]) -> int | None:
    wish = number(spec, "elastic.expectedReplicas")
    return number(spec, "elastic.minReplicas") if wish is None else wish


def distributed(expected: int, shares: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """How many replicas each type has when `expected` are wished for; in the order of `shares`.

    A share is a type's (weight, fixed number): with weight 0 the number stays, all others get one each and
    then split the rest by weight, left-overs going to the largest remainders, ties to the earlier type.
    Source: pytorchtrainingjob.md, section 5.
    """
    total = sum(weight for weight, _ in shares)
    rest = expected - sum(1 if weight else number for weight, number in shares)
    scales = [1 + rest * weight // total if weight else number for weight, number in shares]
    by_remainder = sorted(
        (index for index, (weight, _) in enumerate(shares) if weight),
        key=lambda index: -(rest * shares[index][0] % total),
    )
    for index in by_remainder[: expected - sum(scales)]:
        scales[index] += 1
    return tuple(scales)
