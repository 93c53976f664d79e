"""Validation rules as data: id, layer, condition, exact text (spec R2).

Everything about a rule comes from its one `Rule`: the CEL in the CRD, the sentence a user reads, the table in
`docs/kinds/`, and the check that a test names it. The Python `check` says the same as the CEL; it serves
`jobledger validate`, the local cluster's admission and `decide`, which trusts no admission to have happened.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from statemachine.errors import Problem


class Layer(StrEnum):
    """Where a rule is checked, and so what breaking it means. Source: spec R2."""

    SCHEMA = "S"
    """By the CRD's structural schema: the request is refused (422)."""
    CEL = "C"
    """By `x-kubernetes-validations` in the CRD: the request is refused (422) with our text."""
    CONTROLLER = "V"
    """By the controller: the job is stored and fails with `InvalidSpec`; an update is ignored."""
    WARNING = "W"
    """Never refused: a Warning event."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A manifest under examination: canonical `spec` (aliases rewritten), `old` the one before it if any."""

    name: str
    spec: Mapping[str, Any]
    old: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning to the user: becomes an event of this `reason`."""

    reason: str
    message: str


UNKNOWN_FIELD = "UnknownField"
"""Reason of the notice that a field of a manifest is none of its kind's."""

SCALE_IGNORED = "ScaleIgnored"
"""Reason of the notice that a job is not scaled: who offers to scale jobs refuses with its message (spec G21)."""

Check = Callable[[Draft], Iterator[Problem | Notice]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the spec.

    `says`: what must hold, one sentence for the documentation. `text`: the exact error text, parts that vary
    in angle brackets. `cel`: the expression for layer C, evaluated at `cel_at` ("" is the root, "spec" the
    spec); `cel_message`: an expression that gives the text where it varies (`messageExpression`). `fields`:
    for layer S, patterns of the field paths it speaks of (`spec.replicaSpecs[*].type`), by which a schema
    error is given its rule id. `check` yields the problems (or notices, layer W) of a draft; None for layer
    S, which the kind's model enforces.
    """

    id: str
    layer: Layer
    says: str
    text: str
    check: Check | None = None
    cel: str = ""
    cel_at: str = "spec"
    cel_message: str = ""
    fields: tuple[str, ...] = ()
    source: str = ""
