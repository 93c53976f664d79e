"""Makes the child objects follow the log.

A visit compares desired and live children, and writes the difference, in order, one job at a time. A refusal of the
cluster comes back as an observation, so that the state machine decides what follows (spec R3, R5 T4–T6).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from itertools import groupby
from typing import Any, Final

from k8s_bridge.env_values import EnvValues, Unresolved, needs_values
from k8s_bridge.observe import is_controlled, observe
from k8s_bridge.port import EVIDENCE, Change, Cluster, Manifest, Ref, Verb
from k8s_bridge.ssh_keys import GENERATORS, Generate
from projectors.base import States
from projectors.confirming import Confirming
from projectors.diff import (
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
    diff,
)
from projectors.leisure import Leisure, Rush
from projectors.taking_back import may_be_taken_back, take_back
from statemachine import events as e
from statemachine.desired import desired
from statemachine.engine.clock import Clock
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.kinds import kind_of
from statemachine.observations import ChildObserved, Observation, PodGone, WriteRefused
from statemachine.owned import Child
from statemachine.phases import Phase
from statemachine.rules.creation import SAID_TIMES
from statemachine.rules.timers import RETRY
from statemachine.state import JobState

_RETRYABLE: Final = frozenset({403, 404, 408, 409, 429})
"""Statuses that a later write may not get: quota, a kind not installed yet, a name in use. Source: spec
T5, R13."""

_LOOK_AGAIN: Final = 1.0
"""Seconds until the next look for leftovers that no watch will report."""

_OPTIONAL_AGAIN: Final = 60.0

_UNHEARD_AGAIN: Final = 10.0
"""Seconds until the next look for children that the log may not have. A child that vanishes while the watches begin
anew was never shown, so no watch shows its deletion. A look at the index costs no request."""

_RELEASED_WITHIN: Final = 30.0
"""Seconds for which the finalizer of a pod that stays lets more urgent writes pass. A deletion ends that at once."""

_REPORTED_WITHIN: Final = timedelta(seconds=10)
"""How long a watch may take to report a pod of ours that is gone; after that the projector reports it."""

_FIRST_BATCH: Final = 8
"""Creates at the same time at first, then twice as many: a refusal need not be repeated a thousand times.

The first batch is one of a kind that was last refused in the namespace, as batch Job always begins.
Source: Kubernetes, Job controller, slow start.
"""


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


@dataclass(slots=True)
class _Made:
    """A pod of ours that the log does not have yet; `missing_since` it does not exist any more."""

    attempt: int
    uid: PodUid
    missing_since: datetime | None = None


_CLOSED: Final = partial(JobState, deleted=True, closed=True)
"""The state of a forgotten job: all its objects have to be deleted, in any namespace."""


_UNCONCERNING: Final[frozenset[type[e.Event]]] = frozenset(
    {
        e.Announced,
        e.ConditionsChanged,
        e.ReplicaCreated,
        e.ReplicaStarted,
        e.ReplicaUnreachable,
        e.ChildrenAccepted,
        e.RestartDenied,
        e.TimerSet,
        e.QueueChanged,
        e.CleanedUp,
        e.UpdateIgnored,
        e.LabelsChanged,
        e.JobClosed,
    }
)


_LEISURELY: Final[frozenset[type[e.Event]]] = _UNCONCERNING | {
    e.PhaseEntered,
    e.ReplicaFailed,
    e.ReplicaSucceeded,
    e.ReplicaUpdated,
    e.TimerCleared,
}
"""Events that by themselves need no urgent write; urgent ones come with others."""


class Children:
    """The level projector of child objects.

    `evidence` says whether pods get the evidence finalizer; `generators` make the data that `Child.generates` names;
    `confirming` compares the job object with the state; `env_values` resolves the references to values in the log;
    `rush` is what tells all projectors that there are writes which somebody waits for.
    """

    name = "children"

    def __init__(
        self,
        states: States,
        cluster: Cluster,
        observe: Callable[[Observation], Awaitable[None]],
        clock: Clock,
        *,
        evidence: bool = True,
        generators: Mapping[str, Generate] = GENERATORS,
        confirming: Confirming | None = None,
        env_values: EnvValues | None = None,
        rush: Rush | None = None,
    ) -> None:
        self._states, self._cluster, self._observe = states, cluster, observe
        self._rush = rush or Rush()
        self._releases = Leisure(self._rush, _RELEASED_WITHIN)
        self._clock, self._evidence, self._generators = clock, evidence, generators
        self._env_values = env_values or EnvValues()
        self._confirming = confirming or Confirming(cluster, clock, self._env_values)
        self._values: dict[JobUid, Mapping[str, str]] = {}
        """For jobs under a visit, the values of the references in their pods."""
        self._made: dict[JobUid, dict[ReplicaName, _Made]] = {}
        self._refusing: set[tuple[str, str]] = set()

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event changes the desired children, or the need for a finalizer."""
        return not _UNCONCERNING.issuperset(map(type, events))

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """Pods are urgent; the release of a finished one is not."""
        return not _LEISURELY.issuperset(map(type, events))

    async def visit(self, job: JobUid) -> float | None:
        """Brings the job's children to what its latest state says, as far as the cluster accepts that."""
        try:
            return await self._visit(job)
        finally:
            self._values.pop(job, None)

    async def _visit(self, job: JobUid) -> float | None:
        state = self._states.state(job)
        if state is None and (self._states.is_forgotten(job) or await self._left_in_quarantine(job)):
            state = _CLOSED(job)
        if state is None or (state.phase is Phase.NEW and not state.closed):
            return None
        self._forget_reported(state)
        if state.deleted:
            self._confirming.forget(job)
        observed = [replica.uid for replica in state.replicas.values() if replica.uid]
        live = await self._cluster.children(state.namespace, job, observed)
        # the state must not be older than `live`: a pod of the older one may be gone
        state = self._states.state(job) or state
        wished = list(desired(state))
        writes = list(diff(state, wished, live))
        if any(map(_makes, writes)):
            await self._confirming.look(state)
        if any(map(_needs_the_latest, writes)):
            await self._states.fresh(job)
            compared, state = (state, live), self._states.state(job) or state
            wished = wished if state is compared[0] else list(desired(state))
            live = await self._still_there(wished, live)
            if state is not compared[0] or live is not compared[1]:
                writes = list(diff(state, wished, live))
        unconfirmed = any(map(_makes, writes)) and not self._confirming.has(state)
        if unconfirmed:
            writes = [write for write in writes if not _makes(write)]
        writes, released_in = self._put_off(job, writes)
        dones = set(
            await self._all(state, _by_object(write for write in writes if not isinstance(write, Create)))
        )
        for batch in self._batches(state.namespace, [write for write in writes if isinstance(write, Create)]):
            outcomes = await self._all(state, [[create] for create in batch])
            dones.update(outcome for outcome in outcomes if isinstance(outcome, Done))
            refused = [outcome for outcome in outcomes if isinstance(outcome, WriteRefused)]
            if refused:
                self._refusing.add((state.namespace, batch[0].child.kind))
            elif Done.MADE in outcomes:
                self._refusing.discard((state.namespace, batch[0].child.kind))
            if refused:  # one is reported: the others have the same reason, or will be refused again
                await self._observe(min(refused, key=lambda refusal: refusal.retryable))
                dones.add(Done.REFUSED if not batch[0].child.optional else Done.OPTIONAL_REFUSED)
            if Done.REFUSED in dones:
                break
        again = _come_back(self._states.state(job) or state, dones)
        if unconfirmed:
            later = self._confirming.again(job)
            # without a write `again` is only the look for missed children, and each visit reads the job object
            again = later if again is None or not dones else min(again, later)
        return min((seconds for seconds in (again, released_in) if seconds is not None), default=None)

    def _put_off(self, job: JobUid, writes: list[Write]) -> tuple[list[Write], float | None]:
        """The writes to make now, and the seconds until the next look at those that nobody waits for, if any."""
        urgent = [write for write in writes if not (isinstance(write, Release) and not write.awaited)]
        if any(not isinstance(write, Hold) for write in urgent):
            self._rush.write()
        if len(urgent) == len(writes):
            self._releases.drop(job)
            return writes, None
        remaining = self._releases.remaining(job)
        return (urgent, remaining) if remaining else (writes, None)

    async def _left_in_quarantine(self, job: JobUid) -> bool:
        """The job is in quarantine and its object is gone: its children have to be deleted, as with any owner."""
        quarantine = self._states.quarantined(job)
        if quarantine is None or not quarantine.state.name:
            return False
        state = quarantine.state
        try:
            job_object = await self._cluster.get(
                Ref(state.api_version, state.object_kind, state.namespace, state.name)
            )
        except Missing:
            return True
        return bool(job_object["metadata"]["uid"] != job)

    def _batches(self, namespace: str, creates: Sequence[Create]) -> Iterator[Sequence[Create]]:
        """Batches of creates of one kind, kinds in their order (spec R4)."""
        for kind, creates_of_kind in groupby(creates, key=lambda create: create.child.kind):
            pending = list(creates_of_kind)
            size = 1 if (namespace, kind) in self._refusing else _FIRST_BATCH
            while pending:
                yield pending[:size]
                pending = pending[size:]
                size *= 2

    async def _still_there(self, children: Sequence[Child], live: Sequence[Manifest]) -> Sequence[Manifest]:
        """`live` without generated objects that are gone: no watch shows them, and new pods could not start."""
        generated = {(child.kind, child.name) for child in children if child.generates}
        if not generated:
            return live
        remaining: list[Manifest] = []
        for manifest in live:
            if (manifest["kind"], manifest["metadata"]["name"]) in generated:
                with suppress(Missing):
                    await self._cluster.get(Ref.of(manifest))
                    remaining.append(manifest)
            else:
                remaining.append(manifest)
        return remaining

    async def _all(self, state: JobState, groups: Sequence[Sequence[Write]]) -> list[Done | WriteRefused]:
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
            case Create(child) if (before := self._made_before(state, child)) is not None:
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
            case Hold():
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

    def _forget_reported(self, state: JobState) -> None:
        """Drops pods of ours that the log has, or does not wait for any more."""
        made = self._made.get(state.uid, {})
        for name, pod in list(made.items()):
            replica = state.replicas.get(name)
            if replica is None or replica.uid or replica.attempt != pod.attempt:
                del made[name]
        if not made:
            self._made.pop(state.uid, None)

    def _made_before(self, state: JobState, child: Child) -> _Made | None:
        """The pod of this attempt that was made before and is gone: a second one would be a duplicate."""
        made = self._made.get(state.uid, {}).get(child.replica) if child.replica else None
        return made if made is not None and made.attempt == child.attempt else None

    async def _say_gone(self, state: JobState, child: Child, made: _Made) -> Done:
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
        return replica.attempt == child.attempt and replica.has_pod and not replica.uid

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
            made = _Made(child.attempt, PodUid(stored["metadata"]["uid"]))
            self._made.setdefault(state.uid, {})[child.replica] = made
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
        taken = await take_back(self._cluster, state, pod, attempt, labels=labels, evidence=self._evidence)
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


def _makes(write: Write) -> bool:
    """The write gives the job an object that it did not have."""
    return isinstance(write, Create | TakeBack)


def _needs_the_latest(write: Write) -> bool:
    """The write does harm if the log has entries that the state does not.

    A pod that does not exist may have existed: the log has that before the pod can vanish.
    """
    return isinstance(write, Create | Report) or (isinstance(write, Delete) and write.doubtful)


def _is_controlled_by(manifest: Manifest, job: JobUid) -> bool:
    owners = manifest["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == job for owner in owners)


def _by_object(writes: Iterable[Write]) -> list[list[Write]]:
    """The writes, grouped by object and in order."""
    groups: dict[object, list[Write]] = {}
    for write in writes:
        groups.setdefault(write.uid if isinstance(write, Delete | Release) else id(write), []).append(write)
    return list(groups.values())


def _come_back(state: JobState, dones: Collection[Done | WriteRefused]) -> float | None:
    """After how many seconds the queue has to visit the job again without a new entry."""
    if Done.NOT_THERE in dones:
        return _LOOK_AGAIN
    if Done.REFUSED in dones:
        # only an active job has a timer for its refused writes; and the other objects were not made either
        return _LOOK_AGAIN if state.phase.is_active and state.refusals < SAID_TIMES else _OPTIONAL_AGAIN
    if Done.OPTIONAL_REFUSED in dones:
        return _OPTIONAL_AGAIN
    return _UNHEARD_AGAIN if Done.MADE in dones or _waits_for_a_report(state) else None


def _waits_for_a_report(state: JobState) -> bool:
    """The log waits for a report of a child. A refused write has a timer, which ends in a visit."""
    if RETRY in state.timers:
        return False
    planned = state.plan.children if state.plan is not None and not state.deleted else ()
    children = [state.child(child.kind, child.name) for child in planned]
    if any(child is None or not child.uid for child in children):
        return True
    return any(replica.has_pod and not replica.uid for replica in state.replicas.values())
