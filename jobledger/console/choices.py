"""What the form offers beside what can be typed: volume claims, queues and ConfigMaps of the namespace.

They are offered to users who may list them. Nobody has to: then there is an input without choices. A local run knows
neither claims nor queues. Of ConfigMaps only the names of their keys are kept, no value. Secrets are not even listed:
who may list them may read them, and neither jobledger's front nor a form needs that.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobledger.console.forms.field_labels import CLAIMS, CONFIG_MAPS, KEYS, QUEUES, choices_of
from jobledger.console.frame import Console
from jobledger.web.cache import Cache
from jobledger.web.rights import AccessRight, Caller
from statemachine.errors import ClusterError
from statemachine.kinds import KINDS
from statemachine.schema.form import VOLUME_CLAIMS, ChoiceSource

_KEPT: Final = 10.0
"""Seconds for which a list is good: a form is shown anew with every item that is added to it."""

MOST: Final = 1000
"""More choices than that help nobody."""

_MOST_KEYS: Final = 100


def _of_kinds() -> Mapping[str, ChoiceSource]:
    """What the forms of kinds offer."""
    offered = (resource for kind in KINDS for resource in kind.form.choices.values())
    return {choices_of(resource): resource for resource in offered}


RESOURCES: Final[Mapping[str, ChoiceSource]] = {
    CLAIMS: VOLUME_CLAIMS,
    **_of_kinds(),
    CONFIG_MAPS: ChoiceSource("", "v1", "ConfigMap", "configmaps"),
}
"""Name of the choices → what they are names of. Source: spec R13; console.md, section 3."""

Choices = Mapping[str, Sequence[str]]


class Offering:
    """Finds the choices. What was listed serves everybody who may list it, for a short while."""

    def __init__(self, console: Console) -> None:
        self._cluster, self._queues = console.app.cluster, console.options.t9k_scheduler
        self._kept: Cache[tuple[ChoiceSource, str], Choices] = Cache(lambda _: _KEPT, 256)

    async def to(self, caller: Caller, namespace: str, *, variables: bool = False) -> Choices:
        """The choices that the caller has there; without those that nobody can say.

        Those for environment `variables` are large, and wanted only where the form has one.
        """
        choices: dict[str, Sequence[str]] = {}
        for name, resource in RESOURCES.items():
            if (name == QUEUES and not self._queues) or (name == CONFIG_MAPS and not variables):
                continue
            try:
                if await caller.may(AccessRight("list", resource.group, resource.plural, namespace)):
                    choices |= await self._listed(name, resource, namespace)
            except ClusterError:
                continue  # a form without choices is a form all the same
        return {name: names for name, names in choices.items() if names}

    async def _listed(self, name: str, resource: ChoiceSource, namespace: str) -> Choices:
        async def ask() -> Choices:
            listed = await self._cluster.list(resource.api_version, resource.kind, namespace)
            names = [item["metadata"]["name"] for item in listed[:MOST]]
            return {name: names, **(keys_of(listed[:MOST]) if name == CONFIG_MAPS else {})}

        return await self._kept.get((resource, namespace), ask)


def keys_of(config_maps: Sequence[Mapping[str, Any]]) -> Choices:
    """The keys of each ConfigMap that an environment variable can be taken from: those of texts."""
    return {
        f"{KEYS}{config_map['metadata']['name']}": sorted(map(str, config_map.get("data") or ()))[:_MOST_KEYS]
        for config_map in config_maps
    }
