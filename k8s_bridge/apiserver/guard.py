"""Whether an admission policy guards the names that jobs carry, looked up again and again: it may be taken away.

Source: ADR 0023.
"""

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from k8s_bridge.actor_policy import GROUP, POLICY, guarded
from k8s_bridge.apiserver.api import Api
from k8s_bridge.attended import Attended
from statemachine.errors import ClusterUnavailable, Missing, Refused
from statemachine.kind import Names
from statemachine.kinds import UnknownKind, names_of

log = logging.getLogger(__name__)

ROUND: Final = 10.0
"""Seconds between two looks: for so long names may count as verified after the policy has gone."""

_POLICY: Final = f"/apis/{GROUP}/v1/validatingadmissionpolicies/{POLICY}"
_BINDING: Final = f"/apis/{GROUP}/v1/validatingadmissionpolicybindings/{POLICY}"


class ActorGuard:
    """What the API server behind `api` guards of the kinds that are attended."""

    def __init__(self, api: Api, attended: Attended) -> None:
        self._api = api
        self._kinds: list[Names] = [each for kind in attended.kinds() for each in (kind.names, *kind.aliases)]
        self._found: Mapping[tuple[str, str], datetime] = {}
        self._told: bool | None = None

    def since(self, api_version: str, kind: str) -> datetime | None:
        """Since when jobs of the kind are guarded; None where they are not."""
        try:
            names = names_of(api_version, kind)
        except UnknownKind:
            return None
        return self._found.get((names.group, names.plural))

    async def run(self) -> None:
        """Looks now and then, for ever."""
        while True:
            await asyncio.sleep(ROUND)
            await self.look()

    async def _read(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = await self._api.call("GET", path, behind=True)
        return answer

    async def look(self) -> None:
        """What is known is what the API server says now; what it said last, while it does not answer."""
        try:
            policy, binding = await asyncio.gather(self._read(_POLICY), self._read(_BINDING))
            found, why = guarded(policy, binding, self._kinds), "they are not as this release ships them"
        except (Missing, Refused) as error:
            found, why = {}, str(error)
        except ClusterUnavailable:
            return
        self._found = found
        if bool(found) is not self._told:
            self._told = bool(found)
            fields = {"action": "actor-policy", "verified": self._told}
            if found:
                log.info("names in the history are verified: the admission policy is in place", extra=fields)
            else:
                said = "names in the history are not verified, field managers stand for them: %s"
                log.info(said, why, extra=fields)
