"""Lets go of pods that the evidence finalizer holds and that no job will ever ask about.

Such pods are left when a job was deleted with its children orphaned, or when the log that knew it is gone. Whatever a
job of the log still waits for is left to the children projector, also a pod that somebody took from its job.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Final

from k8s_bridge.port import Cluster, Manifest, Ref
from projectors.base import States
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, PodUid

log = logging.getLogger(__name__)

_EVERY: Final = 5.0
"""Seconds between two looks, which cost a walk through the index. A namespace may be waiting to go."""


def _none() -> Collection[PodUid]:
    """For a log without pods."""
    return ()


class Sweeper:
    """Looks for orphans every now and then: those of jobs that are `mine`. `counted`: the pods that the log has."""

    name = "sweeper"

    def __init__(
        self,
        states: States,
        cluster: Cluster,
        mine: Callable[[JobUid], bool] = lambda _: True,
        counted: Callable[[], Collection[PodUid]] = _none,
    ) -> None:
        self._states, self._cluster, self._is_mine, self._counted = states, cluster, mine, counted
        self._before: set[str] = set()
        self.found = 0
        """Orphans at the last look."""
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
        """What was an orphan at the last look and still is has been let go.

        Twice, because a job may be new, and the watch of jobs behind that of pods. Raises ClusterUnavailable.
        """
        orphans = [each for each in await self._cluster.orphans() if self._is_nobodys(each)]
        if orphans:  # one without a controller does not say whose it is
            counted = self._counted()
            orphans = [each for each in orphans if each["metadata"]["uid"] not in counted]
        before, self._before = self._before, {each["metadata"]["uid"] for each in orphans}
        self.found = len(orphans)
        for each in orphans:
            if each["metadata"]["uid"] in before:
                await self._release(each)

    def _is_nobodys(self, pod: Manifest) -> bool:
        owners = pod["metadata"].get("ownerReferences") or ()
        job = next((each["uid"] for each in owners if each.get("controller")), "")
        if not self._is_mine(JobUid(job)):
            return False
        state = self._states.state(JobUid(job)) if job else None
        return state is None or state.closed

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
