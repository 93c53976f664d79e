"""Rules about `elasticPolicy` of a PyTorchJob: K9-K11, K14, K16, and its part of K15.

Source: kubeflow-pytorchjob.md, section 2.
"""

import re
from collections.abc import Iterator
from typing import Final

from statemachine.errors import Problem
from statemachine.kinds.common.rule_builders import bounded, claim
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import find, items, number, text
from statemachine.schema.problems import shown

_SOURCE: Final = "kubeflow-pytorchjob.md, section 2"
_TYPES: Final = "pytorchReplicaSpecs"

WORKERS = claim(
    "K9",
    f"spec.{_TYPES}[Worker]: Required value: must be configured if elastic policy is used",
    lambda draft: (
        find(draft.spec, "elasticPolicy") is None or find(draft.spec, f"{_TYPES}.Worker") is not None
    ),
    says="an elastic job has Workers",
    cel=f"!has(self.elasticPolicy) || self.{_TYPES}.exists(k, k.lowerAscii() == 'worker')",
    source=_SOURCE,
)

ONE_NUMBER_OF_PROCESSES = claim(
    "K10",
    "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode",
    lambda draft: (
        find(draft.spec, "elasticPolicy.nProcPerNode") is None or find(draft.spec, "nprocPerNode") is None
    ),
    says="`nprocPerNode` stands in one place",
    cel="!has(self.elasticPolicy) || !has(self.elasticPolicy.nProcPerNode) || !has(self.nprocPerNode)",
    source=_SOURCE,
)

_OLD_FIELD: Final = "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead"


def _deprecated(draft: Draft) -> Iterator[Notice]:
    if find(draft.spec, "elasticPolicy.nProcPerNode") is not None:
        yield Notice("DeprecatedField", _OLD_FIELD)


OLD_NUMBER_OF_PROCESSES = Rule(
    "K11",
    Layer.WARNING,
    says="`elasticPolicy.nProcPerNode` is not used any more",
    text=_OLD_FIELD,
    check=_deprecated,
    source=_SOURCE,
)


def _is_ordered(draft: Draft) -> bool:
    low = number(draft.spec, "elasticPolicy.minReplicas")
    high = number(draft.spec, "elasticPolicy.maxReplicas")
    return low is None or high is None or low <= high


ORDERED = claim(
    "K14",
    "spec.elasticPolicy.maxReplicas: must not be smaller than minReplicas",
    _is_ordered,
    says="`elasticPolicy.minReplicas` ≤ `elasticPolicy.maxReplicas`",
    cel="!has(self.elasticPolicy) || !has(self.elasticPolicy.minReplicas) || "
    "!has(self.elasticPolicy.maxReplicas) || "
    "self.elasticPolicy.minReplicas <= self.elasticPolicy.maxReplicas",
    source=_SOURCE,
)

FEWEST = bounded(
    "K15", "elasticPolicy.minReplicas", least=1, says="`elasticPolicy.minReplicas` ≥ 1", source=_SOURCE
)


def _mixed_up(draft: Draft) -> Iterator[Problem]:
    for index, option in items(draft.spec, "elasticPolicy.rdzvConf"):
        key, value = text(option, "key"), text(option, "value")
        wrong = next((text for text in (key, value) if re.search(r"[,=\0]", text)), None)
        if not key or wrong is not None:
            sentence = "a key must not be empty" if wrong is None else "must not contain ',', '=' or NUL"
            path = f"spec.elasticPolicy.rdzvConf[{index}]"
            yield Problem("K16", path, f"Invalid value: {shown(wrong or '')}: {sentence}")


OPTIONS = Rule(
    "K16",
    Layer.CONTROLLER,
    says="every entry of `elasticPolicy.rdzvConf` has a key, and neither keys nor values have `,` or `=`: they "
    "become `PET_RDZV_CONF=k=v,…`",
    text='spec.elasticPolicy.rdzvConf[<i>]: Invalid value: "<x>": <what is allowed>',
    check=_mixed_up,
    source=_SOURCE,
)
