"""Makes the child objects follow the log: the view that everything else is about.

A visit compares what should exist with what does and acts, in order, one job at a time. What the cluster
refuses comes back as an observation, so that the state machine decides what follows (spec R3, R5 T4–T6).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal

from k8s_bridge.port import EVIDENCE, Cluster, Manifest, Ref
from projectors.base import States
from projectors.diff import Create, Delete, Release, SayAbsent, Update, Write, attempt_of, diff
from statemachine import events as e
from statemachine.desired import desired
from statemachine.engine.clock import Clock
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, ReplicaName
from statemachine.kinds import kind_of
from statemachine.kinds.base import Child
from statemachine.observations import Observation, PodGone, WriteRefused
from statemachine.phases import Phase
from statemachine.state import JobState

_RETRYABLE: Final = frozenset({403, 404, 408, 409, 429})
"""Statuses that a later attempt may not meet: quota, a kind not installed yet, a name in use. Source: spec
T5, R13."""

_LOOK_AGAIN: Final = 1.0
"""Seconds until leftovers that nobody will report on are looked for again."""

_OPTIONAL_AGAIN: Final = 60.0

_UNCONCERNING: Final = (
    e.Announced,
    e.ConditionsChanged,
    e.ReplicaCreated,
    e.ReplicaStarted,
    e.ReplicaUnreachable,
    e.ChildrenAccepted,
    e.RestartDenied,
    e.TimerSet,
    e.CleanedUp,
    e.UpdateIgnored,
    e.JobClosed,
)


class Children:
    """The level projector of child objects. `evidence` says whether pods get the evidence finalizer."""

    name = "children"

    def __init__(
        self,
        states: States,
        cluster: Cluster,
        observe: Callable[[Observation], Awaitable[None]],
        clock: Clock,
        *,
        evidence: bool = True,
    ) -> None:
        self._states, self._cluster, self._observe = states, cluster, observe
        self._clock, self._evidence = clock, evidence

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event changes what should exist, or lets a finalizer go."""
        return any(not isinstance(each, _UNCONCERNING) for each in events)

    async def visit(self, job: JobUid) -> float | None:
        """The job's children are as its latest state says, as far as the cluster lets them be."""
        state = self._states.state(job)
        if state is None or state.phase is Phase.NEW:
            return None
        live = await self._cluster.children(state.namespace, job)
        state = (
            self._states.state(job) or state
        )  # not older than what is there: a pod of it may be gone by now
        again: float | None = None
        for write in diff(state, desired(state), live):
            try:
                done = await self._write(state, write)
            except (Missing, Conflict):
                again = _LOOK_AGAIN
                continue
            if done == "stop":
                # a timer is set only for what an active job still waits for, and the rest was not made either
                again = _LOOK_AGAIN if state.phase.is_active else _OPTIONAL_AGAIN
                break
            if done == "again":
                again = _OPTIONAL_AGAIN
        return again

    async def _write(self, state: JobState, write: Write) -> Literal["done", "stop", "again"]:
        match write:
            case Create(child) if not self._is_awaited(state.uid, child):
                return "done"
            case Create(child):
                return await self._create(state, child)
            case Update(child, uid, merge):
                return await self._update(state, child, uid, merge)
            case Delete(ref, uid):
                await self._delete(state, ref, uid)
            case Release(ref, uid):
                await self._cluster.release(ref, uid)
            case SayAbsent(replica, attempt):
                await self._say_absent(state, replica, attempt)
        return "done"

    async def _say_absent(self, state: JobState, replica: ReplicaName, attempt: int) -> None:
        """No pod of the attempt exists, asked of the cluster itself: what is known of children may be late."""
        pod = kind_of(state.api_version, state.kind).pod_name(state, replica)
        try:
            found = await self._cluster.get(Ref("v1", "Pod", state.namespace, pod))
        except Missing:
            found = None
        if found is not None and attempt_of(found) >= attempt:
            raise Missing(f"pod {pod} was late")  # it will be in the next look at the children
        await self._observe(PodGone(job=state.uid, at=self._clock.now(), replica=replica, attempt=attempt))

    def _is_awaited(self, job: JobUid, child: Child) -> bool:
        """The job's state as it is now still waits for this very pod: writes take time, and it may have been seen."""
        state = self._states.state(job)
        if state is None or not child.replica:
            return state is not None
        replica = state.replicas.get(child.replica)
        return (
            replica is not None and replica.attempt == child.attempt and replica.has_pod and not replica.uid
        )

    async def _create(self, state: JobState, child: Child) -> Literal["done", "stop", "again"]:
        manifest = self._marked(state, child)
        try:
            await self._cluster.create(manifest)
        except Conflict as error:
            if await self._is_ours(state, Ref.of(manifest)):
                return "done"
            refused = self._refusal(state, child, 409, str(error), name_taken=True)
        except Refused as error:
            refused = self._refusal(state, child, error.status, error.message)
        except ClusterUnavailable as error:
            refused = self._refusal(state, child, 503, str(error))
        else:
            return "done"
        await self._observe(refused)
        return "again" if child.optional else "stop"

    def _marked(self, state: JobState, child: Child) -> Manifest:
        manifest = child.build()
        manifest["metadata"].setdefault("namespace", state.namespace)
        if self._evidence and child.kind == "Pod":
            manifest["metadata"]["finalizers"] = [*manifest["metadata"].get("finalizers", ()), EVIDENCE]
        return manifest

    async def _is_ours(self, state: JobState, ref: Ref) -> bool:
        """Raises Missing: it was there a moment ago; look again."""
        found = await self._cluster.get(ref)
        owners = found["metadata"].get("ownerReferences", ())
        return any(owner.get("controller") and owner.get("uid") == state.uid for owner in owners)

    async def _update(
        self, state: JobState, child: Child, uid: str, merge: Mapping[str, Any]
    ) -> Literal["done", "again"]:
        ref = Ref(child.api_version, child.kind, state.namespace, child.name)
        try:
            await self._cluster.patch(ref, merge, uid=uid)
        except Refused as error:
            await self._observe(self._refusal(state, child, error.status, error.message))
            return "again"
        return "done"

    async def _delete(self, state: JobState, ref: Ref, uid: str) -> None:
        try:
            await self._cluster.delete(ref, uid=uid)
        except Refused as error:
            await self._observe(
                WriteRefused(
                    job=state.uid,
                    at=self._clock.now(),
                    verb="delete",
                    kind=ref.kind,
                    name=ref.name,
                    status=error.status,
                    message=error.message,
                    retryable=True,
                )
            )
            raise ClusterUnavailable(error.message) from error

    def _refusal(
        self, state: JobState, child: Child, status: int, message: str, *, name_taken: bool = False
    ) -> WriteRefused:
        return WriteRefused(
            job=state.uid,
            at=self._clock.now(),
            verb="create",
            kind=child.kind,
            name=child.name,
            status=status,
            message=message,
            retryable=name_taken or status in _RETRYABLE or status >= 500,
            name_taken=name_taken,
            replica=child.replica,
            attempt=child.attempt,
        )
