"""Makes `.status` of job objects follow the log: a patch for every change of phase or conditions.

A watch of the job shows all of these, however fast they follow each other. If only counts change, the latest are
written, and an equal status is not written again. A status lets pods of its job pass for a moment. The backlog of an
outage is bounded: of more than `MOST_KEPT` changes the oldest are never written. A new process begins with the latest
status.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec.json import Encoder

from k8s_bridge.port import Cluster, Ref
from projectors.base import States
from projectors.leisure import Leisure, Patience, Rush
from statemachine import events as e
from statemachine.errors import Missing, Refused
from statemachine.ids import JobUid, Seq
from statemachine.redact import Same, Secrets, redacted, secrets_of
from statemachine.state import JobState
from statemachine.status import status

_SORTED: Final = Encoder(order="sorted")

_LOOK_AGAIN: Final = 5.0
"""Seconds until a status that differs from the last one written is corrected: the report may be an old one."""

_MOMENT: Final = 1.0
"""Seconds from a change to the next write of counts of replicas, which are no change."""

_COUNTED_WITHIN: Final = Patience(5.0, crowded=5.0)
"""How long counts let more urgent writes pass."""

_MISSING_AGAIN: Final = 30.0
"""Seconds until the next look for a job object that is missing without a report of its deletion."""

_BEHIND_PODS: Final = 0.25
"""Seconds for which a status lets pods of its job pass. That of a large job costs the API server as much as many."""

_REWRITES: Final = 3
"""How often in a row the same status is written over one that the cluster shows instead."""


MOST_KEPT: Final = 16
"""Changes of a job that wait to be written: restarts of several replicas, and an end."""

_NOT_SHOWN: Final[frozenset[type[e.Event]]] = frozenset(
    {e.Announced, e.TimerSet, e.TimerCleared, e.LabelsChanged}
)

_SHOWN_AT_ONCE: Final[frozenset[type[e.Event]]] = frozenset({e.PhaseEntered, e.ConditionsChanged})


class _Change(NamedTuple):
    """The job after an entry that changed its phase or conditions."""

    seq: Seq
    state: JobState


class Status:
    """The level projector of job statuses."""

    name = "status"

    def __init__(self, states: States, cluster: Cluster, rush: Rush | None = None) -> None:
        self._states, self._cluster = states, cluster
        self._rush = rush or Rush()
        self._counts = Leisure(self._rush, _COUNTED_WITHIN)
        self._written: dict[JobUid, bytes] = {}
        self._shown: dict[JobUid, bytes] = {}
        self._strayed: dict[JobUid, float] = {}
        """Since when (loop time) a job object has another status than the last one written."""
        self._rewrites: dict[JobUid, int] = {}
        self._changes: dict[JobUid, deque[_Change]] = {}
        self._seqs: dict[JobUid, Seq] = {}
        """The entry of the status that was written last."""
        self._yielding: dict[JobUid, float] = {}
        """Since when (loop time) the status of a job lets its pods pass."""

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event shows in the status."""
        return not _NOT_SHOWN.issuperset(map(type, events))

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """A phase or condition is shown at once; counts of replicas may wait, one write for several changes."""
        return not _SHOWN_AT_ONCE.isdisjoint(map(type, events))

    def changed(self, job: JobUid, seq: Seq, before: JobState, after: JobState) -> None:
        """Notes that the entry `seq` turned `before` into `after`: a visit writes what users can wait for."""
        if seq <= self._seqs.get(job, 0) or after.deleted:
            return
        if before.phase is after.phase and before.conditions is after.conditions:
            return
        if _waited_for(before) != _waited_for(after):
            self._changes.setdefault(job, deque(maxlen=MOST_KEPT)).append(_Change(seq, after))

    def begin_anew(self) -> None:
        """Drops pending changes: another process may have written them, but for the latest status."""
        self._changes.clear()

    def shown(self, job: JobUid, status: Mapping[str, Any]) -> float | None:
        """Notes the job object's status. Returns the seconds until a visit if it is not ours, else None."""
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
        """Brings the job object's status to the log's, by way of every change; a job that is gone has none."""
        if yielding := self._behind_pods(job):
            return yielding
        changed = bool(self._changes.get(job)) and self._of(job) is not None
        if changed and (wait := await self._visit_changes(job)) is not None:
            return wait
        state = self._of(job)
        if state is None:
            self._forget(job)
            return None
        desired = _published(state)
        digest = digest_of(desired)
        if changed and self._written.get(job, digest) != digest:
            return _MOMENT
        if job not in self._written and self._shown.get(job) == digest:
            self._written[job] = digest
        if self._written.get(job) == digest:
            self._counts.drop(job)
            remaining = self._until_rewrite(job)
            if remaining is None or remaining > 0:
                return remaining
            self._rewrites[job] = self._rewrites.get(job, 0) + 1
        elif job in self._written and (remaining := self._counts.remaining(job)):
            return remaining
        return await self._write(job, state, desired, self._states.seq(job))

    def _behind_pods(self, job: JobUid) -> float:
        """Seconds until the status is written although pods that have to be made, or to go, are not yet."""
        state = self._of(job)
        if state is None or state.phase.is_final or not _awaits_pods(state):
            self._yielding.pop(job, None)
            return 0.0
        now = asyncio.get_running_loop().time()
        return max(0.0, self._yielding.setdefault(job, now) + _BEHIND_PODS - now)

    def _of(self, job: JobUid) -> JobState | None:
        """The latest state of a job that has a status."""
        state = self._states.state(job)
        return None if state is None or state.deleted else state

    async def _visit_changes(self, job: JobUid) -> float | None:
        """Writes the pending changes of the job. Returns the seconds until a failed write is tried again."""
        changes = self._changes.get(job)
        while changes:
            change = changes[0]
            desired = _published(change.state)
            try:
                if self._written.get(job, self._shown.get(job)) != digest_of(desired):
                    self._rush.write()
                    wait = await self._write(job, change.state, desired, change.seq)
                    if wait is not None:
                        return wait
            except Refused:
                _drop(changes, change)  # the cluster may take the next ones
                raise
            _drop(changes, change)
        self._changes.pop(job, None)
        return None

    async def _write(self, job: JobUid, state: JobState, desired: dict[str, Any], seq: Seq) -> float | None:
        """Writes the status `desired`, that of `state`. Returns the seconds until a missing job is read again."""
        digest = digest_of(desired)
        self._counts.drop(job)
        # noted before the write: the watch may show its effect before the response arrives
        self._written[job] = digest
        before, self._seqs[job] = self._seqs.get(job, Seq(0)), seq
        self._strayed.pop(job, None)
        ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
        try:
            await self._cluster.patch_status(ref, job, desired, seq)
        except Missing:
            self._written.pop(job, None)
            return _MISSING_AGAIN
        except BaseException:
            self._written.pop(job, None)
            self._seqs[job] = before
            raise
        return None

    def _until_rewrite(self, job: JobUid) -> float | None:
        """Seconds until a status that differs from ours cannot be a late report any more.

        None if the object has ours, and if several rewrites did not help.
        """
        since = self._strayed.get(job)
        if since is None or self._rewrites.get(job, 0) >= _REWRITES:
            return None
        return since + _LOOK_AGAIN - asyncio.get_running_loop().time()

    def _forget(self, job: JobUid) -> None:
        for kept in (self._written, self._shown, self._strayed, self._rewrites):
            kept.pop(job, None)
        self._changes.pop(job, None)
        self._seqs.pop(job, None)
        self._yielding.pop(job, None)
        self._counts.drop(job)


def _awaits_pods(state: JobState) -> bool:
    """A pod is to be made, and was not observed yet, or is to go, and has not gone."""
    return any(replica.leaving or replica.awaits_pod for replica in state.replicas.values())


def _waited_for(state: JobState) -> object:
    """What users wait for: phase and conditions, without their times and messages."""
    return state.phase, [
        (condition.type, condition.status, condition.reason) for condition in state.conditions
    ]


def _drop(changes: deque[_Change], change: _Change) -> None:
    """Removes a change that is done; newer ones may have pushed it out."""
    if changes and changes[0] is change:
        changes.popleft()


def _published(state: JobState) -> dict[str, Any]:
    """The status without the secrets that messages quote: older logs hold such messages. Nobody modifies it."""
    return _made_of(Same(state))


@lru_cache(maxsize=64)
def _made_of(same: Same) -> dict[str, Any]:
    """A visit asks for that of one state again: when it shows what has changed, and when it compares the last."""
    state: JobState = same.held
    published = status(state)
    conditions: Sequence[dict[str, str]] = published.get("conditions", ())
    if not conditions:
        return published
    secrets = secrets_of(state.spec)
    return {**published, "conditions": [_quoting_nothing(tuple(one.items()), secrets) for one in conditions]}


@lru_cache(maxsize=1024)
def _quoting_nothing(condition: tuple[tuple[str, str], ...], secrets: Secrets) -> dict[str, Any]:
    """A condition without the secrets that it quotes. Most stay as they are from state to state."""
    shown: dict[str, Any] = redacted(dict(condition), secrets)
    return shown


def digest_of(status: Mapping[str, Any]) -> bytes:
    """A digest of a status: it takes a hundredth of the memory of a status."""
    return hashlib.blake2b(_SORTED.encode(status), digest_size=16).digest()
