"""What fields are called, what they are for, and what is offered for them: as the kind says, else as we do.

A field of which neither says anything is shown all the same, under the name that it has in manifests.
"""

import re
from collections.abc import Sequence
from typing import Final

from jobledger.console.words import LANGUAGES, Language, knows, say
from statemachine.schema.form import VOLUME_CLAIMS, ChoiceSource, SpecForm
from statemachine.schema.tables import FieldShape

CLAIMS: Final = "claims"
QUEUES: Final = "queues"
CONFIG_MAPS: Final = "config-maps"
KEYS: Final = "keys-"
"""In front of a ConfigMap's name: its keys."""

OFFERED: Final = {VOLUME_CLAIMS: CLAIMS}
"""Objects whose names are offered, under a name of ours; others go by their plural."""

_INDEX: Final = re.compile(r"\[[0-9]+\]")


def is_old(shape: FieldShape) -> bool:
    """The field is of an older form of the spec: read, but not asked for."""
    return bool(shape.ignored or shape.moved)


def label(language: Language, path: str, form: SpecForm) -> str:
    """The name of a field: the kind's, ours, else the manifest's as words."""
    name = re.split(r"[.~]", _INDEX.sub("", path))[-1]
    plain = _INDEX.sub("[]", path)
    for key in (plain, name):
        if key in form.labels:
            return form.labels[key][LANGUAGES.index(language)]
    for key in (f"field.{plain}", f"field.{name}"):
        if knows(key):
            return say(language, key)
    return humanized(name)


def explained(language: Language, description: str, form: SpecForm) -> str:
    """What a field is for: the model says it in English, and the kind in Chinese."""
    return form.chinese.get(description, description) if language == "zh" else description


def choices_of(resource: ChoiceSource) -> str:
    """The name of the choices among objects of this kind."""
    return OFFERED.get(resource, resource.plural)


def offered(path: str, form: SpecForm) -> str:
    """Which choices there are for a field; empty if there are none."""
    resource = form.choices.get(_INDEX.sub("[]", path))
    return choices_of(resource) if resource else ""


def humanized(name: str) -> str:
    """`procPerNode` as `Proc per node`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return words[:1].upper() + words[1:]


def ordered(path: str, names: Sequence[str], form: SpecForm) -> list[str]:
    """The fields of the object at `path` in the order in which they are shown."""
    if path != "spec":
        return list(names)
    return sorted(names, key=lambda name: form.order.index(name if name in form.order else ""))
