"""Environment values of other sources: the pod itself, its resources, ConfigMaps, Secrets. Pure."""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from k8s_bridge.port import Manifest
from statemachine.errors import Refused
from statemachine.schema.quantities import quantity

Lookup = Callable[[str, str], Manifest | None]
"""Kind and name → the object of the pod's namespace."""

ADDRESS = "127.0.0.1"


class NotYet(Exception):
    """The pod needs an object that does not exist (yet); it waits in Pending, as with Kubernetes."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = "CreateContainerConfigError", message


@dataclass(frozen=True, slots=True)
class Capacity:
    """The resources of this machine: the limits of a container without any."""

    cpus: int
    memory: int


def from_source(
    source: Mapping[str, Any], pod: Manifest, container: Mapping[str, Any], find: Lookup, has: Capacity
) -> str | None:
    """The value of an entry's `valueFrom`; None for an optional one that is missing.

    Raises:
        NotYet: a ConfigMap or Secret, or its key, is missing and not optional.
        Refused: the reference is invalid.
    """
    if "fieldRef" in source:
        return field(pod, str(source["fieldRef"].get("fieldPath")))
    if "resourceFieldRef" in source:
        return resource(pod, container, source["resourceFieldRef"], has)
    for member, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if member in source:
            return _keyed(source[member], kind, find)
    raise Refused(422, "Invalid", f"valueFrom {sorted(source)} is not known")


def from_objects(entries: Iterator[Mapping[str, Any]], find: Lookup) -> dict[str, str]:
    """The variables of a container's `envFrom` entries; later ones win. Raises NotYet."""
    env: dict[str, str] = {}
    for entry in entries:
        for member, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if member in entry:
                values = data(kind, entry[member], find)
                prefix = entry.get("prefix") or ""
                env.update({prefix + key: value.decode("utf-8", "replace") for key, value in values.items()})
    return {name: value for name, value in env.items() if name and "=" not in name and "\0" not in name}


def field(pod: Manifest, path: str) -> str:
    """The value of `path` (`metadata.labels['x']`) in the pod, as downward API. Raises Refused."""
    meta, spec = pod["metadata"], pod.get("spec") or {}
    name, bracket, key = path.partition("['")
    if bracket and name in ("metadata.labels", "metadata.annotations") and key.endswith("']"):
        return str((meta.get(name.removeprefix("metadata.")) or {}).get(key[:-2], ""))
    simple = {
        "metadata.name": meta.get("name"),
        "metadata.namespace": meta.get("namespace"),
        "metadata.uid": meta.get("uid"),
        "spec.nodeName": spec.get("nodeName"),
        "spec.serviceAccountName": spec.get("serviceAccountName") or "default",
    }
    simple |= dict.fromkeys(("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs"), ADDRESS)
    if path in ("metadata.labels", "metadata.annotations"):
        pairs = meta.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f'{key}="{value}"' for key, value in sorted(pairs.items()))
    if path not in simple:
        raise Refused(422, "Invalid", f'fieldRef "{path}" is not supported')
    return str(simple[path] or "")


def resource(pod: Manifest, container: Mapping[str, Any], ref: Mapping[str, Any], has: Capacity) -> str:
    """A limit or request of a container in units of the divisor, rounded up. Raises Refused."""
    named = ref.get("containerName") or container.get("name")
    spec = pod.get("spec") or {}
    everyone = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    target = next(
        (container_spec for container_spec in everyone if container_spec.get("name") == named), container
    )
    which, _, name = str(ref.get("resource")).partition(".")
    resources = target.get("resources") or {}
    amount = quantity((resources.get(which) or {}).get(name))
    if amount is None and which == "requests":
        amount = quantity((resources.get("limits") or {}).get(name)) or Decimal(0)
    if amount is None:
        amount = Decimal({"cpu": has.cpus, "memory": has.memory}.get(name, 0))
    divisor = quantity(ref.get("divisor") or "1")
    if which not in ("limits", "requests") or not divisor:
        raise Refused(422, "Invalid", f'resourceFieldRef "{ref.get("resource")}" is not supported')
    return str(int((amount / divisor).to_integral_value(ROUND_CEILING)))


def data(kind: str, ref: Mapping[str, Any], find: Lookup) -> dict[str, bytes]:
    """All keys of the ConfigMap or Secret that `ref` names; none if it is optional and missing.

    Raises NotYet.
    """
    name = str(ref.get("name") or ref.get("secretName") or "")
    source = find(kind, name)
    if source is None:
        if ref.get("optional"):
            return {}
        raise NotYet(f'{kind.lower()} "{name}" not found')
    return contents(source)


def contents(manifest: Manifest) -> dict[str, bytes]:
    """The data of a ConfigMap or Secret by key, decoded."""
    plain = manifest.get("data") or {}
    if manifest["kind"] == "Secret":
        return {key: _decoded(value) for key, value in plain.items()}
    files = {key: str(value).encode() for key, value in plain.items()}
    return files | {key: _decoded(value) for key, value in (manifest.get("binaryData") or {}).items()}


def _keyed(ref: Mapping[str, Any], kind: str, find: Lookup) -> str | None:
    key = str(ref.get("key"))
    values = data(kind, ref, find)
    if key in values:
        return values[key].decode("utf-8", "replace")
    if ref.get("optional"):
        return None
    raise NotYet(f'{kind.lower()} "{ref.get("name")}" has no key "{key}"')


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except binascii.Error:
        return b""
