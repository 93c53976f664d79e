"""What the log knows and no watch has reported is asked for: it is gone, or a watch could not tell whose it is.

A watch reports what it has seen vanish. What it never saw can still come into the log, when the report of another
bridge arrives late: one that was paused, or whose reports lay in the inbox while the object went. Nothing else would
ever contradict such a report. If it still exists, it is a pod whose labels somebody has edited meanwhile: of which
replica it is only the log says, and nobody else would report its end.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from k8s_bridge.port import Cluster
from k8s_bridge.watchers import Bridge, Sink
from projectors.base import States
from statemachine.engine.clock import Clock
from statemachine.errors import ClusterError
from statemachine.observations import JobGone, Observation, PodGone

log = logging.getLogger(__name__)

ROUND: Final = 30.0
"""Seconds between two looks. What is missing in both is asked for; what is on its way has arrived by then."""


@dataclass
class Audit:
    """Asks for what a bridge has never reported, though the log knows it; what is really gone goes to `sink`."""

    states: States
    cluster: Cluster
    sink: Sink
    clock: Clock
    _missing: Mapping[str, Observation] = field(default_factory=dict)

    async def run(self, watching: Callable[[], Bridge | None]) -> None:
        """Looks now and then, for ever, at what the bridge that is `watching` misses."""
        while True:
            await asyncio.sleep(ROUND)
            try:
                await self.look(watching())
            except ClusterError as error:
                fields = {"action": "retry", "error": str(error)}
                log.warning("what is missing cannot be asked for now", extra=fields)

    async def look(self, bridge: Bridge | None) -> None:
        """Observes what was missing the last time and still is: that it does not exist, or the pod as it is.

        Raises ClusterError.
        """
        if bridge is None:
            self._missing = {}
            return
        before, self._missing = self._missing, bridge.missing()
        there: dict[tuple[str, str, str], set[str]] = {}
        for uid, gone in self._missing.items():
            place = self._place(gone)
            if uid not in before or place is None:
                continue
            if place not in there:
                there[place] = {manifest["metadata"]["uid"] for manifest in await self.cluster.list(*place)}
            if uid not in there[place]:
                log.warning("an object has vanished unseen", extra={"action": "audit", "uid": uid})
                await self.sink(gone.changed(at=self.clock.now()))
            elif isinstance(gone, PodGone):
                bridge.look_for(gone)

    def _place(self, gone: Observation) -> tuple[str, str, str] | None:
        """Where the object was: api version, kind, namespace. None if the log knows that it is gone."""
        state = self.states.state(gone.job)
        if state is None:
            return None
        if isinstance(gone, JobGone):
            return None if state.deleted else (state.api_version, state.object_kind, state.namespace)
        return "v1", "Pod", state.namespace
