"""Deletes job objects that nobody wants to keep any longer, as their log says (`JobExpired`).

The garbage collector, or the children projector once the job is gone, sees to what the job owns.
"""

from collections.abc import Sequence

from k8s_bridge.port import Cluster, Ref
from projectors.base import States
from statemachine import events as e
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid


class Expiry:
    """The level projector of job objects whose time is over."""

    name = "expiry"

    def __init__(self, states: States, cluster: Cluster) -> None:
        self._states, self._cluster = states, cluster

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """A job has expired."""
        return any(isinstance(each, e.JobExpired) for each in events)

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """Nobody waits for it; it says when it is due."""
        return self.concerns(events)

    async def visit(self, job: JobUid) -> None:
        """The deletion of an expired job has begun. One of its name with another uid is another job.

        Raises:
            ClusterUnavailable: the cluster does not answer, or refuses it; it is tried again, later and later.
        """
        state = self._states.state(job)
        if state is None or not state.expired or state.deleted:
            return
        ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
        try:
            await self._cluster.delete(ref, uid=job)
        except (Missing, Conflict):
            return  # it is gone, which the watch will tell
        except Refused as error:
            raise ClusterUnavailable(f"{ref} has expired and may not be deleted: {error.message}") from error
