"""Makes `.status` of the job objects follow the log: one patch a visit, and only if it differs."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

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
        self._written: dict[JobUid, bytes] = {}

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
        digest = _digest(wished)
        if self._written.get(job) == digest:
            return None
        ref = Ref(state.api_version, state.kind, state.namespace, state.name)
        try:
            if job in self._written or wished != await self._shown(ref, state):
                await self._cluster.patch_status(ref, job, wished, self._states.seq(job))
        except Missing:
            return None
        self._written[job] = digest
        return None

    async def _shown(self, ref: Ref, state: JobState) -> dict[str, Any]:
        """The status of the object itself: asked for once, after a restart."""
        found = await self._cluster.get(ref)
        if found["metadata"]["uid"] != state.uid:
            raise Missing(f"{ref} is another job by now")
        shown: dict[str, Any] = found.get("status", {})
        return shown


def _digest(status: Mapping[str, Any]) -> bytes:
    """Equal for statuses that were made equal: a hundredth of what keeping that of every job would take."""
    return hashlib.blake2b(to_json(status), digest_size=16).digest()
