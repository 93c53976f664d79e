"""The older form of a ColossalAIJob, `torchConfig` and `replicaSpecs`, as the present one.

Source: colossalaijob.md, section 1, "Older form".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from statemachine.kinds.common.canonical import Rewritten, deprecated
from statemachine.kinds.t9k.launcher import LAUNCHER, TYPES, WORKER
from statemachine.rulebook import Notice
from statemachine.schema.lookup import entries, items, text

OLD: Final = ("torchConfig", "replicaSpecs")

_FROM_TORCH_CONFIG: Final = {"procPerWorker": "procPerWorker", "script": "command", "torchArgs": "torchArgs"}
_FROM_CONTAINER: Final = ("image", "workingDir", "env", "resources")


@dataclass(slots=True)
class _Move:
    """A spec on its way into the present form, and what there is to be said of it."""

    parts: dict[str, dict[str, Any]] = field(default_factory=lambda: {LAUNCHER: {}, WORKER: {}})
    notices: list[Notice] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def take(self, part: str, name: str, value: Any, was: str) -> None:
        """`value` is the field `name` of launcher or worker, and was written at the path `was`."""
        if value is not None:
            self.parts[part][name] = value
            self.renamed[f"spec.{part}.{name}"] = was

    def ignore(self, path: str, names: Iterator[str]) -> None:
        """Nothing comes of these fields of the object at `path`."""
        self.notices += [Notice("ConfigIgnored", f"{path}.{name} is ignored") for name in names]


def modern(raw: Mapping[str, Any]) -> Rewritten:
    """The spec in its present form. One that mixes the forms, or lacks half of one, is left to CA1."""
    by_type = _by_type(raw)
    if by_type is None:
        return Rewritten(raw)
    move = _Move()
    _torch_config(move, raw["torchConfig"])
    _workers(move, *by_type[WORKER])
    _launcher(move, *by_type[LAUNCHER])
    rest = {name: value for name, value in raw.items() if name not in OLD}
    return Rewritten({**rest, **move.parts}, tuple(move.notices), move.renamed)


def _by_type(raw: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]] | None:
    """Path and item of each type, if this is the older form and says of both how they are."""
    whole = isinstance(raw.get("torchConfig"), Mapping) and isinstance(raw.get("replicaSpecs"), list)
    if not whole or any(raw.get(name) is not None for name in TYPES):
        return None
    listed = [
        (text(item, "type"), f"spec.replicaSpecs[{at}]", item) for at, item in items(raw, "replicaSpecs")
    ]
    if sorted(type_ for type_, *_ in listed) != sorted(TYPES) or len(listed) != len(raw["replicaSpecs"]):
        return None
    return {type_: (path, item) for type_, path, item in listed}


def _torch_config(move: _Move, config: Mapping[str, Any]) -> None:
    path = "spec.torchConfig"
    for old, new in _FROM_TORCH_CONFIG.items():
        if config.get(old) is not None:
            move.notices.append(deprecated(f"{path}.{old}", f"spec.{WORKER}.{new}"))
        move.take(WORKER, new, config.get(old), f"{path}.{old}")
    move.ignore(path, (name for name in config if name not in _FROM_TORCH_CONFIG))


def _workers(move: _Move, path: str, item: Mapping[str, Any]) -> None:
    move.notices.append(deprecated(path, f"spec.{WORKER}"))
    for name in ("replicas", "template"):
        move.take(WORKER, name, item.get(name), f"{path}.{name}")
    move.ignore(path, (name for name in item if name not in ("type", "replicas", "template")))


def _launcher(move: _Move, path: str, item: Mapping[str, Any]) -> None:
    """Of the launcher's template only four fields of one container have a place in the present form."""
    move.notices.append(deprecated(f"{path}.template", f"spec.{LAUNCHER}"))
    containers = list(items(item, "template.spec.containers"))
    named = [container for container in containers if text(container[1], "name") == LAUNCHER]
    chosen = next(iter(named or containers), None)
    if chosen is not None:
        at = f"{path}.template.spec.containers[{chosen[0]}]"
        for name in _FROM_CONTAINER:
            move.take(LAUNCHER, name, chosen[1].get(name), f"{at}.{name}")
        move.ignore(at, (name for name in chosen[1] if name not in ("name", *_FROM_CONTAINER)))
    move.ignore(path, (name for name in item if name not in ("type", "replicas", "template")))
    template = f"{path}.template"
    move.ignore(template, (name for name in entries(item, "template") if name != "spec"))
    pod = f"{template}.spec"
    move.ignore(pod, (name for name in entries(item, "template.spec") if name != "containers"))
    others = (f"containers[{at}]" for at, _ in containers if chosen is None or at != chosen[0])
    move.ignore(pod, others)
