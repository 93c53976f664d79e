"""Rules about the inside of pod templates, which CEL cannot read: G5, G6, G14-G16, G20. Source: spec R2."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from statemachine.errors import Problem
from statemachine.kinds.common.contents import Added, contents
from statemachine.kinds.common.environment import env_overridden
from statemachine.kinds.common.strangers import strange_fields
from statemachine.kinds.common.template import Template
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.layout import Container, Layout, Slot
from statemachine.schema.lookup import entries, find, items, text
from statemachine.schema.problems import parsed, problem, shown
from statemachine.schema.quantities import quantity


def template_rules(layout: Layout, volumes: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """G5, G6, the warnings G14-G16 and GX1, and G20 for every template of a kind, which adds `volumes` to pods."""
    return (
        _containers(layout),
        _resources(layout),
        _restart_policy(layout),
        _shared_memory(layout),
        _env(layout),
        contents(layout, lambda *_: Added(volumes=volumes)),
        strange_fields("GX1", layout),
    )


def named_container(
    id_: str,
    name: str,
    slots: Callable[[Mapping[str, Any]], Iterator[Slot]],
    *,
    says: str,
    at: str,
    source: str,
    also: tuple[str, ...] = (),
) -> Rule:
    """Every template of `slots` has a container of this name; `at` is how the path of their containers is written.

    With a name of `also` it is taken, too.
    """
    sentence = f'a container named "{name}" is required'

    def check(draft: Draft) -> Iterator[Problem]:
        for slot in slots(draft.spec):
            if slot.containers and not any(
                text(container, "name") in (name, *also) for _, container in slot.containers
            ):
                yield Problem(id_, f"{slot.path}.containers", sentence)

    return Rule(id_, Layer.CONTROLLER, says, f"{at}: {sentence}", check=check, source=source)


def _containers(layout: Layout) -> Rule:
    def check(draft: Draft) -> Iterator[Problem]:
        for slot in layout.slots(draft.spec):
            if not find(slot.template, "spec.containers"):
                yield problem("G5", f"{slot.path}.containers: Required value: at least one container")
            else:
                yield from _malformed(slot)
                yield from _same_names(slot)

    return Rule(
        "G5",
        Layer.CONTROLLER,
        says="a template has a container; every container has a name, its own, and an image",
        text="<path>.containers: Required value: at least one container",
        check=check,
        source="spec R2, G5",
    )


def _malformed(slot: Slot) -> Iterator[Problem]:
    """What in the template is not of the type that Kubernetes wants there."""
    _, problems = parsed(Template, slot.template, slot.path.removesuffix(".spec"))
    return (Problem("G5", problem.path, problem.text) for problem in problems)


def _same_names(slot: Slot) -> Iterator[Problem]:
    names: set[str] = set()
    for path, container in _all_containers(slot):
        name = text(container, "name")
        if name and name in names:
            yield Problem("G5", f"{path}.name", f"Duplicate value: {shown(name)}")
        names.add(name)


def _all_containers(slot: Slot) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where in ("containers", "initContainers"):
        for index, container in items(slot.template, f"spec.{where}"):
            yield f"{slot.path}.{where}[{index}]", container


def _resources(layout: Layout) -> Rule:
    def check(draft: Draft) -> Iterator[Problem]:
        for slot in layout.slots(draft.spec):
            for path, container in _all_containers(slot):
                yield from requests_within_limits(f"{path}.resources", container)

    return Rule(
        "G6",
        Layer.CONTROLLER,
        says="no container requests more of a resource than its limit",
        text='<path>.resources.requests: Invalid value: "<request>": must be less than or equal to '
        "<resource> limit of <limit>",
        check=check,
        source="spec R2, G6",
    )


def requests_within_limits(path: str, container: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of rule G6 with the `resources`, which are at `path`, of one container."""
    limits = entries(container, "resources.limits")
    for name, request in entries(container, "resources.requests").items():
        asked, limit = quantity(request), quantity(limits.get(name))
        if asked is not None and limit is not None and asked > limit:
            text_ = (
                f'Invalid value: "{request}": must be less than or equal to {name} limit of {limits[name]}'
            )
            yield Problem("G6", f"{path}.requests", text_)


def _restart_policy(layout: Layout) -> Rule:
    message = "restartPolicy in the pod template is ignored; the controller sets Never"

    def check(draft: Draft) -> Iterator[Notice]:
        if any(find(slot.template, "spec.restartPolicy") is not None for slot in layout.slots(draft.spec)):
            yield Notice("PodTemplateRestartPolicyIgnored", message)

    return Rule(
        "G14",
        Layer.WARNING,
        says="a pod template says nothing about `restartPolicy`",
        text=message,
        check=check,
        source="spec R2, G14",
    )


def _shared_memory(layout: Layout) -> Rule:
    def check(draft: Draft) -> Iterator[Notice]:
        for slot in layout.slots(draft.spec):
            training = layout.training(slot)
            if training is not None:
                yield from _larger_than_memory(slot, training[1])

    return Rule(
        "G15",
        Layer.WARNING,
        says="shared memory is no larger than the memory limit of the training container",
        text='volume "<v>" sizeLimit exceeds the memory limit of container "<c>"',
        check=check,
        source="spec R2, G15",
    )


def _larger_than_memory(slot: Slot, container: Container) -> Iterator[Notice]:
    limit = quantity(find(container, "resources.limits.memory"))
    for _, volume in items(slot.template, "spec.volumes"):
        size = quantity(find(volume, "emptyDir.sizeLimit"))
        if (
            find(volume, "emptyDir.medium") == "Memory"
            and size is not None
            and limit is not None
            and size > limit
        ):
            yield Notice(
                "SharedMemoryTooLarge",
                f'volume "{text(volume, "name")}" sizeLimit exceeds the memory limit of container '
                f'"{text(container, "name")}"',
            )


def _env(layout: Layout) -> Rule:
    def trains(slot: Slot) -> Iterator[Container]:
        training = layout.training(slot)
        if training is not None:
            yield training[1]

    return env_overridden("G16", layout, layout.generated_env, trains, source="spec R2, G16")
