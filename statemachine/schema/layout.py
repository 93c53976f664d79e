"""Where a kind keeps its pod templates, and which container of a pod trains."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statemachine.errors import InvariantBroken
from statemachine.schema.lookup import entries, items, number, text


@dataclass(frozen=True, slots=True)
class Slot:
    """A pod template in a spec: replica type, path of the template's `spec`, the template."""

    type: str
    path: str
    template: Mapping[str, Any]

    @property
    def containers(self) -> tuple[tuple[int, Mapping[str, Any]], ...]:
        """The containers with their indexes; what is not an object is left out."""
        return tuple(items(self.template, "spec.containers"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations of the pods to be."""
        return entries(self.template, "metadata.annotations")


Container = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """How to find one's way in the specs of a kind; every function copes with broken specs.

    `slots`: all pod templates in field order. `training_names`: names of the training container, best first;
    with none of them it is the first. `generated_env`: names of the environment variables that the kind sets.
    `new_training`: name of the training container of a template that has none yet; by default the last of the names.
    """

    slots: Callable[[Mapping[str, Any]], Iterator[Slot]]
    training_names: tuple[str, ...]
    generated_env: Callable[[Mapping[str, Any]], tuple[str, ...]]
    new_training: str = ""

    @property
    def new_name(self) -> str:
        """Name of the training container of a template that has none yet."""
        return self.new_training or (self.training_names[-1] if self.training_names else "main")

    def training(self, slot: Slot) -> tuple[int, Container] | None:
        """Index and container that trains; None if the template has no containers."""
        by_name = {
            text(container, "name"): (index, container) for index, container in reversed(slot.containers)
        }
        named = (by_name[name] for name in self.training_names if name in by_name)
        return next(named, slot.containers[0] if slot.containers else None)

    def admitted_training(self, slot: Slot) -> tuple[int, Container]:
        """Index and container that trains, of a template that was admitted: G5 sees to it that there is one."""
        training = self.training(slot)
        if training is None:
            raise InvariantBroken(f"{slot.path} has no container")
        return training

    def port(self, slot: Slot | None, names: Sequence[str]) -> int | None:
        """The port that the training container declares under one of these names, the best first."""
        training = self.training(slot) if slot else None
        declared = [
            number(port, "containerPort")
            for name in names
            for _, port in items(training[1] if training else None, "ports")
            if text(port, "name") == name
        ]
        return next((port for port in declared if port), None)
