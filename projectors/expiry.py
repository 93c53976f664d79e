"""Deletes job objects whose time to live is over, as their log says (`JobExpired`).

The garbage collector, or the children projector once the job is gone, deletes what the job owns.
"""

from collections.abc import Sequence

from k8s_bridge.port import Cluster, Ref
from projectors.base import States
from statemachine import events as e
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid


class Expiry:
    """The level projector of expired job objects."""

    name = "expiry"

    def __init__(self, states: States, cluster: Cluster) -> None:
        self._states, self._cluster = states, cluster

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """A job has expired."""
        return e.JobExpired in map(type, events)

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """An expiry is due when it is decided."""
        return self.concerns(events)

    async def visit(self, job: JobUid) -> None:
        """The deletion of an expired job has begun. An object of its name with another uid is another job.

        Raises:
            ClusterUnavailable: the cluster does not answer, or refuses; the queue visits again, with back-off.
        """
        state = self._states.state(job)
        if state is None or not state.expired or state.deleted:
            return
        ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
        try:
            await self._cluster.delete(ref, uid=job)
        except (Missing, Conflict):
            return  # the object is gone, and the watch will report it
        except Refused as error:
            raise ClusterUnavailable(f"{ref} has expired and may not be deleted: {error.message}") from error
