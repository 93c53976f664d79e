"""The part of a form for a pod template: what the spec (console.md, section 3) asks for about the training container.

The rest of a template, other containers for example, is kept as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from jobledger.console.forms import field_labels
from jobledger.console.forms.controls import typed, written
from jobledger.console.forms.posted import Posted, changed
from jobledger.console.forms.tree import Control, Field, Group, Many
from statemachine.schema.layout import Layout, Slot
from statemachine.schema.lookup import is_object

Manifest = dict[str, Any]
Label = Callable[[str], str]

SHARED_MEMORY: Final = "dshm"
"""Name of the volume that is mounted at `/dev/shm`."""

_PLAIN: Final[Sequence[tuple[str, Control]]] = (
    ("image", "text"),
    ("command", "words"),
    ("args", "words"),
    ("resources.limits.cpu", "text"),
    ("resources.limits.memory", "text"),
    ("resources.requests.cpu", "text"),
    ("resources.requests.memory", "text"),
)
_SECTIONS: Final = ("limits", "requests")
_SOURCES: Final = ("value", "secretKeyRef", "configMapKeyRef")


# ---- a template → its fields ---------------------------------------------------------------------------


def build(template: Mapping[str, Any], path: str, layout: Layout, gpus: Sequence[str], label: Label) -> Group:
    """The fields of the template at `path`."""
    index, container = _training(template, path, layout)
    at = f"{path}.spec.containers[{index}]"
    group = Group(path, label("template"))
    for name, control in _PLAIN:
        value = written(control, _at(container, name))
        group.children.append(
            Field(f"{at}.{name}", label(f"container.{name}"), control, value, required=name == "image")
        )
    held = _gpu(container, gpus)
    group.children.append(Field(f"{path}~gpu", label("x~gpu"), "select", held[0], choices=("", *gpus)))
    counted = [f"{at}.resources.{section}.{name}" for section in _SECTIONS for name in gpus]
    group.children.append(Field(f"{path}~gpus", label("x~gpus"), "number", held[1], places=counted))
    group.children.append(
        Field(
            f"{at}.workingDir",
            label("container.workingDir"),
            value=written("text", container.get("workingDir")),
        )
    )
    group.children.append(_volumes(template, container, path, label))
    group.children.append(_shared_memory(template, path, label))
    group.children.append(_env(container, at, label))
    return group


def _volumes(template: Mapping[str, Any], container: Mapping[str, Any], path: str, label: Label) -> Many:
    many = Many(f"{path}~volumes", label("x~volumes"))
    for index, (volume, mount) in enumerate(_claims(template, container)):
        at = f"{path}~volumes[{index}]"
        fields = [
            Field(
                f"{at}.claim",
                label("volume.claim"),
                value=volume["persistentVolumeClaim"].get("claimName") or "",
                offered=field_labels.CLAIMS,
            ),
            Field(f"{at}.name", label("volume.name"), value=str(mount.get("name") or "")),
            Field(f"{at}.mountPath", label("volume.mountPath"), value=str(mount.get("mountPath") or "")),
        ]
        many.groups.append(Group(at, "", children=[*fields], removable=True))
    return many


def _shared_memory(template: Mapping[str, Any], path: str, label: Label) -> Group:
    volume = next(
        (volume for volume in _list(template, "volumes") if volume.get("name") == SHARED_MEMORY), None
    )
    size = written("text", _at(volume or {}, "emptyDir.sizeLimit"))
    switch = Field(f"{path}~shm", label("x~shm"), "switch", "on" if volume else "")
    field = Field(f"{path}~shmSize", label("x~shmSize"), value=size, placeholder="16Gi")
    return Group(f"{path}~memory", label("x~shm"), switch=switch, children=[field])


def _env(container: Mapping[str, Any], at: str, label: Label) -> Many:
    many = Many(f"{at}.env", label("x~env"))
    held = [entry for entry in _entries(container, "env") if _is_plain(entry)]
    for index, entry in enumerate(held):
        here = f"{at}.env[{index}]"
        source = next((name for name in _SOURCES if name in (entry.get("valueFrom") or {})), "value")
        ref = (entry.get("valueFrom") or {}).get(source) or {}
        fields = [
            Field(f"{here}.name", label("env.name"), value=written("text", entry.get("name"))),
            Field(f"{here}.source", label("env.source"), "select", source, choices=_SOURCES),
            Field(f"{here}.value", label("env.value"), value=written("text", entry.get("value"))),
            Field(f"{here}.from", label("env.from"), value=written("text", ref.get("name"))),
            Field(f"{here}.key", label("env.key"), value=written("text", ref.get("key"))),
        ]
        many.groups.append(Group(here, "", children=[*fields], removable=True))
    return many


# ---- fields → a template -------------------------------------------------------------------------------


def read(posted: Posted, base: Mapping[str, Any], path: str, layout: Layout, gpus: Sequence[str]) -> Manifest:
    """The template that the fields mean, made from `base`."""
    template = deepcopy(dict(base))
    index, trained = _training(template, path, layout)
    at = f"{path}.spec.containers[{index}]"
    if f"{at}.image" not in posted:
        return template
    spec = template["spec"] = dict(template.get("spec") or {})
    containers = spec["containers"] = list(spec.get("containers") or [])
    container: Manifest = {"name": layout.new_name, **trained}
    containers[index : index + 1] = [container]
    claims = _claims(template, container)  # those that stood there, before anything is changed
    for name, control in _PLAIN:
        _plain(posted, container, at, name, control)
    _set_gpus(posted, container, path, gpus)
    folder = typed("text", posted[f"{at}.workingDir"]).value
    changed(container, "workingDir", folder)
    if folder and not folder.startswith("/"):  # Source: spec console.md, section 3
        posted.wrong(f"{at}.workingDir", f'Invalid value: "{folder}": must be an absolute path')
    _set_volumes(posted, spec, container, path, claims)
    _set_shared_memory(posted, spec, container, path)
    _set_env(posted, container, at)
    _tidy(container, spec)
    return template


def _plain(posted: Posted, container: Manifest, at: str, name: str, control: Control) -> None:
    kept = typed(control, posted[f"{at}.{name}"])
    if kept.problem:
        posted.wrong(f"{at}.{name}", kept.problem)
    *above, last = name.split(".")
    place = container
    for step in above:
        place[step] = dict(place.get(step) or {})
        place = place[step]
    if written(control, place.get(last)) != posted[f"{at}.{name}"].strip():  # else it stays as it was written
        changed(place, last, kept.value if kept.is_set else None)


def _set_gpus(posted: Posted, container: Manifest, path: str, gpus: Sequence[str]) -> None:
    shown, count = _gpu(container, gpus)
    name, kept = posted[f"{path}~gpu"], typed("number", posted[f"{path}~gpus"])
    if kept.is_set and not name:
        posted.wrong(f"{path}~gpu", "Required value: which resource is meant?")
    if name and not kept.is_set and posted.strict:
        posted.wrong(f"{path}~gpus", "Required value")
    if kept.is_set and not (isinstance(kept.value, int) and kept.value >= 0):
        posted.wrong(f"{path}~gpus", f'Invalid value: "{kept.value}": must be a whole number')
    for section in _SECTIONS:
        held = container["resources"].setdefault(section, {})
        if shown != name:
            held.pop(shown, None)
        if name and (name, str(kept.value)) != (shown, count):  # else it stays as it was written
            changed(held, name, kept.value)


def _set_volumes(
    posted: Posted,
    spec: Manifest,
    container: Manifest,
    path: str,
    claims: Sequence[tuple[Manifest, Manifest]],
) -> None:
    def one(at: str, _: Mapping[str, Any]) -> tuple[str, str, str]:
        return posted[f"{at}.claim"].strip(), posted[f"{at}.name"].strip(), posted[f"{at}.mountPath"].strip()

    rows = posted.items(f"{path}~volumes", one, {})
    old_volumes, old_mounts = [volume for volume, _ in claims], [mount for _, mount in claims]
    volumes = [
        volume for volume in spec.get("volumes") or [] if not any(volume is old for old in old_volumes)
    ]
    mounts = [
        mount for mount in container.get("volumeMounts") or [] if not any(mount is old for old in old_mounts)
    ]
    known: dict[str, Manifest] = {volume["name"]: volume for volume in old_volumes if volume.get("name")}
    made: dict[str, Manifest] = {}
    for index, (claim, name, mount_path) in enumerate(rows):
        if posted.strict and not (claim or name or mount_path):
            continue
        for field, value in (("claim", claim), ("name", name), ("mountPath", mount_path)):
            if posted.strict and not value:
                posted.wrong(f"{path}~volumes[{index}].{field}", "Required value")
        old = known.get(name, {}).get("persistentVolumeClaim") or {}
        volume = {"name": name, "persistentVolumeClaim": {**old, "claimName": claim}}
        if not name or name not in made:
            volumes.append(volume)
            made[name] = volume
        was = next(
            (mount for mount in old_mounts if mount.get("name") == name and mount["mountPath"] == mount_path),
            {},
        )
        mounts.append({**was, "name": name, "mountPath": mount_path})
    spec["volumes"], container["volumeMounts"] = volumes, mounts


def _set_shared_memory(posted: Posted, spec: Manifest, container: Manifest, path: str) -> None:
    held = next((volume for volume in spec["volumes"] if volume.get("name") == SHARED_MEMORY), None)
    on = posted[f"{path}~shm"] == "on"
    if held is not None and not on:
        spec["volumes"] = [volume for volume in spec["volumes"] if volume is not held]
        container["volumeMounts"] = [
            mount for mount in container["volumeMounts"] if mount.get("name") != SHARED_MEMORY
        ]
    if on:
        if held is None:
            held = {"name": SHARED_MEMORY, "emptyDir": {"medium": "Memory"}}
            spec["volumes"].append(held)
        held["emptyDir"] = dict(held.get("emptyDir") or {})
        changed(held["emptyDir"], "sizeLimit", posted[f"{path}~shmSize"].strip())
        if not any(mount.get("name") == SHARED_MEMORY for mount in container["volumeMounts"]):
            container["volumeMounts"].append({"name": SHARED_MEMORY, "mountPath": "/dev/shm"})  # noqa: S108


def _set_env(posted: Posted, container: Manifest, at: str) -> None:
    def one(here: str, was: Mapping[str, Any]) -> Manifest:
        name, source = posted[f"{here}.name"].strip(), posted[f"{here}.source"] or "value"
        if source == "value":
            return {"name": name, "value": posted[f"{here}.value"]}
        old = (was.get("valueFrom") or {}).get(source) or {}  # it may say more, such as `optional`
        ref = {**old, "name": posted[f"{here}.from"].strip(), "key": posted[f"{here}.key"].strip()}
        return {"name": name, "valueFrom": {source: ref}}

    held = container.get("env") or []
    rows = posted.items(f"{at}.env", one, {}, [entry for entry in held if _is_plain(entry)])
    if posted.strict:
        rows = [row for row in rows if not _is_blank(row)]
        for index, row in enumerate(rows):
            _check_env(posted, row, f"{at}.env[{index}]")
    container["env"] = [*(entry for entry in held if not _is_plain(entry)), *rows]


def _is_blank(entry: Manifest) -> bool:
    """Nothing was typed into the row; which source was chosen does not count."""
    refs = (entry.get("valueFrom") or {}).values()
    return not (entry["name"] or entry.get("value") or any(ref["name"] or ref["key"] for ref in refs))


def _check_env(posted: Posted, entry: Manifest, here: str) -> None:
    """A reference names an object and a key in it; that the variable has a name is a rule of the kind."""
    for ref in (entry.get("valueFrom") or {}).values():
        for field, value in (("from", ref["name"]), ("key", ref["key"])):
            if not value:
                posted.wrong(f"{here}.{field}", "Required value")


def _tidy(container: Manifest, spec: Manifest) -> None:
    """Nothing stands there empty that nobody wrote."""
    for section in _SECTIONS:
        if not container["resources"][section]:
            del container["resources"][section]
    for place, name in (
        (container, "resources"),
        (container, "volumeMounts"),
        (container, "env"),
        (spec, "volumes"),
    ):
        if not place[name]:
            del place[name]


# ---- looking into a template ---------------------------------------------------------------------------


def _training(template: Mapping[str, Any], path: str, layout: Layout) -> tuple[int, Mapping[str, Any]]:
    """Index and container that trains; of a template without any, the first that it will have."""
    return layout.training(Slot("", path, template)) or (0, {})


def _claims(template: Mapping[str, Any], container: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The volumes from PersistentVolumeClaims that the container mounts, each with its mount."""
    unused = [
        volume for volume in _list(template, "volumes") if is_object(volume.get("persistentVolumeClaim"))
    ]
    first = {volume.get("name"): volume for volume in reversed(unused)}
    claims = []
    for mount in _entries(container, "volumeMounts"):
        name = mount.get("name")
        # several rows may have no name yet: each has a volume of its own
        volume = (
            next((volume for volume in unused if volume.get("name") == name), None)
            if not name
            else first.get(name)
        )
        if volume is not None:
            unused = [other for other in unused if other is not volume]
            claims.append((volume, mount))
    return claims


def _gpu(container: Mapping[str, Any], gpus: Sequence[str]) -> tuple[str, str]:
    for section in _SECTIONS:
        held = _at(container, f"resources.{section}")
        for name in gpus if is_object(held) else ():
            if name in held:
                return name, written("text", held[name])
    return "", ""


def _is_plain(entry: Any) -> bool:
    """An environment variable that the form can show."""
    if not is_object(entry):
        return False
    source = entry.get("valueFrom")
    return source is None or (is_object(source) and any(name in source for name in _SOURCES))


def _list(template: Mapping[str, Any], name: str) -> list[Any]:
    spec = template.get("spec")
    return _entries(spec, name) if is_object(spec) else []


def _entries(tree: Mapping[str, Any], name: str) -> list[Any]:
    entries = tree.get(name)
    return [entry for entry in entries if is_object(entry)] if isinstance(entries, list) else []


def _at(tree: Any, path: str) -> Any:
    for step in path.split("."):
        tree = tree.get(step) if is_object(tree) else None
    return tree
