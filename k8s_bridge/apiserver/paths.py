"""Paths of objects on an API server. Source: Kubernetes API concepts, resource URIs."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from k8s_bridge.apiserver.api import Api
from k8s_bridge.port import Ref
from statemachine.errors import Missing, Refused
from statemachine.kinds import KINDS, SERVED

_PLURALS: Final = {
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "Event"): "events",
    ("v1", "PersistentVolumeClaim"): "persistentvolumeclaims",
    ("v1", "Pod"): "pods",
    ("v1", "Secret"): "secrets",
    ("v1", "Service"): "services",
    **{(child.api_version, child.kind): child.plural for kind in KINDS for child in kind.owns},
    **{(names.api_version, names.kind): names.plural for names in SERVED},
}


def collection(api_version: str, plural: str, namespace: str | None = None) -> str:
    """The path of all objects of a kind, in one namespace or in all."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    return f"{root}/namespaces/{_segment(namespace)}/{plural}" if namespace else f"{root}/{plural}"


def _segment(name: str) -> str:
    """`name` as a part of a path. Raises Missing for a text that no object can have as its name.

    Source: Kubernetes, path segment names.
    """
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise Missing(f'nothing can be called "{name}"')
    return quote(name, safe="")


@dataclass(slots=True)
class Paths:
    """Paths by kind: ours are known, others are looked up once."""

    api: Api
    _plurals: dict[tuple[str, str], str]

    def __init__(self, api: Api) -> None:
        self.api, self._plurals = api, dict(_PLURALS)

    async def of(self, api_version: str, kind: str, namespace: str | None = None) -> str:
        """The collection's path. Raises Refused (404) for a kind that the API server does not serve."""
        plural = self._plurals.get((api_version, kind)) or await self._ask(api_version, kind)
        return collection(api_version, plural, namespace)

    async def to(self, ref: Ref) -> str:
        """The object's path. Raises as `of`; Missing for a name that no object can have."""
        return f"{await self.of(ref.api_version, ref.kind, ref.namespace)}/{_segment(ref.name)}"

    async def _ask(self, api_version: str, kind: str) -> str:
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            served = await self.api.call("GET", root)
        except Missing as error:
            raise not_served(api_version, kind) from error
        for resource in served.get("resources", ()):
            if resource["kind"] == kind and "/" not in resource["name"]:
                plural: str = resource["name"]
                self._plurals[api_version, kind] = plural
                return plural
        raise not_served(api_version, kind)


def not_served(api_version: str, kind: str) -> Refused:
    """The refusal for a kind that is not installed. Source: spec R13."""
    return Refused(404, "NotFound", f"{kind} {api_version} is not installed")
