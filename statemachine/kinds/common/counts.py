"""How many replicas a job may have: rule G19, for every kind. Source: spec R2, G19.

The CRD has the bound of each number, the models have not: they read jobs that were admitted without it. The rule
about a single number comes last in a list of rules: where there is no API server, the last one of an id says in which
layer its problems are.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from statemachine.errors import Problem
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.fields import MOST_REPLICAS
from statemachine.schema.lookup import number
from statemachine.schema.problems import GENERIC

Numbers = Callable[[Mapping[str, Any]], Iterator[tuple[str, int]]]
"""Paths and values of the numbers in a spec that may be as many replicas."""


def numbers_at(*paths: str) -> Numbers:
    """The numbers at fixed paths of a spec."""

    def numbers(spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        for path in paths:
            value = number(spec, path)
            if value is not None:
                yield f"spec.{path}", value

    return numbers


def most_replicas(numbers: Numbers, *fields: str) -> Rule:
    """No number of replicas is above the bound; `fields` are the patterns of their paths."""

    def check(draft: Draft) -> Iterator[Problem]:
        for path, value in numbers(draft.spec):
            if value > MOST_REPLICAS:
                sentence = f"Invalid value: {value}: must be less than or equal to {MOST_REPLICAS}"
                yield Problem("G19", path, sentence)

    return Rule(
        "G19",
        Layer.SCHEMA,
        says=f"no number of replicas is above {MOST_REPLICAS}",
        text=GENERIC,
        check=check,
        fields=fields,
        source="spec R2, G19",
    )


def most_in_all(numbers: Numbers, path: str) -> Rule:
    """The types of a job have no more replicas together, each having no more by itself."""

    def check(draft: Draft) -> Iterator[Problem]:
        values = [value for _, value in numbers(draft.spec)]
        if sum(values) > MOST_REPLICAS >= max(values, default=0):
            yield Problem("G19", path, f"Invalid value: {sum(values)}: {_IN_ALL}")

    return Rule(
        "G19",
        Layer.CONTROLLER,
        says=f"all types together have at most {MOST_REPLICAS} replicas",
        text=f"{path}: Invalid value: <n>: {_IN_ALL}",
        check=check,
        source="spec R2, G19",
    )


_IN_ALL = f"a job has at most {MOST_REPLICAS} replicas"
