"""Takes the evidence finalizer off pods that no job will ever ask about.

Such orphans remain when a user deletes a job and orphans its children, or when the log with the job is lost. The
children projector releases every pod that a job of the log still asks about, also one that was taken from its job.
"""

import asyncio
import logging
from collections.abc import Callable, Container
from typing import Final, Protocol

from k8s_bridge.observe import is_controlled
from k8s_bridge.port import Cluster, Manifest, Ref
from projectors.base import States
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, PodUid

log = logging.getLogger(__name__)

_EVERY: Final = 5.0
"""Seconds between two sweeps. A sweep walks through the index; a namespace may wait for it to be deleted."""


class StatesAndPods(States, Protocol):
    """The latest state of every job, and the pods that jobs of the log ask about."""

    def pods(self) -> Container[PodUid]:
        """Every pod that the log counts as a replica's."""

    def awaited_pods(self) -> Container[Ref]:
        """Every pod that a job has asked for and that the log does not have yet."""


class Sweeper:
    """Releases orphans of jobs that are `mine`, periodically."""

    name = "sweeper"

    def __init__(
        self,
        states: StatesAndPods,
        cluster: Cluster,
        mine: Callable[[JobUid], bool] = lambda _: True,
    ) -> None:
        self._states, self._cluster, self._is_mine = states, cluster, mine
        self._before: set[str] = set()
        self.orphans = 0
        """The number of orphans at the last sweep."""
        self.released = 0

    async def run(self) -> None:
        """Sweeps, for ever."""
        while True:
            await asyncio.sleep(_EVERY)
            try:
                await self.sweep()
            except ClusterUnavailable as error:
                log.info("orphans are looked for later", extra={"action": "sweep", "error": str(error)})

    async def sweep(self) -> None:
        """Releases every pod that was an orphan at the last sweep and still is.

        One sweep is not enough: a job may be new, its watch behind that of pods. Raises ClusterUnavailable.
        """
        orphans = [pod for pod in await self._cluster.orphans() if self._is_nobodys(pod)]
        if orphans:
            orphans = self._not_asked_about(orphans)
        before, self._before = self._before, {pod["metadata"]["uid"] for pod in orphans}
        self.orphans = len(orphans)
        for pod in orphans:
            if pod["metadata"]["uid"] in before:
                await self._release(pod)

    def _is_nobodys(self, pod: Manifest) -> bool:
        owners = pod["metadata"].get("ownerReferences") or ()
        job = next((owner["uid"] for owner in owners if owner.get("controller")), "")
        if not self._is_mine(JobUid(job)):
            return False
        state = self._states.state(JobUid(job)) if job else None
        return state is None or state.closed

    def _not_asked_about(self, orphans: list[Manifest]) -> list[Manifest]:
        """Those that no job of the log asks about: a pod without a controller does not name its job.

        One that has the name of a pod that a job waits for is that pod, and will be taken back; but what is being
        deleted is not (see `may_be_taken_back`), and stands in the way of the next pod of its name.
        """
        counted, awaited = self._states.pods(), self._states.awaited_pods()
        return [
            pod
            for pod in orphans
            if pod["metadata"]["uid"] not in counted
            and (is_controlled(pod) or "deletionTimestamp" in pod["metadata"] or Ref.of(pod) not in awaited)
        ]

    async def _release(self, pod: Manifest) -> None:
        ref, uid = Ref.of(pod), pod["metadata"]["uid"]
        try:
            await self._cluster.release(ref, uid)
        except (Missing, Conflict, Refused) as error:
            log.warning(
                "an orphan cannot be let go", extra={"action": "sweep", "pod": str(ref), "error": str(error)}
            )
            return
        self.released += 1
        log.info("a pod that no job asks about was let go", extra={"action": "sweep", "pod": str(ref)})
