"""Which PyTorchJobs are accepted: K1-K17, and that no replica type comes or goes.

KX1 to KX3 are beside the operator's own checks: the first says what it does, the others are ours. Texts are those of
the Kubeflow operator, whose webhook checks most of this.

Source: kubeflow-pytorchjob.md, section 2.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.kinds.common.counts import most_in_all, most_replicas, numbers_at
from statemachine.kinds.common.names import cel_fits, digits, name_length
from statemachine.kinds.common.rule_builders import bounds, claim
from statemachine.kinds.pytorchjob import elastic
from statemachine.kinds.pytorchjob.replica_types import KEYS
from statemachine.kinds.pytorchjob.template_rules import (
    CONTAINERS,
    CONTENTS,
    ENVIRONMENT,
    IMAGES,
    RESTART_POLICY,
    STRANGERS,
    TRAINING,
)
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.lookup import entries, find, number, text

_SOURCE: Final = "kubeflow-pytorchjob.md, section 2"
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_TYPES: Final = "pytorchReplicaSpecs"
_LOWER: Final = "['master', 'worker']"

_NAME = claim(
    "K1",
    "metadata.name: should match: a DNS-1035 label",
    lambda draft: _DNS_1035.fullmatch(draft.name) is not None,
    says="the job's name is a DNS-1035 label: Services are named after it",
    cel="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    cel_at="",
    source=_SOURCE,
)


_ENDS: Final = ("elasticPolicy.minReplicas", "elasticPolicy.maxReplicas")


def _replicas_of_types(spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Path and number for each type that there is; who does not say it has one."""
    for key in KEYS.values():
        if find(spec, f"{_TYPES}.{key}") is not None:
            path = f"{_TYPES}.{key}.replicas"
            value = number(spec, path)
            yield f"spec.{path}", 1 if value is None else value


def _all_counts(spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield from _replicas_of_types(spec)
    yield from numbers_at(*_ENDS)(spec)


def _most(spec: Mapping[str, Any]) -> int:
    """As many replicas as a type has, or as an autoscaler may give it."""
    counts = (*_replicas_of_types(spec), *numbers_at("elasticPolicy.maxReplicas")(spec))
    return max((value for _, value in counts), default=1)


_NAME_LENGTH = name_length(
    "K1",
    lambda spec: len("-worker-") + digits(_most(spec)),
    says="`<job>-worker-<index>` has at most 63 characters, for every index that there is, or may be up to "
    "`elasticPolicy.maxReplicas`",
    cel=f"self.spec.{_TYPES}.all(k, "
    + cel_fits(8, f"has(self.spec.{_TYPES}[k].replicas) ? self.spec.{_TYPES}[k].replicas : 1")
    + ") && "
    + cel_fits(
        8,
        "has(self.spec.elasticPolicy) && has(self.spec.elasticPolicy.maxReplicas) ? "
        "self.spec.elasticPolicy.maxReplicas : 1",
    ),
    source=_SOURCE,
)

_SOME_TYPE = claim(
    "K2",
    f"spec.{_TYPES}: Required value: must be required",
    lambda draft: find(draft.spec, _TYPES) != {},
    says="there is a Master or a Worker",
    cel=f"size(self.{_TYPES}) > 0",
    source=_SOURCE,
)


def _strange_types(draft: Draft) -> Iterator[Problem]:
    for key in entries(draft.spec, _TYPES):
        if key not in KEYS.values():
            sentence = f'Unsupported value: "{key}": supported values: "Master", "Worker"'
            yield Problem("K3", f"spec.{_TYPES}[{key}]", sentence)


_IS_STRANGE: Final = (
    f"!(k.lowerAscii() in {_LOWER}) || (!(k in ['Master', 'Worker']) && "
    f"self.{_TYPES}.exists(other, other != k && other.lowerAscii() == k.lowerAscii()))"
)

_MOST = most_replicas(_all_counts, f"spec.{_TYPES}[*].replicas", *(f"spec.{path}" for path in _ENDS))

_KNOWN_TYPES = Rule(
    "K3",
    Layer.CEL,
    says="every key of `pytorchReplicaSpecs` is Master or Worker, in any case, and none is there twice",
    text=f'spec.{_TYPES}[<k>]: Unsupported value: "<k>": supported values: "Master", "Worker"',
    check=_strange_types,
    cel=f"self.{_TYPES}.all(k, !({_IS_STRANGE}))",
    cel_message=f"self.{_TYPES}.filter(k, {_IS_STRANGE}).map(k, 'spec.{_TYPES}[' + k + ']: Unsupported value: "
    '"\' + k + \'": supported values: "Master", "Worker"\')[0]',
    source=_SOURCE,
)


def _replicas(id_: str, key: str, sentence: str, good: Callable[[int], bool], *, says: str, cel: str) -> Rule:
    """A rule about the number of replicas of one type; who does not say it has one."""

    def holds(draft: Draft) -> bool:
        value = number(draft.spec, f"{_TYPES}.{key}.replicas")
        return value is None or good(value)

    value = f"self.{_TYPES}[k].replicas"
    return claim(
        id_,
        f"spec.{_TYPES}[{key}].replicas: {sentence}",
        holds,
        says=says,
        cel=f"self.{_TYPES}.all(k, k.lowerAscii() != '{key.lower()}' || !has({value}) || {value} {cel})",
        source=_SOURCE,
    )


_ONE_MASTER = _replicas(
    "K7",
    "Master",
    "Forbidden: must be 1",
    lambda value: value == 1,
    says="there is one Master, if any",
    cel="== 1",
)

_SOME_WORKER = _replicas(
    "K8",
    "Worker",
    "Forbidden: must be at least 1",
    lambda value: value >= 1,
    says="there is at least one Worker, if any",
    cel=">= 1",
)

_MANAGERS = bounds(
    "K12",
    "spec.runPolicy.managedBy",
    says="`runPolicy.managedBy` is kubeflow.org/training-operator or kueue.x-k8s.io/multikueue, if anything",
    source=_SOURCE,
)


def _kept(path: str, sentence: str, default: str) -> Rule:
    """`spec.<path>` does not change; absent means `default`."""

    def value(spec: Mapping[str, Any]) -> str:
        return text(spec, path) or default

    steps = path.split(".")

    def cel(of: str) -> str:
        there = " && ".join(f"has({of}.{'.'.join(steps[: end + 1])})" for end in range(len(steps)))
        return f"({there} ? {of}.{path} : '{default}')"

    return claim(
        "K13",
        sentence,
        lambda draft: draft.old is None or value(draft.old) == value(draft.spec),
        says=f"`{path}` does not change",
        cel=f"{cel('self')} == {cel('oldSelf')}",
        source=_SOURCE,
    )


_SAME_MANAGER = _kept("runPolicy.managedBy", "spec.runPolicy.managedBy: field is immutable", "")

_SAME_QUEUE = _kept(
    "runPolicy.schedulingPolicy.queue", "spec.runPolicy.schedulingPolicy.queue is immutable", "default"
)


_BOUNDS = bounds(
    "K15",
    "spec.runPolicy.activeDeadlineSeconds",
    "spec.runPolicy.backoffLimit",
    "spec.runPolicy.ttlSecondsAfterFinished",
    "spec.runPolicy.schedulingPolicy.minAvailable",
    "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds",
    *(
        f"spec.elasticPolicy.{name}"
        for name in ("minReplicas", "maxReplicas", "maxRestarts", "nProcPerNode", "rdzvPort")
    ),
    says="`activeDeadlineSeconds` ≥ 1, all other numbers ≥ 0",
    source=_SOURCE,
)

_SAME_TYPES = claim(
    "KX2",
    f"spec.{_TYPES}: Forbidden: replica types cannot be added or taken away",
    lambda draft: (
        draft.old is None or entries(draft.old, _TYPES).keys() == entries(draft.spec, _TYPES).keys()
    ),
    says="no replica type is added or taken away: those who live know how many there are",
    cel=f"size(self.{_TYPES}) == size(oldSelf.{_TYPES}) && self.{_TYPES}.all(k, "
    f"oldSelf.{_TYPES}.exists(old, old.lowerAscii() == k.lowerAscii()))",
    source=f"{_SOURCE}; our own",
)

RULES: tuple[Rule, ...] = (
    _NAME,
    _NAME_LENGTH,
    _SOME_TYPE,
    _KNOWN_TYPES,
    CONTAINERS,
    IMAGES,
    CONTENTS,
    most_in_all(_replicas_of_types, f"spec.{_TYPES}"),
    _MOST,
    TRAINING,
    _ONE_MASTER,
    _SOME_WORKER,
    elastic.WORKERS,
    elastic.ONE_NUMBER_OF_PROCESSES,
    elastic.OLD_NUMBER_OF_PROCESSES,
    _MANAGERS,
    _SAME_MANAGER,
    _SAME_QUEUE,
    elastic.ORDERED,
    _BOUNDS,
    elastic.FEWEST,
    elastic.OPTIONS,
    ENVIRONMENT,
    RESTART_POLICY,
    STRANGERS,
    _SAME_TYPES,
)
"""In the order of the spec."""
