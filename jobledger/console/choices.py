"""What the form offers beside what can be typed: volume claims and queues that the user may list in the namespace.

Nobody has to be able to list them: then there is an input without choices. A local run knows neither.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from jobledger.api.cache import Cache
from jobledger.api.rights import Caller, Right
from jobledger.console.forms.look import CLAIMS, QUEUES
from jobledger.console.frame import Console
from statemachine.errors import ClusterError

_KEPT: Final = 10.0
"""Seconds for which a list is good: a form is shown anew with every item that is added to it."""

MOST: Final = 1000
"""More choices than that help nobody."""


class Resource(NamedTuple):
    """A kind of objects, as Kubernetes calls it."""

    group: str
    version: str
    kind: str
    plural: str

    @property
    def api_version(self) -> str:
        """Group and version, as manifests have them."""
        return f"{self.group}/{self.version}" if self.group else self.version


RESOURCES: Final[Mapping[str, Resource]] = {
    CLAIMS: Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    QUEUES: Resource("scheduler.tensorstack.dev", "v1beta1", "Queue", "queues"),
}
"""Name of the choices → what they are names of. Source: spec README, R13; console.md, section 3."""

Choices = Mapping[str, Sequence[str]]


class Offering:
    """Finds the choices. What was listed serves everybody who may list it, for a short while."""

    def __init__(self, console: Console) -> None:
        self._cluster, self._queues = console.app.cluster, console.options.t9k_scheduler
        self._kept: Cache[tuple[Resource, str], Sequence[str]] = Cache(lambda _: _KEPT, 256)

    async def to(self, caller: Caller, namespace: str) -> Choices:
        """The choices that the caller has there; without those that nobody can say."""
        found: dict[str, Sequence[str]] = {}
        for name, resource in RESOURCES.items():
            if name == QUEUES and not self._queues:
                continue
            try:
                if await caller.may(Right("list", resource.group, resource.plural, namespace)):
                    found[name] = await self._names(resource, namespace)
            except ClusterError:
                continue  # a form without choices is a form all the same
        return {name: names for name, names in found.items() if names}

    async def _names(self, resource: Resource, namespace: str) -> Sequence[str]:
        async def ask() -> Sequence[str]:
            listed = await self._cluster.list(resource.api_version, resource.kind, namespace)
            return [each["metadata"]["name"] for each in listed[:MOST]]

        return await self._kept.get((resource, namespace), ask)
