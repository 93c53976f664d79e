"""Checks periodically whether an admission policy guards the names on jobs: it may be removed.

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
"""Seconds between two checks: so long names may still count as verified after the policy was removed."""

_POLICY: Final = f"/apis/{GROUP}/v1/validatingadmissionpolicies/{POLICY}"
_BINDING: Final = f"/apis/{GROUP}/v1/validatingadmissionpolicybindings/{POLICY}"


class ActorGuard:
    """Which of the managed kinds the API server behind `api` guards."""

    def __init__(self, api: Api, attended: Attended) -> None:
        self._api = api
        self._kinds: list[Names] = [
            names for kind in attended.kinds() for names in (kind.names, *kind.aliases)
        ]
        self._guarded: Mapping[tuple[str, str], datetime] = {}
        self._logged: bool | None = None

    def since(self, api_version: str, kind: str) -> datetime | None:
        """Since when jobs of the kind are guarded; None if they are not."""
        try:
            names = names_of(api_version, kind)
        except UnknownKind:
            return None
        return self._guarded.get((names.group, names.plural))

    async def run(self) -> None:
        """Checks periodically, for ever."""
        while True:
            await asyncio.sleep(ROUND)
            await self.look()

    async def _read(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = await self._api.call("GET", path, behind=True)
        return answer

    async def look(self) -> None:
        """Reads the policy; while the API server does not respond, the last result stays."""
        try:
            policy, binding = await asyncio.gather(self._read(_POLICY), self._read(_BINDING))
            kinds, why = guarded(policy, binding, self._kinds), "they are not as this release ships them"
        except (Missing, Refused) as error:
            kinds, why = {}, str(error)
        except ClusterUnavailable:
            return
        self._guarded = kinds
        if bool(kinds) is not self._logged:
            self._logged = bool(kinds)
            fields = {"action": "actor-policy", "verified": self._logged}
            if kinds:
                log.info("names in the history are verified: the admission policy is in place", extra=fields)
            else:
                message = "names in the history are not verified, field managers stand for them: %s"
                log.info(message, why, extra=fields)
