"""What an API server refuses inside a pod template: rule G20, one check for all kinds. Source: spec R2, G20.

Types are the business of `template`; here are quantities, names, ports, mounts, labels and images. A template is
looked at once, however many replicas are made of it, and in time linear in its size.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from statemachine.errors import Problem
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.layout import Layout, Slot
from statemachine.schema.lookup import entries, find, is_object, items, text
from statemachine.schema.metadata import Found, invalid, labels_and_annotations
from statemachine.schema.quantities import quantity


@dataclass(frozen=True, slots=True)
class Added:
    """Names of what the controller adds to a pod: init containers, and volumes, which the user may mount.

    With None as `containers` a rule of the kind's own sees to their names.
    """

    containers: tuple[str, ...] | None = None
    volumes: tuple[str, ...] = ()


def contents(layout: Layout, added: Callable[[Draft, Slot], Added] = lambda *_: Added()) -> Rule:
    """G20 for every pod template of a kind; `added` tells what the controller adds to its pods."""

    def check(draft: Draft) -> Iterator[Problem]:
        for slot in layout.slots(draft.spec):
            for path, sentence in _wrong(slot, added(draft, slot)):
                yield Problem("G20", path, sentence)

    return Rule(
        "G20",
        Layer.CONTROLLER,
        says="what is in a pod template is what an API server takes: quantities are ≥ 0, and whole numbers of "
        "extended resources; ports, those of probes and hooks too, are 1 to 65535; every volumeMount and "
        "volumeDevice has its volume; containers and volumes have names of their own, also beside those that the "
        "controller adds; names of variables have no `=`; keys and values of labels have their syntax; an image "
        "has no blanks; no text has a NUL",
        text="<path>: Invalid value: <value>: <what is allowed>",
        check=check,
        source="spec R2, G20",
    )


def _wrong(slot: Slot, added: Added) -> Iterator[Found]:
    root = slot.path.removesuffix(".spec")
    yield from labels_and_annotations(f"{root}.metadata", entries(slot.template, "metadata"))
    containers = list(_containers(slot))
    if added.containers is not None:
        yield from _repeated(
            [(f"{path}.name", text(container, "name")) for path, container in containers], added.containers
        )
    volumes = [(f"{slot.path}.volumes[{at}]", item) for at, item in items(slot.template, "spec.volumes")]
    yield from _repeated([(f"{path}.name", text(volume, "name")) for path, volume in volumes], ())
    known = {text(volume, "name") for _, volume in volumes}.union(added.volumes)
    for path, container in containers:
        yield from of_container(path, container, known)
    for path, volume in volumes:
        yield from _amount(f"{path}.emptyDir.sizeLimit", find(volume, "emptyDir.sizeLimit"))
    yield from nul(root, slot.template)


def _containers(slot: Slot) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where in ("containers", "initContainers"):
        for at, container in items(slot.template, f"spec.{where}"):
            yield f"{slot.path}.{where}[{at}]", container


def _repeated(named: Iterable[tuple[str, str]], added: Iterable[str]) -> Iterator[Found]:
    taken = set(added)
    for path, name in named:
        if name and name in taken:
            yield path, invalid(name, "must be unique in the pod, also beside what the controller adds")
        taken.add(name)


def of_container(path: str, container: Mapping[str, Any], volumes: Collection[str]) -> Iterator[Found]:
    """What is wrong with a container that is at `path` and may mount `volumes`; NULs are looked for elsewhere."""
    image = text(container, "image")
    if re.search(r"\s", image):
        yield f"{path}.image", invalid(image, "must not contain blanks")
    for at, entry in items(container, "env"):
        name = text(entry, "name")
        if "=" in name:
            yield f"{path}.env[{at}].name", invalid(name, "must not contain '=' or NUL")
    for at, port in items(container, "ports"):
        yield from _port(f"{path}.ports[{at}].containerPort", find(port, "containerPort"), 1)
        yield from _port(f"{path}.ports[{at}].hostPort", find(port, "hostPort"), 0)
    for at, mount in items(container, "volumeMounts"):
        name = text(mount, "name")
        if name and name not in volumes:
            yield f"{path}.volumeMounts[{at}].name", invalid(name, "must be the name of a volume of the pod")
    for at, device in items(container, "volumeDevices"):
        name = text(device, "name")
        if name and name not in volumes:
            yield f"{path}.volumeDevices[{at}].name", invalid(name, "must be the name of a volume of the pod")
    for asks in _ASKING:
        if (handler := find(container, asks)) is not None:
            yield from _asked(f"{path}.{asks}", handler)
    yield from amounts(f"{path}.resources", entries(container, "resources"))


_ASKING: Final = (
    *("livenessProbe", "readinessProbe", "startupProbe"),
    *("lifecycle.postStart", "lifecycle.preStop"),
)
"""Parts of a container that ask a port of it."""

_PORT_NAME: Final = re.compile(r"(?=.{1,15}\Z)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")


def _asked(path: str, handler: object) -> Iterator[Found]:
    """The port of a probe or a hook: a number, or the name of a port where that is allowed."""
    for how in ("httpGet", "tcpSocket", "grpc"):
        value = find(handler, f"{how}.port")
        if isinstance(value, str) and how != "grpc":
            if not _PORT_NAME.fullmatch(value):
                allowed = "must be a number from 1 to 65535, or the name of a port"
                yield f"{path}.{how}.port", invalid(value, allowed)
        elif value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            yield f"{path}.{how}.port", invalid(value, "must be of type integer")
        else:
            yield from _port(f"{path}.{how}.port", value, 1)


def _port(path: str, value: object, least: int) -> Iterator[Found]:
    """`hostPort: 0` means none."""
    if isinstance(value, int) and not isinstance(value, bool) and not least <= value <= 65535:
        yield path, invalid(value, "must be between 1 and 65535")


def amounts(path: str, resources: Mapping[str, Any]) -> Iterator[Found]:
    """What is wrong with the `requests` and `limits` of `resources`, which are at `path`."""
    for where in ("requests", "limits"):
        for name, value in entries(resources, where).items():
            yield from _amount(f"{path}.{where}[{name}]", value, whole=is_extended(name))


def _amount(path: str, value: object, *, whole: bool = False) -> Iterator[Found]:
    if value is None:
        return  # an API server reads it as absent
    number = quantity(value)
    if number is None:
        yield path, invalid(value, "must be a quantity such as 2, 500m or 4Gi")
    elif number < 0:
        yield path, invalid(value, "must be greater than or equal to 0")
    elif whole and number % 1 != 0:
        yield path, invalid(value, "must be a whole number")


def is_extended(resource: object) -> bool:
    """A resource of devices. Source: Kubernetes, IsExtendedResourceName."""
    return isinstance(resource, str) and "/" in resource and "kubernetes.io/" not in resource


def nul(root: str, template: object) -> Iterator[Found]:
    """Where a text at or below `root` has a NUL."""
    if not _has_nul(template):
        return  # paths are made for those who have one
    stack: list[tuple[str, object]] = [(root, template)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            if "\0" in value:
                yield path, invalid(value, "must not contain NUL")
        elif is_object(value):
            yield from ((path, invalid(key, "must not contain NUL")) for key in value if "\0" in key)
            stack.extend((f"{path}.{key}", inner) for key, inner in value.items())
        elif isinstance(value, list):
            stack.extend((f"{path}[{at}]", inner) for at, inner in enumerate(value))


def _has_nul(tree: object) -> bool:
    level = [tree]
    while level:
        inner: list[object] = []
        for value in level:
            if isinstance(value, str):
                if "\0" in value:
                    return True
            elif is_object(value):
                inner.extend(value)
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        level = inner
    return False
