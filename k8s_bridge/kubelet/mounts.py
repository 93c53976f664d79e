"""Volumes on one machine: a folder each, which replaces the paths at which they would be mounted. Pure.

A process sees the machine's own file tree, so a volume cannot be mounted for it. If a mount path is the folder itself
(a hostPath of the same path, /dev/shm), it works as it is; otherwise the folder replaces the path in working
directory, command, arguments and environment, and JOBLEDGER_MOUNT_<VOLUME> names the folder.
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
class LocalVolume:
    """A volume as a folder (or file) of this machine.

    `files`: the content, for volumes of ConfigMaps, Secrets and the like; only the owner can read `private` ones,
    `shared` ones have other files, too. `modes`: those of files that the manifest sets. `check`: the hostPath type
    that must hold before a container starts.
    """

    name: str
    path: str
    files: Mapping[str, bytes] | None = None
    private: bool = False
    shared: bool = False
    check: str | None = None
    modes: Mapping[str, int] = field(default_factory=dict)

    def mode(self, file: str) -> int:
        """The mode of a file. Its owner can read it; with `private` other users have no rights to it."""
        mode = self.modes.get(file, 0o600 if self.private else 0o644) | 0o400
        return mode & 0o700 if self.private else mode


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of a container in the manifest, and the path that replaces it here.

    `part`: the part of the volume that was copied there when the container started, as later changes do not reach it;
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
        """The path itself is another one here."""
        return self.path != self.here


def volumes(pod: Manifest, roots: Roots, find: Lookup, has: Capacity) -> tuple[LocalVolume, ...]:
    """The pod's volumes, in its order. Raises NotYet (ConfigMap or Secret missing), Refused."""
    return tuple(
        _volume(volume, pod, roots, find, has) for volume in (pod.get("spec") or {}).get("volumes") or ()
    )


def unsupported(pod: Manifest) -> Iterator[str]:
    """A sentence for every volume for which this machine has no folder."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if not any(kind in volume for kind in _SUPPORTED):
            kinds = ", ".join(sorted(set(volume) - {"name"})) or "nothing"
            yield f'volume "{volume.get("name")}": a local run has no {kinds}; use a hostPath or a claim'


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


def _volume(raw: Mapping[str, Any], pod: Manifest, roots: Roots, find: Lookup, has: Capacity) -> LocalVolume:
    name = str(raw.get("name"))
    own = f"{roots.pod}/{_folder(name)}"
    if "hostPath" in raw:
        return LocalVolume(
            name, str(raw["hostPath"].get("path")), check=str(raw["hostPath"].get("type") or "")
        )
    if "persistentVolumeClaim" in raw:
        return LocalVolume(
            name, f"{roots.claims}/{_folder(str(raw['persistentVolumeClaim'].get('claimName')))}"
        )
    if "emptyDir" in raw or "ephemeral" in raw:
        return LocalVolume(name, own)
    sources = raw["projected"].get("sources") or () if "projected" in raw else (raw,)
    files: dict[str, bytes] = {}
    modes: dict[str, int] = {}
    default = next(
        (raw[kind].get("defaultMode") for kind in _GENERATED if isinstance(raw.get(kind), Mapping)), None
    )
    for source in sources:
        of_source = _files(source, pod, find, has)
        files |= of_source
        modes |= {file: mode for file in of_source if (mode := _modes(source).get(file, default)) is not None}
    private = "secret" in raw or any("secret" in source for source in sources)
    return LocalVolume(name, own, files, private, modes=modes)


_GENERATED = ("configMap", "secret", "downwardAPI", "projected")


def _modes(source: Mapping[str, Any]) -> dict[str, int]:
    """The modes of single items, by path."""
    listed = [item for kind in _GENERATED for item in (source.get(kind) or {}).get("items") or ()]
    return {
        str(item.get("path")).rstrip("/"): item["mode"] for item in listed if type(item.get("mode")) is int
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


def _items(source: Mapping[str, Any], files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """All keys as files, or those under `items`, each at its path."""
    if not source.get("items"):
        yield from files.items()
        return
    for item in source["items"]:
        if item.get("key") in files:
            yield _inside(str(item.get("path"))), files[item["key"]]


def mounts(
    container: Mapping[str, Any],
    volumes_of_pod: Sequence[LocalVolume],
    env: Mapping[str, str],
    is_folder: Callable[[str], bool],
) -> tuple[Mount, ...]:
    """The container's mounts, in its order. Raises Refused."""
    by_name = {volume.name: volume for volume in volumes_of_pod}
    mounted: list[Mount] = []
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
        if any(mount.variable == variable for mount in mounted):
            variable += f"_{_variable(path.strip('/'))}"
        mounted.append(Mount(name, path, here, variable, str(container.get("name")), part))
    return tuple(mounted)


def rewriter(mounted: Sequence[Mount]) -> Callable[[str], str]:
    """The function that replaces mount paths, and paths below them, by folders."""
    here = {mount.path: mount.here for mount in mounted if mount.moved and mount.path != "/"}
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
    """A relative path that does not leave its start. Raises Refused."""
    if path.startswith("/") or ".." in path.split("/"):
        raise Refused(422, "Invalid", f'"{path}" must be a relative path without ".."')
    return path.rstrip("/")


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()
