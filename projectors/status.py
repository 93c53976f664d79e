"""Makes `.status` of the job objects follow the log: one patch a visit, and only if it differs."""

from collections.abc import Sequence
from typing import Any

from k8s_bridge.port import Cluster, Ref
from projectors.base import States
from statemachine import events as e
from statemachine.errors import Missing
from statemachine.ids import JobUid
from statemachine.state import JobState
from statemachine.status import status


class Status:
    """The level projector of job statuses."""

    name = "status"

    def __init__(self, states: States, cluster: Cluster) -> None:
        self._states, self._cluster = states, cluster
        self._written: dict[JobUid, dict[str, Any]] = {}

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event shows in the status."""
        return any(not isinstance(each, e.Announced | e.TimerSet | e.TimerCleared) for each in events)

    async def visit(self, job: JobUid) -> float | None:
        """The job object's status is the one folded from the log; a job that is gone has none."""
        state = self._states.state(job)
        if state is None or state.deleted:
            self._written.pop(job, None)
            return None
        wished = status(state)
        ref = Ref(state.api_version, state.kind, state.namespace, state.name)
        try:
            if wished != await self._known(ref, state):
                await self._cluster.patch_status(ref, job, wished, self._states.seq(job))
        except Missing:
            return None
        self._written[job] = wished
        return None

    async def _known(self, ref: Ref, state: JobState) -> dict[str, Any]:
        """What was written last; after a restart the object itself is asked, once."""
        if state.uid not in self._written:
            found = await self._cluster.get(ref)
            if found["metadata"]["uid"] != state.uid:
                raise Missing(f"{ref} is another job by now")
            self._written[state.uid] = found.get("status", {})
        return self._written[state.uid]
