"""The older form of kinds with a launcher, a list `replicaSpecs` with the two types, on its way into the present one.

Source: colossalaijob.md and mpijob.md, section 1, "Older form".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from statemachine.kinds.common.canonical import Rewritten, deprecated
from statemachine.kinds.common.rule_builders import claim
from statemachine.kinds.t9k.launcher import LAUNCHER, TYPES
from statemachine.kinds.t9k.parts import TypeRef
from statemachine.kinds.t9k.workers import WORKER
from statemachine.rulebook import Notice
from statemachine.schema.fields import PodTemplate, SpecPart, replica_count
from statemachine.schema.lookup import entries, items, text

Listed = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Path and item of each type in `replicaSpecs`."""


class OldReplicaSpec(SpecPart):
    """The launcher, or the workers, in the older form."""

    type: TypeRef = Field(description="launcher or worker.")
    replicas: Annotated[int, replica_count(1)] = Field(
        1, description="Number of workers; there is one launcher."
    )
    template: PodTemplate | None = Field(None, description="Pod template.")


OLD_LIST = claim(
    "G17",
    "spec.replicaSpecs is immutable",
    lambda draft: draft.old is None or draft.old.get("replicaSpecs") == draft.spec.get("replicaSpecs"),
    says="`replicaSpecs` of the older form keeps its types and numbers",
    cel="has(self.replicaSpecs) == has(oldSelf.replicaSpecs) && (!has(self.replicaSpecs) || "
    "(size(self.replicaSpecs) == size(oldSelf.replicaSpecs) && [0, 1].all(i, i >= size(self.replicaSpecs) || "
    "(self.replicaSpecs[i].type == oldSelf.replicaSpecs[i].type && "
    "self.replicaSpecs[i].?replicas.orValue(1) == oldSelf.replicaSpecs[i].?replicas.orValue(1)))))",
    source="spec R2, G17",
)


@dataclass(slots=True)
class Move:
    """A spec on its way into the present form, and what there is to be said of it."""

    spec: dict[str, Any] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def take(self, path: str, value: Any, was: str) -> None:
        """`value` is the field at `path`, and was written at the path `was`."""
        if value is not None:
            *above, name = path.split(".")
            part = self.spec
            for step in above:
                part = part.setdefault(step, {})
            part[name] = value
            self.renamed[f"spec.{path}"] = was

    def take_fields(self, at: str, old: Mapping[str, Any], to: Mapping[str, str]) -> None:
        """Fields of the object `old`, which is at the path `at`, go where `to` says; each of them is reported."""
        for name, path in to.items():
            if old.get(name) is not None:
                self.notices.append(deprecated(f"{at}.{name}", f"spec.{path}"))
            self.take(path, old.get(name), f"{at}.{name}")
        self.ignore(at, (name for name in old if name not in to))

    def ignore(self, path: str, names: Iterable[str]) -> None:
        """Nothing comes of these fields of the object at `path`."""
        self.notices += [Notice("ConfigIgnored", f"{path}.{name} is ignored") for name in names]

    def take_workers(self, path: str, item: Mapping[str, Any]) -> None:
        """Number and template of the workers, which are the entry at `path`."""
        self.notices.append(deprecated(path, f"spec.{WORKER}"))
        for name in ("replicas", "template"):
            self.take(f"{WORKER}.{name}", item.get(name), f"{path}.{name}")
        self.ignore(path, (name for name in item if name not in _FIELDS))

    def take_launcher(self, path: str, item: Mapping[str, Any], kept: Sequence[str]) -> None:
        """Of the launcher's template only the `kept` fields of one container have a place in the present form."""
        self.notices.append(deprecated(f"{path}.template", f"spec.{LAUNCHER}"))
        containers = list(items(item, "template.spec.containers"))
        named = [container for container in containers if text(container[1], "name") == LAUNCHER]
        chosen = next(iter(named or containers), None)
        if chosen is not None:
            at = f"{path}.template.spec.containers[{chosen[0]}]"
            for name in kept:
                self.take(f"{LAUNCHER}.{name}", chosen[1].get(name), f"{at}.{name}")
            self.ignore(at, (name for name in chosen[1] if name not in ("name", *kept)))
        self.ignore(path, (name for name in item if name not in _FIELDS))
        template = f"{path}.template"
        self.ignore(template, (name for name in entries(item, "template") if name != "spec"))
        pod = f"{template}.spec"
        self.ignore(pod, (name for name in entries(item, "template.spec") if name != "containers"))
        self.ignore(pod, (f"containers[{at}]" for at, _ in containers if chosen is None or at != chosen[0]))

    def rewritten(self, rest: Mapping[str, Any]) -> Rewritten:
        """What has become of the spec; `rest` are the fields that both forms have."""
        return Rewritten({**rest, **self.spec}, tuple(self.notices), self.renamed)


_FIELDS = ("type", "replicas", "template")


def listed_types(raw: Mapping[str, Any]) -> Listed | None:
    """The entries of `replicaSpecs` by type; None if that is no list of the two types, each of them once."""
    listed = raw.get("replicaSpecs")
    by_type = dict(_entries(raw))
    whole = isinstance(listed, list) and len(listed) == len(by_type)
    return by_type if whole and {*by_type} <= {*TYPES} else None


def _entries(raw: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    for at, item in items(raw, "replicaSpecs"):
        yield text(item, "type"), (f"spec.replicaSpecs[{at}]", item)
