"""What is decided by hand about forms: names of well-known fields in both languages, order, what is folded.

A field that is not named here is shown all the same, in the model's order, under the name that it has in manifests.
"""

import re
from collections.abc import Sequence
from typing import Final

from jobledger.console.vocabulary.hints import HINTS
from jobledger.console.words import Language, knows, say
from statemachine.schema.tables import FieldShape

_ORDER: Final = (
    "torchrunConfig",
    "config",
    "",
    "elastic",
    "runPolicy",
    "scheduler",
    "tensorboardSpec",
    "runMode",
)
"""Order of the parts of `spec`; what is not named stands at the empty name, in the model's order."""

USUAL: Final = ("config", "launcher", "worker")
"""Parts of `spec` that a job may lack, but hardly any does: a new form has them."""

OPEN: Final = frozenset({"spec.replicaSpecs", "spec.torchrunConfig", *(f"spec.{name}" for name in USUAL)})
"""Groups that are not folded to begin with."""

NO_SWITCH: Final = frozenset({"spec.runMode.pause"})
"""Parts with `enabled` whose other fields matter also while that is off."""

CLAIMS: Final = "claims"
QUEUES: Final = "queues"
CONFIG_MAPS: Final = "config-maps"
KEYS: Final = "keys-"
"""In front of a ConfigMap's name: its keys."""

_OFFERED: Final = {
    "spec.scheduler.t9kScheduler.queue": QUEUES,
    "spec.tensorboardSpec.logDir.pvc[].name": CLAIMS,
}
"""Fields whose values are names of objects in the namespace."""

_INDEX: Final = re.compile(r"\[[0-9]+\]")


def is_old(shape: FieldShape) -> bool:
    """The field is of an older form of the spec: read, but not asked for."""
    return bool(shape.ignored or shape.moved)


def label(language: Language, path: str) -> str:
    """The name of a field: ours, else the manifest's as words."""
    name = re.split(r"[.~]", _INDEX.sub("", path))[-1]
    plain = _INDEX.sub("[]", path)
    for key in (f"field.{plain}", f"field.{name}"):
        if knows(key):
            return say(language, key)
    return humanized(name)


def explained(language: Language, description: str) -> str:
    """What a field is for: the model says it in English."""
    return HINTS.get(description, description) if language == "zh" else description


def offered(path: str) -> str:
    """Which choices there are for a field; empty if there are none."""
    plain = _INDEX.sub("[]", path)
    return CLAIMS if plain.endswith("~volumes[].claim") else _OFFERED.get(plain, "")


def humanized(name: str) -> str:
    """`procPerNode` as `Proc per node`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return words[:1].upper() + words[1:]


def ordered(path: str, names: Sequence[str]) -> list[str]:
    """The fields of the object at `path` in the order in which they are shown."""
    if path != "spec":
        return list(names)
    return sorted(names, key=lambda name: _ORDER.index(name if name in _ORDER else ""))
