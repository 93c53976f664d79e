"""How forms show specs of a kind, and what its fields are called and are for in other languages: all of it optional.

What is not said here is read off the model: every field is shown, under the name that it has in manifests, in the
model's order, and explained in English.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple


class ChoiceSource(NamedTuple):
    """A kind of objects, as Kubernetes calls it."""

    group: str
    version: str
    kind: str
    plural: str

    @property
    def api_version(self) -> str:
        """Group and version, as manifests have them."""
        return f"{self.group}/{self.version}" if self.group else self.version


VOLUME_CLAIMS: Final = ChoiceSource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")

FieldLabels = Mapping[str, tuple[str, str]]
"""Path of a field (`[]` for any index), or its name in any place → what it is called, in English and Chinese."""


def as_written(spec: dict[str, Any]) -> dict[str, Any]:
    """A form adds nothing to what was typed."""
    return spec


@dataclass(frozen=True, slots=True)
class SpecForm:
    """The form of a kind; paths begin with `spec`.

    `order` names parts of the spec in the order in which they are shown; the others stand at the empty name. `usual`
    parts may be absent, but hardly ever are: a new form has them. `unfolded` groups are open to begin with. Parts
    `without_switch` have `enabled`, and other fields that matter also while that is off. `scheduler` is the part that
    is about a scheduler which an installation may lack, and then does not ask for.

    `needs`: path of a group → the switch of another, while which is off it is hidden. `choices`: path of a field →
    the objects by whose names its values are. `chinese`: sentence of the model → the same in Chinese. `completed`:
    what a form that is sent off adds to the spec.
    """

    order: tuple[str, ...] = ("",)
    usual: tuple[str, ...] = ()
    unfolded: frozenset[str] = frozenset()
    without_switch: frozenset[str] = frozenset()
    scheduler: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, ChoiceSource] = field(default_factory=dict)
    labels: FieldLabels = field(default_factory=dict)
    chinese: Mapping[str, str] = field(default_factory=dict)
    completed: Callable[[dict[str, Any]], dict[str, Any]] = as_written
