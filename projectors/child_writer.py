"""Carries out what a visit of children has to write, and reports what the cluster makes of it.

A refusal of the cluster comes back as an observation, so that the state machine decides what follows (spec R3,
R5 T4–T6).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from enum import Enum, auto
from typing import Any, Final

from k8s_bridge.env_values import EnvValues, Unresolved, needs_values
from k8s_bridge.observe import is_controlled, observe
from k8s_bridge.port import EVIDENCE, Change, Cluster, Manifest, Ref, Verb
from k8s_bridge.ssh_keys import Generate
from projectors.base import States
from projectors.diff import (
    Await,
    Create,
    Delete,
    Hold,
    Relabel,
    Release,
    Report,
    SayAbsent,
    SayTaken,
    TakeBack,
    Update,
    Write,
    attempt_of,
)
from projectors.made_pods import MadePod, MadePods
from projectors.taking_back import may_be_taken_back, take_back
from statemachine.engine.clock import Clock
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.kinds import kind_of
from statemachine.observations import ChildObserved, Observation, PodGone, WriteRefused
from statemachine.owned import Child
from statemachine.state import JobState

_RETRYABLE: Final = frozenset({403, 404, 408, 409, 429})
"""Statuses that a later write may not get: quota, a kind not installed yet, a name in use. Source: spec
T5, R13."""

_REPORTED_WITHIN: Final = timedelta(seconds=10)
"""How long a watch may take to report a pod of ours that is gone; after that the projector reports it."""


class Done(Enum):
    """The outcome of a write."""

    DONE = auto()
    MADE = auto()
    """The object exists, but may vanish before a watch shows it."""
    REFUSED = auto()
    """The cluster refused: no more objects are created."""
    OPTIONAL_REFUSED = auto()
    """The cluster refused an object that the job does not depend on."""
    NOT_THERE = auto()
    """The object is gone, or another one: the job is visited again."""


class ChildWriter:
    """Writes children of jobs.

    `evidence` says whether pods get the evidence finalizer; `generators` make the data that `Child.generates` names;
    `env_values` resolves the references to values in the log.
    """

    def __init__(
        self,
        states: States,
        cluster: Cluster,
        observe: Callable[[Observation], Awaitable[None]],
        clock: Clock,
        *,
        evidence: bool,
        generators: Mapping[str, Generate],
        env_values: EnvValues,
    ) -> None:
        self._states, self._cluster, self._observe, self._clock = states, cluster, observe, clock
        self._evidence, self._generators, self._env_values = evidence, generators, env_values
        self._values: dict[JobUid, Mapping[str, str]] = {}
        """For jobs under a visit, the values of the references in their pods."""
        self.made = MadePods()

    def visited(self, job: JobUid) -> None:
        """A visit of the job has ended. The values of its references are read anew by the next one."""
        self._values.pop(job, None)

    async def write(self, state: JobState, groups: Sequence[Sequence[Write]]) -> list[Done | WriteRefused]:
        """Writes each group in order, and all groups at the same time. Returns the outcomes.

        A failure of one does not stop the others.
        """
        if len(groups) == 1:
            return await self._in_order(state, groups[0])
        answers = await asyncio.gather(
            *(self._in_order(state, group) for group in groups), return_exceptions=True
        )
        dones: list[Done | WriteRefused] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            dones += answer
        return dones

    async def _in_order(self, state: JobState, writes: Sequence[Write]) -> list[Done | WriteRefused]:
        dones: list[Done | WriteRefused] = []
        for write in writes:
            try:
                dones.append(await self._write(state, write))
            except (Missing, Conflict):
                dones.append(Done.NOT_THERE)
        return dones

    async def _write(self, state: JobState, write: Write) -> Done | WriteRefused:
        match write:
            case Create(child) if not self._is_awaited(state.uid, child):
                return Done.DONE
            case Create(child) if (before := self.made.before(state.uid, child)) is not None:
                return await self._say_gone(state, child, before)
            case Create(child) if child.once and state.child(child.kind, child.name) is not None:
                return await self._look_for(state, child)
            case Create(child):
                return await self._create(state, child)
            case Update(child, uid, merge):
                return await self._update(state, child, uid, merge)
            case Delete(ref, uid, version):
                await self._delete(state, ref, uid, version)
            case Release(ref, uid, _):
                await self._cluster.release(ref, uid)
            case SayAbsent(replica, attempt):
                await self._say_absent(state, replica, attempt)
            case Hold() | Await():
                return Done.NOT_THERE
            case TakeBack(ref, uid, labels):
                pod = await self._cluster.get(ref)
                is_it = pod["metadata"]["uid"] == uid and not is_controlled(pod)
                return await self._take_back(state, pod, labels=labels) if is_it else Done.NOT_THERE
            case Relabel(ref, uid, labels):
                await self._cluster.patch(ref, {"metadata": {"labels": dict(labels)}}, uid=uid)
                return Done.NOT_THERE
            case SayTaken(replica, attempt, uid):
                gone = PodGone(job=state.uid, at=self._clock.now(), replica=replica, attempt=attempt, uid=uid)
                await self._observe(gone)
            case Report(ref, uid):
                return await self._report(ref, uid)
        return Done.DONE

    async def _say_absent(self, state: JobState, replica: ReplicaName, attempt: int) -> None:
        """Reports that no pod of the attempt exists, after a read from the cluster, as the index may be late.

        A pod of that name may be another job's: one that has been deleted and created again has the same names.
        """
        pod = kind_of(state.api_version, state.kind).pod_name(state, replica)
        try:
            live = await self._cluster.get(Ref("v1", "Pod", state.namespace, pod))
        except Missing:
            live = None
        if live is not None and _is_controlled_by(live, state.uid) and attempt_of(live) >= attempt:
            raise Missing(f"pod {pod} was late")  # the next look at the children will have it
        await self._observe(PodGone(job=state.uid, at=self._clock.now(), replica=replica, attempt=attempt))

    async def _say_gone(self, state: JobState, child: Child, made: MadePod) -> Done:
        """Reports that a pod of ours is gone if no watch does in time; a watch may know its end, too.

        If the pod exists and only its owner references or labels are gone, the projector restores them.
        """
        now = self._clock.now()
        made.missing_since = made.missing_since or now
        if now - made.missing_since < _REPORTED_WITHIN:
            return Done.NOT_THERE
        with suppress(Missing):
            pod = await self._cluster.get(Ref(child.api_version, child.kind, state.namespace, child.name))
            if pod["metadata"]["uid"] == made.uid:
                manifest = child.build()
                if not is_controlled(pod):
                    return await self._take_back(state, pod, labels=manifest["metadata"]["labels"])
                if _is_controlled_by(pod, state.uid):
                    await self._make_visible(pod, manifest)
                    return Done.NOT_THERE
        gone = PodGone(job=state.uid, at=now, replica=child.replica, attempt=made.attempt, uid=made.uid)
        await self._observe(gone)
        return Done.NOT_THERE

    async def _look_for(self, state: JobState, child: Child) -> Done:
        """Reports that a child that is made once is gone. One that has lost its labels gets them back."""
        with suppress(Missing):
            live = await self._cluster.get(Ref(child.api_version, child.kind, state.namespace, child.name))
            if _is_controlled_by(live, state.uid):
                await self._make_visible(live, child.build())
                return Done.NOT_THERE
        await self._observe(
            ChildObserved(job=state.uid, at=self._clock.now(), kind=child.kind, name=child.name, uid="")
        )
        return Done.DONE

    def _is_awaited(self, job: JobUid, child: Child) -> bool:
        """The job's present state still waits for this very pod.

        Writes take time: the pod may have been observed, or may not be desired any more.
        """
        state = self._states.state(job)
        if state is None or not child.replica:
            return state is not None
        replica = state.replicas.get(child.replica)
        if replica is None or replica.leaving:
            return False
        return replica.attempt == child.attempt and replica.awaits_pod

    async def _create(self, state: JobState, child: Child) -> Done | WriteRefused:
        manifest = self._marked(state, child)
        try:
            if child.generates:
                await self._generate(child, manifest)
            if needs_values(manifest):
                manifest = await self._with_values(state, manifest, child.expand)
            stored = await self._cluster.create(manifest)
        except Conflict as error:
            live = await self._cluster.get(Ref.of(manifest))
            if _is_controlled_by(live, state.uid):
                await self._make_visible(live, manifest)
                return Done.NOT_THERE if attempt_of(live) < child.attempt else Done.DONE
            if child.replica and may_be_taken_back(live, manifest):
                return await self._take_back(state, live, child.attempt)
            return self._refusal(state, child, 409, str(error), name_taken=True)
        except Unresolved as error:  # a user may put the values back: it is tried again
            return self._refusal(state, child, 409, str(error))
        except Refused as error:
            return self._refusal(state, child, error.status, error.message)
        except ClusterUnavailable as error:
            return self._refusal(state, child, 503, str(error))
        if child.replica:
            self.made.add(state.uid, child, PodUid(stored["metadata"]["uid"]))
        if child.once:  # a watch may never show it: one that is deleted at once would be made again
            for observation in observe(Change(Verb.ADDED, stored, self._clock.now())):
                await self._observe(observation)
        return Done.MADE

    async def _take_back(
        self,
        state: JobState,
        pod: Manifest,
        attempt: int = 0,
        *,
        labels: Mapping[str, str] | None = None,
    ) -> Done:
        uid = pod["metadata"]["uid"]
        has_its_end = any(replica.uid == uid and replica.ended for replica in state.replicas.values())
        evidence = self._evidence and not has_its_end
        taken = await take_back(self._cluster, state, pod, attempt, labels=labels, evidence=evidence)
        return Done.NOT_THERE if taken else Done.DONE

    async def _report(self, ref: Ref, uid: str) -> Done:
        """Observes the present object, as a watch would."""
        live = await self._cluster.get(ref)
        if live["metadata"]["uid"] == uid:
            for observation in observe(Change(Verb.MODIFIED, live, self._clock.now())):
                await self._observe(observation)
        return Done.NOT_THERE

    async def _generate(self, child: Child, manifest: Manifest) -> None:
        """Adds generated data to the manifest. Raises Conflict if the object exists, and needs no data."""
        with suppress(Missing):
            ref = Ref.of(await self._cluster.get(Ref.of(manifest)))
            raise Conflict(f'{ref.kind} "{ref.name}" already exists', exists=True)
        manifest["data"] = dict(await self._generators[child.generates]())

    async def _with_values(
        self, state: JobState, manifest: Manifest, expand: Callable[[str], str] | None = None
    ) -> Manifest:
        """The manifest with values in place of the log's references. Raises Unresolved, Missing."""
        if state.uid not in self._values:
            ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
            job = await self._cluster.get(ref)
            if job["metadata"]["uid"] != state.uid:
                raise Missing(f"{ref} is another job by now")
            self._values[state.uid] = self._env_values.values(job)
        return self._env_values.resolved(manifest, self._values[state.uid], expand)

    def _marked(self, state: JobState, child: Child) -> Manifest:
        manifest = child.build()
        manifest["metadata"].setdefault("namespace", state.namespace)
        if self._evidence and child.kind == "Pod":
            manifest["metadata"]["finalizers"] = [*manifest["metadata"].get("finalizers", ()), EVIDENCE]
        return manifest

    async def _make_visible(self, live: Manifest, desired_manifest: Manifest) -> None:
        """Restores the labels of a child, without which no watch shows it."""
        labels = desired_manifest["metadata"].get("labels") or {}
        has = live["metadata"].get("labels") or {}
        if lost := {key: value for key, value in labels.items() if has.get(key) != value}:
            await self._cluster.patch(
                Ref.of(live), {"metadata": {"labels": lost}}, uid=live["metadata"]["uid"]
            )

    async def _update(self, state: JobState, child: Child, uid: str, merge: Mapping[str, Any]) -> Done:
        ref = Ref(child.api_version, child.kind, state.namespace, child.name)
        try:
            await self._cluster.patch(ref, merge, uid=uid)
        except Refused as error:
            await self._observe(self._refusal(state, child, error.status, error.message))
            return Done.OPTIONAL_REFUSED
        return Done.DONE

    async def _delete(self, state: JobState, ref: Ref, uid: str, version: str) -> None:
        try:
            await self._cluster.delete(ref, uid=uid, version=version)
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


def _is_controlled_by(manifest: Manifest, job: JobUid) -> bool:
    owners = manifest["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == job for owner in owners)
