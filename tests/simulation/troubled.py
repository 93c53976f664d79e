"""Worlds with a troubled API server: errors by status, watches that mislead, nodes and namespaces that go."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from k8s_bridge.observe import is_controlled, is_in_sight
from k8s_bridge.port import Cluster, Manifest
from tests.simulation import chaos, chaos_cluster, chaos_log, chaos_parts
from tests.simulation.chaos import Action
from tests.simulation.shapes import Script
from tests.simulation.world import World
from tests.support.api_faults import Past, TroubledCluster
from tests.support.faults import Life
from tests.support.memory_cluster import MemoryCluster
from tests.support.nodes import NodesCluster
from tests.support.sim_pods import SimStep

API_ODDS: Final = {
    "unauthorized": 0.1,
    "throttled": 0.1,
    "server_error": 0.1,
    "webhook_down": 0.15,
    "webhook_denies": 0.15,
    "silent": 0.05,
    "no_bookmarks": 0.5,
    "stale_list": 0.5,
    "stale_reads": 0.3,
}
"""What an API server answers, and how likely each is at most."""

_TIDIED_AFTER: Final = 150.0
"""Seconds of calm: a process may be stopped, or away, for most of them."""


class TroubledWorld(World):
    """One controller, and an API server with all that can be wrong with one."""

    odds: ClassVar[Mapping[str, float]] = API_ODDS
    actions: ClassVar[Sequence[Action]] = (
        *chaos.ACTIONS,
        *chaos_cluster.ACTIONS,
        *chaos_log.ACTIONS,
        *chaos_parts.OF_ANY,
    )
    share: ClassVar[float] = 0.2
    silence: ClassVar[float | None] = 30.0

    def _new_cluster(self, fates: Script) -> MemoryCluster:
        def script(pod: Manifest) -> Sequence[SimStep]:
            return fates.script(pod) if is_controlled(pod) else (SimStep(0.1, "Running"),)

        self.nodes = NodesCluster(
            clock=self.clock.now, script=script, admit=self._admit, written=self.clock.true
        )
        return self.nodes

    def _prepare(self) -> None:
        self.past = Past(self.cluster)

    def cluster_of(self, life: Life) -> Cluster:
        """See World."""
        return TroubledCluster(self.cluster, life, self.past)

    def calm(self) -> None:
        """See World. Later somebody tidies up: what nobody owns would keep its name for ever."""
        super().calm()
        asyncio.get_running_loop().call_later(_TIDIED_AFTER, self._tidy)

    def _tidy(self) -> None:
        """Pods that were taken from their jobs are removed: the job is gone, or no label says that they are its.

        So are those of which no watch shows that their job is gone, and which are held for the log.
        """
        jobs = {job["metadata"]["uid"] for job in self.live_jobs()}
        for pod in list(self.cluster.objects.peek_all("Pod")):
            life = self.pods.pods.get(pod["metadata"]["uid"])
            if life is None or (is_controlled(pod) and (life.key[0] in jobs or is_in_sight(pod))):
                continue
            if life.key[0] not in jobs:
                self.note(f"pod {pod['metadata']['name']} {life.uid} is nobody's, and removed")
                self.cluster.delete_pod(pod["metadata"]["namespace"], pod["metadata"]["name"], force=True)
            elif not pod["metadata"].get("labels") or self.pods.is_nobody_s(life.uid):
                self.delete_pod(pod, force=True)  # the job may wait for the name
