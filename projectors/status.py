"""Makes `.status` of the job objects follow the log: one patch a visit, and only if it differs."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from k8s_bridge.port import Cluster, Ref
from projectors.base import States
from statemachine import events as e
from statemachine.errors import Missing
from statemachine.ids import JobUid
from statemachine.status import status

_LOOK_AGAIN: Final = 5.0
"""Seconds until a status that is not what was written last is set right: the report may be an old one."""

_MISSING_AGAIN: Final = 30.0
"""Seconds until a job that is not there, and that nobody has said to be gone, is looked for again."""

_REWRITES: Final = 3
"""How often in a row the same status is written over one that the cluster shows instead."""


_NOT_SHOWN: Final = (e.Announced, e.TimerSet, e.TimerCleared, e.LabelsChanged)


class Status:
    """The level projector of job statuses."""

    name = "status"

    def __init__(self, states: States, cluster: Cluster) -> None:
        self._states, self._cluster = states, cluster
        self._written: dict[JobUid, bytes] = {}
        self._shown: dict[JobUid, bytes] = {}
        self._strayed: dict[JobUid, float] = {}
        """Since when (loop time) a job shows another status than the one written last."""
        self._rewrites: dict[JobUid, int] = {}

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event shows in the status."""
        return any(not isinstance(each, _NOT_SHOWN) for each in events)

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """A phase is shown at once; counts of replicas may wait, and then take one write for several changes."""
        return any(isinstance(each, e.PhaseEntered) for each in events)

    def shown(self, job: JobUid, status: Mapping[str, Any]) -> float | None:
        """The job object has this status; after how many seconds to visit the job if it is not ours, else None."""
        digest = self._shown[job] = digest_of(status)
        written = self._written.get(job)
        if written is None:
            return None
        if written == digest:
            self._strayed.pop(job, None)
            self._rewrites.pop(job, None)
            return None
        self._strayed.setdefault(job, asyncio.get_running_loop().time())
        return _LOOK_AGAIN

    async def visit(self, job: JobUid) -> float | None:
        """The job object's status is the one folded from the log; a job that is gone has none."""
        state = self._states.state(job)
        if state is None or state.deleted:
            self._forget(job)
            return None
        wished = status(state)
        digest = digest_of(wished)
        if job not in self._written and self._shown.get(job) == digest:
            self._written[job] = digest
        if self._written.get(job) == digest:
            left = self._until_rewrite(job)
            if left is None or left > 0:
                return left
            self._rewrites[job] = self._rewrites.get(job, 0) + 1
        # noted before the write: the watch may show its effect before the answer is here
        self._written[job] = digest
        self._strayed.pop(job, None)
        ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
        try:
            await self._cluster.patch_status(ref, job, wished, self._states.seq(job))
        except Missing:
            self._written.pop(job, None)
            return _MISSING_AGAIN
        except BaseException:
            self._written.pop(job, None)
            raise
        return None

    def _until_rewrite(self, job: JobUid) -> float | None:
        """Seconds until a status that is shown in the place of ours is no late report any more.

        None if ours is shown, and if it was written again and again in vain.
        """
        since = self._strayed.get(job)
        if since is None or self._rewrites.get(job, 0) >= _REWRITES:
            return None
        return since + _LOOK_AGAIN - asyncio.get_running_loop().time()

    def _forget(self, job: JobUid) -> None:
        for known in (self._written, self._shown, self._strayed, self._rewrites):
            known.pop(job, None)


def digest_of(status: Mapping[str, Any]) -> bytes:
    """Equal for equal statuses: a hundredth of what keeping that of every job would take."""
    text = json.dumps(status, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
