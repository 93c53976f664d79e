"""What the overview says of a job beside its status. Pure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from projectors.history.phrases import queue_words
from projectors.phrases import Language, in_words
from statemachine.kind import Kind, Placement
from statemachine.schema.lookup import find
from statemachine.spec import Plan
from statemachine.state import ChildState, JobState


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """A container of a pod: what it starts, and what it may use."""

    name: str
    image: str
    command: str
    cpu: tuple[str, str]
    memory: tuple[str, str]
    others: tuple[str, ...]


def containers(pod: Mapping[str, Any]) -> Sequence[ContainerRow]:
    """The main containers of a pod's manifest."""
    spec = pod.get("spec") or {}
    return [_container(container) for container in spec.get("containers") or ()]


def _container(raw: Mapping[str, Any]) -> ContainerRow:
    resources = raw.get("resources") or {}
    asked, allowed = resources.get("requests") or {}, resources.get("limits") or {}
    others = sorted({*asked, *allowed} - {"cpu", "memory"})
    command = [*map(str, raw.get("command") or ()), *map(str, raw.get("args") or ())]
    return ContainerRow(
        name=str(raw.get("name", "")),
        image=str(raw.get("image", "")),
        command=shlex.join(command),
        cpu=(str(asked.get("cpu", "")), str(allowed.get("cpu", ""))),
        memory=(str(asked.get("memory", "")), str(allowed.get("memory", ""))),
        others=tuple(f"{name} {allowed.get(name, asked.get(name))}" for name in others),
    )


def claims(spec: Mapping[str, Any]) -> Sequence[str]:
    """The persistent volume claims that the spec names anywhere, in order of their names."""
    return sorted(set(_claims(spec)))


def _claims(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        name = find(value, "persistentVolumeClaim.claimName")
        if isinstance(name, str):
            yield name
        for inner in value.values():
            yield from _claims(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _claims(inner)


def modes(kind: Kind, spec: Mapping[str, Any], plan: Plan | None) -> Sequence[str]:
    """The run modes that are on: `plan` knows of a pause, whatever the kind calls it."""
    on = {"debug": kind.debugs(spec), "pause": plan is not None and plan.paused}
    return [mode for mode, is_on in on.items() if is_on]


def importance(placed: Placement) -> str:
    """How important the pods are where they wait; empty: nothing is said."""
    return str(placed.priority) if placed.scheduler != Placement().scheduler else placed.priority_class


def group_phase(known: ChildState | None, group: Mapping[str, Any] | None) -> str:
    """The phase of the job's gang; empty if it has none. The log knows those that pods wait for."""
    if known:
        return known.facts.get("phase") or "Pending"
    return "" if group is None else str((group.get("status") or {}).get("phase") or "Pending")


def queue_of(state: JobState | None, language: Language) -> tuple[str, str]:
    """How the job stands in a queue of Kueue's, and Kueue's words for it; empty without a Workload."""
    if state is None or state.queue is None:
        return "", ""
    return in_words(queue_words(state.queue), language), state.queue.message


def address_of(linked: Mapping[str, Any]) -> str:
    """Where an object says that it answers; empty if it says nothing that a browser should follow."""
    status = linked.get("status") or {}
    for name in ("url", "address", "endpoint"):
        said = status.get(name)
        if isinstance(said, str) and said.lower().startswith(("http://", "https://")):
            return said
        if isinstance(said, str) and said.startswith("/") and not said.startswith(("//", "/\\")):
            return said
    return ""
