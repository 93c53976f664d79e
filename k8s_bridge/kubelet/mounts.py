"""Volumes on one machine: a folder each, and what becomes of the paths at which they would be mounted. Pure.

A process sees the machine's own file tree, so nothing can be mounted for it. Where a mount path is the folder
itself (a hostPath of the same path, /dev/shm), all is well; elsewhere the path is replaced by the folder in
working directory, command, arguments and environment, and the folder is offered as JOBLEDGER_MOUNT_<VOLUME>.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8s_bridge.kubelet.expansion import expanded
from k8s_bridge.kubelet.values import Capacity, Lookup, data, resource
from k8s_bridge.kubelet.values import field as pod_field
from k8s_bridge.port import Manifest
from statemachine.errors import Refused

_SHM = "/dev/shm"  # noqa: S108 - the mount path of shared memory in manifests


@dataclass(frozen=True, slots=True)
class Roots:
    """Folders of this machine: one for the pod's volumes, one for persistent claims of its namespace."""

    pod: str
    claims: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume as a folder (or file) of this machine.

    `files`: what it contains, for volumes made of ConfigMaps, Secrets and the like; `private` ones are their owner's
    only, `shared` ones hold other files besides. `modes`: of the files that the manifest gives one. `check`: the
    hostPath type that must hold before a container starts.
    """

    name: str
    path: str
    files: Mapping[str, bytes] | None = None
    private: bool = False
    shared: bool = False
    check: str | None = None
    modes: Mapping[str, int] = field(default_factory=dict)

    def mode(self, file: str) -> int:
        """The mode of a file. Its owner can read it; if it is `private`, nobody else can do anything with it."""
        wanted = self.modes.get(file, 0o600 if self.private else 0o644) | 0o400
        return wanted & 0o700 if self.private else wanted


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of a container in the manifest, and what stands for it here.

    `part`: what of the volume was copied there when the container started, as nothing that comes later reaches it;
    empty for a mount of the volume itself. Source: Kubernetes, ConfigMaps and Secrets mounted with subPath.
    """

    volume: str
    path: str
    here: str
    variable: str
    container: str = ""
    part: str = ""

    @property
    def moved(self) -> bool:
        """The path itself leads somewhere else, or nowhere."""
        return self.path != self.here


def volumes(pod: Manifest, roots: Roots, find: Lookup, has: Capacity) -> tuple[Volume, ...]:
    """The pod's volumes, in its order. Raises NotYet (ConfigMap or Secret missing), Refused."""
    return tuple(
        _volume(each, pod, roots, find, has) for each in (pod.get("spec") or {}).get("volumes") or ()
    )


def unsupported(pod: Manifest) -> Iterator[str]:
    """A sentence for every volume that this machine has no folder for."""
    for each in (pod.get("spec") or {}).get("volumes") or ():
        if not any(kind in each for kind in _SUPPORTED):
            kinds = ", ".join(sorted(set(each) - {"name"})) or "nothing"
            yield f'volume "{each.get("name")}": a local run has no {kinds}; use a hostPath or a claim'


_SUPPORTED = (
    "emptyDir",
    "hostPath",
    "persistentVolumeClaim",
    "configMap",
    "secret",
    "downwardAPI",
    "projected",
    "ephemeral",
)


def _volume(raw: Mapping[str, Any], pod: Manifest, roots: Roots, find: Lookup, has: Capacity) -> Volume:
    name = str(raw.get("name"))
    own = f"{roots.pod}/{_folder(name)}"
    if "hostPath" in raw:
        return Volume(name, str(raw["hostPath"].get("path")), check=str(raw["hostPath"].get("type") or ""))
    if "persistentVolumeClaim" in raw:
        return Volume(name, f"{roots.claims}/{_folder(str(raw['persistentVolumeClaim'].get('claimName')))}")
    if "emptyDir" in raw or "ephemeral" in raw:
        return Volume(name, own)
    sources = raw["projected"].get("sources") or () if "projected" in raw else (raw,)
    files: dict[str, bytes] = {}
    modes: dict[str, int] = {}
    given = next(
        (raw[each].get("defaultMode") for each in _GENERATED if isinstance(raw.get(each), Mapping)), None
    )
    for source in sources:
        of_source = _files(source, pod, find, has)
        files |= of_source
        modes |= {each: mode for each in of_source if (mode := _modes(source).get(each, given)) is not None}
    private = "secret" in raw or any("secret" in each for each in sources)
    return Volume(name, own, files, private, modes=modes)


_GENERATED = ("configMap", "secret", "downwardAPI", "projected")


def _modes(source: Mapping[str, Any]) -> dict[str, int]:
    """The modes that single items ask for, by path."""
    listed = [each for kind in _GENERATED for each in (source.get(kind) or {}).get("items") or ()]
    return {
        str(each.get("path")).rstrip("/"): each["mode"] for each in listed if type(each.get("mode")) is int
    }


def _files(source: Mapping[str, Any], pod: Manifest, find: Lookup, has: Capacity) -> dict[str, bytes]:
    for member, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if member in source:
            return dict(_items(source[member], data(kind, source[member], find)))
    files = {}
    for item in (source.get("downwardAPI") or {}).get("items") or ():
        if "fieldRef" in item:
            value = pod_field(pod, str(item["fieldRef"].get("fieldPath")))
        else:
            value = resource(pod, {}, item.get("resourceFieldRef") or {}, has)
        files[_inside(str(item.get("path")))] = value.encode()
    return files


def _items(source: Mapping[str, Any], found: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """All keys as files, or those under `items`, each at its path."""
    if not source.get("items"):
        yield from found.items()
        return
    for item in source["items"]:
        if item.get("key") in found:
            yield _inside(str(item.get("path"))), found[item["key"]]


def mounts(
    container: Mapping[str, Any],
    known: Sequence[Volume],
    env: Mapping[str, str],
    is_folder: Callable[[str], bool],
) -> tuple[Mount, ...]:
    """The container's mounts, in its order. Raises Refused."""
    by_name = {each.name: each for each in known}
    found: list[Mount] = []
    for raw in container.get("volumeMounts") or ():
        name, path = str(raw.get("name")), str(raw.get("mountPath")).rstrip("/") or "/"
        if name not in by_name:
            raise Refused(422, "Invalid", f'volumeMounts: no volume is named "{name}"')
        sub = raw.get("subPath") or expanded(raw.get("subPathExpr") or "", env)
        volume = by_name[name]
        here = volume.path.rstrip("/") + (f"/{_inside(sub)}" if sub else "")
        part = _inside(sub) if sub and volume.files is not None else ""
        if part:
            here = f"{volume.path}.at-start/{container.get('name')}/{part}"
        if path == _SHM and is_folder(_SHM):
            here = _SHM
        variable = f"JOBLEDGER_MOUNT_{_variable(name)}"
        if any(each.variable == variable for each in found):
            variable += f"_{_variable(path.strip('/'))}"
        found.append(Mount(name, path, here, variable, str(container.get("name")), part))
    return tuple(found)


def rewriter(found: Sequence[Mount]) -> Callable[[str], str]:
    """The function that puts folders in the place of mount paths, and of what lies below them."""
    here = {each.path: each.here for each in found if each.moved and each.path != "/"}
    if not here:
        return lambda text: text
    paths = "|".join(re.escape(path) for path in sorted(here, key=len, reverse=True))
    pattern = re.compile(rf"(?:(?<![\w./)}}\]$-])|(?<=file://))({paths})(?=/|$|[^\w.-]|\.(?!\w))")
    return lambda text: pattern.sub(lambda match: here[match[1]], text)


def _folder(name: str) -> str:
    if not re.fullmatch(r"[\w.-]+", name) or name in (".", ".."):
        raise Refused(422, "Invalid", f'"{name}" cannot be the name of a volume')
    return name


def _inside(path: str) -> str:
    """A relative path that stays below where it starts. Raises Refused."""
    if path.startswith("/") or ".." in path.split("/"):
        raise Refused(422, "Invalid", f'"{path}" must be a relative path without ".."')
    return path.rstrip("/")


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()
