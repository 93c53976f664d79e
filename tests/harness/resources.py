"""Where the API server has what kubectl calls by a word: paths from its discovery, and `kubectl get` as requests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import httpx

from tests.harness.api import Api, Json

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""Media type of a list of all groups with all that is in them. Source: Kubernetes, "Aggregated discovery"."""

_OPTIONS: Final = {"-n": "namespace", "-l": "labelSelector", "--field-selector": "fieldSelector"}
"""The options of `kubectl get` that `Resources.get` knows, and what they are called here."""


@dataclass(frozen=True)
class Resource:
    """What the API server has under one path."""

    group: str
    version: str
    plural: str
    kind: str
    is_namespaced: bool

    @property
    def api_version(self) -> str:
        """As manifests have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "") -> str:
        """Of all objects, those in a namespace, or one."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        return f"{root}{place}/{self.plural}" + (f"/{name}" if name else "")


class Resources:
    """The resources of an API server by the words that kubectl knows them by; asked for when a word is unknown."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._by_word: dict[str, Resource] = {}

    def named(self, word: str) -> Resource | None:
        """By plural, singular or short name, each also followed by `.<group>`; None if there is none.

        The first group that the server names wins, and a name wins over a short name, as with kubectl.
        """
        word = word.lower()
        if word not in self._by_word:
            self._by_word = self._discovered()
        return self._by_word.get(word)

    def place(self, manifest: Json, namespace: str) -> str:
        """The path of the object, which is in `namespace` where its kind is, unless it says otherwise.

        Raises:
            AssertionError: the API server has no such kind.
        """
        group, _, version = manifest["apiVersion"].rpartition("/")
        resource = self.named(f"{manifest['kind']}.{group}")
        assert resource is not None, f"the API server has no {manifest['kind']} {manifest['apiVersion']}"
        meta = manifest["metadata"]
        return replace(resource, version=version).path(meta.get("namespace", namespace), meta["name"])

    def get(self, *words: str) -> Json | None:
        """What `kubectl get <words> -o json` prints, read; None if the server refuses, or the words are unusual.

        Known are one or more resources, one object as `pod web` or `pod/web`, `-n`, `-l` and `--field-selector`.
        """
        options: dict[str, str] = {}
        places: list[str] = []
        rest = iter(words)
        for word in rest:
            if word in _OPTIONS:
                options[_OPTIONS[word]] = next(rest, "")
            else:
                places.append(word)
        if len(places) == 1 and "," not in places[0]:
            places = places[0].split("/", 1)
        if not 1 <= len(places) <= 2 or any("/" in word or word.startswith("-") for word in places):
            return None
        namespace = options.pop("namespace", "")
        kinds = places[0].split(",")
        try:
            resources = [resource for kind in kinds if (resource := self.named(kind))]
            if len(resources) < len(kinds) or not (namespace or _are_global(resources)):
                return None
            if len(places) == 1:
                return self._all(resources, namespace, options)
            return None if options or len(kinds) > 1 else self._one(resources[0], namespace, places[1])
        except httpx.TransportError:
            return None

    def _one(self, resource: Resource, namespace: str, name: str) -> Json | None:
        answer = self._api.request("GET", resource.path(namespace, name))
        return _shown(answer.body, resource) if answer.is_accepted else None

    def _all(self, resources: Sequence[Resource], namespace: str, selectors: dict[str, str]) -> Json | None:
        items: list[Json] = []
        for resource in resources:
            answer = self._api.request("GET", resource.path(namespace), params=selectors)
            if not answer.is_accepted:
                return None
            items += [_shown(item, resource) for item in answer.body["items"]]
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def _discovered(self) -> dict[str, Resource]:
        names: dict[str, Resource] = {}
        short_names: dict[str, Resource] = {}
        for path in ("/api", "/apis"):
            groups = self._api.request("GET", path, accept=_AGGREGATED).body.get("items", [])
            for group in groups:
                for version in group["versions"]:
                    for item in version["resources"]:
                        resource = _resource(group["metadata"].get("name", ""), version["version"], item)
                        _enter(names, resource, item["resource"], item["singularResource"])
                        _enter(short_names, resource, *item.get("shortNames", ()))
        return short_names | names


def _resource(group: str, version: str, item: Json) -> Resource:
    kind = item["responseKind"]["kind"]
    return Resource(group, version, item["resource"], kind, item["scope"] == "Namespaced")


def _enter(by_word: dict[str, Resource], resource: Resource, *words: str) -> None:
    for word in words:
        by_word.setdefault(word, resource)
        by_word.setdefault(f"{word}.{resource.group}", resource)


def _are_global(resources: Sequence[Resource]) -> bool:
    return not any(resource.is_namespaced for resource in resources)


def _shown(item: Json, resource: Resource) -> Json:
    """An object as kubectl prints it: with its kind, which items of a list lack, and without managed fields."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, **item, "metadata": metadata}
