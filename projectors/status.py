"""Makes `.status` of the job objects follow the log: a patch for every change of phase or conditions.

A watch of the job misses none of these, however fast they follow each other; of counts that change alone only the
latest are written, and a status that is there already is not. What has piled up while the API server was away is
bounded: of more than `MOST_KEPT` changes the oldest are never written. Neither are those that a process which has
ended had not come to: the next one begins with the latest status.
"""

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from k8s_bridge.port import Cluster, Ref
from projectors.base import States
from statemachine import events as e
from statemachine.errors import Missing, Refused
from statemachine.ids import JobUid, Seq
from statemachine.redact import Same, redacted, secrets_of
from statemachine.state import JobState
from statemachine.status import status

_LOOK_AGAIN: Final = 5.0
"""Seconds until a status that is not what was written last is set right: the report may be an old one."""

_MOMENT: Final = 1.0
"""Seconds from a change to the next write of what has changed since without being one: counts of replicas."""

_MISSING_AGAIN: Final = 30.0
"""Seconds until a job that is not there, and that nobody has said to be gone, is looked for again."""

_REWRITES: Final = 3
"""How often in a row the same status is written over one that the cluster shows instead."""


MOST_KEPT: Final = 16
"""Changes of a job that wait to be written: restarts of several replicas, and an end."""

_NOT_SHOWN: Final = (e.Announced, e.TimerSet, e.TimerCleared, e.LabelsChanged)


class _Change(NamedTuple):
    """The job after an entry that changed its phase or conditions."""

    seq: Seq
    state: JobState


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
        self._changes: dict[JobUid, deque[_Change]] = {}
        self._seqs: dict[JobUid, Seq] = {}
        """The entry after which the status was written last."""

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event shows in the status."""
        return any(not isinstance(each, _NOT_SHOWN) for each in events)

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """A phase or condition is shown at once; counts of replicas may wait, one write for several changes."""
        return any(isinstance(each, e.PhaseEntered | e.ConditionsChanged) for each in events)

    def changed(self, job: JobUid, seq: Seq, before: JobState, after: JobState) -> None:
        """The entry `seq` made `after` of `before`: a visit will show that in its turn, if users may wait for it."""
        if seq <= self._seqs.get(job, 0) or after.deleted:
            return
        if _waited_for(before) != _waited_for(after):
            self._changes.setdefault(job, deque(maxlen=MOST_KEPT)).append(_Change(seq, after))

    def begin_anew(self) -> None:
        """Somebody else may have written for a while: only the latest status is known to be still to come."""
        self._changes.clear()

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
        """The job object's status is the log's, by way of every change; a job that is gone has none."""
        changed = bool(self._changes.get(job)) and self._of(job) is not None
        if changed and (wait := await self._visit_changes(job)) is not None:
            return wait
        state = self._of(job)
        if state is None:
            self._forget(job)
            return None
        wished = _published(state)
        digest = digest_of(wished)
        if changed and self._written.get(job, digest) != digest:
            return _MOMENT
        if job not in self._written and self._shown.get(job) == digest:
            self._written[job] = digest
        if self._written.get(job) == digest:
            left = self._until_rewrite(job)
            if left is None or left > 0:
                return left
            self._rewrites[job] = self._rewrites.get(job, 0) + 1
        return await self._write(job, state, wished, self._states.seq(job))

    def _of(self, job: JobUid) -> JobState | None:
        """The latest state of a job that has a status."""
        state = self._states.state(job)
        return None if state is None or state.deleted else state

    async def _visit_changes(self, job: JobUid) -> float | None:
        """What the job has been meanwhile was written; else seconds until that is tried again."""
        changes = self._changes.get(job)
        while changes:
            change = changes[0]
            wished = _published(change.state)
            try:
                if self._written.get(job, self._shown.get(job)) != digest_of(wished):
                    wait = await self._write(job, change.state, wished, change.seq)
                    if wait is not None:
                        return wait
            except Refused:
                _drop(changes, change)  # the ones after it may be taken
                raise
            _drop(changes, change)
        self._changes.pop(job, None)
        return None

    async def _write(self, job: JobUid, state: JobState, wished: dict[str, Any], seq: Seq) -> float | None:
        """The job object has the status `wished`, that of `state`; seconds until a missing one is asked for again."""
        digest = digest_of(wished)
        # noted before the write: the watch may show its effect before the answer is here
        self._written[job] = digest
        before, self._seqs[job] = self._seqs.get(job, Seq(0)), seq
        self._strayed.pop(job, None)
        ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
        try:
            await self._cluster.patch_status(ref, job, wished, seq)
        except Missing:
            self._written.pop(job, None)
            return _MISSING_AGAIN
        except BaseException:
            self._written.pop(job, None)
            self._seqs[job] = before
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
        self._changes.pop(job, None)
        self._seqs.pop(job, None)


def _waited_for(state: JobState) -> object:
    """What users wait for: phase and conditions, whenever they were updated and whatever they say of it."""
    return state.phase, [(each.type, each.status, each.reason) for each in state.conditions]


def _drop(changes: deque[_Change], change: _Change) -> None:
    """It is dealt with; it may have been pushed out meanwhile."""
    if changes and changes[0] is change:
        changes.popleft()


def _published(state: JobState) -> dict[str, Any]:
    """The status without the secrets that messages quote: older logs hold such messages. Nobody modifies it."""
    return _made_of(Same(state))


@lru_cache(maxsize=64)
def _made_of(same: Same) -> dict[str, Any]:
    """A visit asks for that of one state again: when it shows what has changed, and when it compares the last."""
    state: JobState = same.held
    wished = status(state)
    conditions = wished.get("conditions")
    return {**wished, "conditions": redacted(conditions, secrets_of(state.spec))} if conditions else wished


def digest_of(status: Mapping[str, Any]) -> bytes:
    """Equal for equal statuses: a hundredth of what keeping that of every job would take."""
    text = json.dumps(status, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
