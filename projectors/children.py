"""Makes the child objects follow the log: the view that everything else is about.

A visit compares what should exist with what does and acts, in order, one job at a time. What the cluster
refuses comes back as an observation, so that the state machine decides what follows (spec R3, R5 T4–T6).
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
from projectors.taking_back import may_be_taken_back, take_back
from statemachine import events as e
from statemachine.desired import desired
from statemachine.engine.clock import Clock
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.kinds import kind_of
from statemachine.observations import Observation, PodGone, WriteRefused
from statemachine.owned import Child
from statemachine.phases import Phase
from statemachine.rules.creation import SAID_TIMES
from statemachine.rules.timers import RETRY
from statemachine.state import JobState

_RETRYABLE: Final = frozenset({403, 404, 408, 409, 429})
"""Statuses that a later attempt may not meet: quota, a kind not installed yet, a name in use. Source: spec
T5, R13."""

_LOOK_AGAIN: Final = 1.0
"""Seconds until leftovers that nobody will report on are looked for again."""

_OPTIONAL_AGAIN: Final = 60.0

_UNHEARD_AGAIN: Final = 10.0
"""Seconds until children that the log may not have heard of are looked for again. One that goes while the watches
begin anew was never shown, so nothing tells that it went. A look at what is there costs no request."""

_REPORTED_WITHIN: Final = timedelta(seconds=10)
"""How long a watch may take to tell of a pod that we have made and that is gone; after that we tell it."""

_FIRST_BATCH: Final = 8
"""Creates side by side at first, then twice as many: what is refused once need not be refused a thousand times.

One at first of a kind that was refused in the namespace and not accepted since, as batch Job always begins.
Source: Kubernetes, Job controller, slow start.
"""


class Done(Enum):
    """How a write went."""

    DONE = auto()
    MADE = auto()
    """The object is there, but may go again before anybody hears of it."""
    REFUSED = auto()
    """So nothing more is created."""
    OPTIONAL_REFUSED = auto()
    """And nothing waits for it."""
    NOT_THERE = auto()
    """The object is another by now, or is gone: look again."""


@dataclass(slots=True)
class _Made:
    """A pod that we have made and the log has not heard of; `missing_since` it is not there any more."""

    attempt: int
    uid: PodUid
    missing_since: datetime | None = None


_CLOSED: Final = partial(JobState, deleted=True, closed=True)
"""All that has to be known of a forgotten job: what still belongs to it is to go, in whatever namespace it is."""


_UNCONCERNING: Final = (
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
)


_LEISURELY: Final = (
    *_UNCONCERNING,
    e.PhaseEntered,
    e.ReplicaFailed,
    e.ReplicaSucceeded,
    e.ReplicaUpdated,
    e.TimerCleared,
)
"""Events that by themselves ask for nothing that anybody waits for. What does comes with others."""


class Children:
    """The level projector of child objects.

    `evidence` says whether pods get the evidence finalizer; `generators` make up what `Child.generates` names;
    `confirming` knows whether the job object is what the state says; `env_values` knows values that the log has
    references to.
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
    ) -> None:
        self._states, self._cluster, self._observe = states, cluster, observe
        self._clock, self._evidence, self._generators = clock, evidence, generators
        self._env_values = env_values or EnvValues()
        self._confirming = confirming or Confirming(cluster, clock, self._env_values)
        self._values: dict[JobUid, Mapping[str, str]] = {}
        """Of jobs that are just visited: what references in their pods stand for."""
        self._made: dict[JobUid, dict[ReplicaName, _Made]] = {}
        self._refusing: set[tuple[str, str]] = set()

    def concerns(self, events: Sequence[e.Event]) -> bool:
        """Some event changes what should exist, or lets a finalizer go."""
        return any(not isinstance(each, _UNCONCERNING) for each in events)

    def is_urgent(self, events: Sequence[e.Event]) -> bool:
        """Pods are waited for; that a finished one is let go is not."""
        return any(not isinstance(each, _LEISURELY) for each in events)

    async def visit(self, job: JobUid) -> float | None:
        """The job's children are as its latest state says, as far as the cluster lets them be."""
        try:
            return await self._visit(job)
        finally:
            self._values.pop(job, None)

    async def _visit(self, job: JobUid) -> float | None:
        state = self._states.state(job)
        if self._states.is_forgotten(job) or await self._left_in_quarantine(job):
            state = _CLOSED(job)
        if state is None or (state.phase is Phase.NEW and not state.closed):
            return None
        self._forget_reported(state)
        if state.deleted:
            self._confirming.forget(job)
        observed = [each.uid for each in state.replicas.values() if each.uid]
        live = await self._cluster.children(state.namespace, job, observed)
        # not older than what is there: a pod of it may be gone by now
        state = self._states.state(job) or state
        writes = list(diff(state, desired(state), live))
        if any(map(_makes, writes)):
            await self._confirming.look(state)
        if any(map(_needs_the_latest, writes)):
            await self._states.fresh(job)
            state = self._states.state(job) or state
            wished = list(desired(state))
            live = await self._still_there(wished, live)
            writes = list(diff(state, wished, live))
        unconfirmed = any(map(_makes, writes)) and not self._confirming.has(state)
        if unconfirmed:
            writes = [each for each in writes if not _makes(each)]
        dones = set(
            await self._all(state, _by_object(each for each in writes if not isinstance(each, Create)))
        )
        for batch in self._batches(state.namespace, [each for each in writes if isinstance(each, Create)]):
            made = await self._all(state, [[each] for each in batch])
            dones.update(each for each in made if isinstance(each, Done))
            refused = [each for each in made if isinstance(each, WriteRefused)]
            if refused:
                self._refusing.add((state.namespace, batch[0].child.kind))
            elif Done.MADE in made:
                self._refusing.discard((state.namespace, batch[0].child.kind))
            if refused:  # one is told: the others were refused for the same reason, or will be again
                await self._observe(min(refused, key=lambda each: each.retryable))
                dones.add(Done.REFUSED if not batch[0].child.optional else Done.OPTIONAL_REFUSED)
            if Done.REFUSED in dones:
                break
        again = _come_back(self._states.state(job) or state, dones)
        if not unconfirmed:
            return again
        later = self._confirming.again(job)
        # without a write `again` is but the look for what the watches missed: each visit reads the job object
        return later if again is None or not dones else min(again, later)

    async def _left_in_quarantine(self, job: JobUid) -> bool:
        """Nothing can be decided about the job, and its object is gone: what it owns is to go, as with any owner."""
        found = self._states.quarantined(job)
        if found is None or not found.state.name:
            return False
        state = found.state
        try:
            there = await self._cluster.get(
                Ref(state.api_version, state.object_kind, state.namespace, state.name)
            )
        except Missing:
            return True
        return bool(there["metadata"]["uid"] != job)

    def _batches(self, namespace: str, creates: Sequence[Create]) -> Iterator[Sequence[Create]]:
        """Creates of one kind side by side, kinds in their order (spec R4)."""
        for kind, each in groupby(creates, key=lambda create: create.child.kind):
            waiting = list(each)
            size = 1 if (namespace, kind) in self._refusing else _FIRST_BATCH
            while waiting:
                yield waiting[:size]
                waiting = waiting[size:]
                size *= 2

    async def _still_there(self, wished: Sequence[Child], live: Sequence[Manifest]) -> Sequence[Manifest]:
        """`live` without generated objects that are gone: nobody watches them, and new pods could not start."""
        generated = {(child.kind, child.name) for child in wished if child.generates}
        left: list[Manifest] = []
        for each in live:
            if (each["kind"], each["metadata"]["name"]) in generated:
                with suppress(Missing):
                    await self._cluster.get(Ref.of(each))
                    left.append(each)
            else:
                left.append(each)
        return left

    async def _all(self, state: JobState, groups: Sequence[Sequence[Write]]) -> list[Done | WriteRefused]:
        """Each group is written in order, all groups side by side; how that went.

        One that fails does not keep the others from being tried.
        """
        if len(groups) == 1:
            return await self._in_order(state, groups[0])
        answers = await asyncio.gather(
            *(self._in_order(state, each) for each in groups), return_exceptions=True
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
            case Create(child) if (made := self._made_before(state, child)) is not None:
                return await self._say_gone(state, child, made)
            case Create(child):
                return await self._create(state, child)
            case Update(child, uid, merge):
                return await self._update(state, child, uid, merge)
            case Delete(ref, uid, version):
                await self._delete(state, ref, uid, version)
            case Release(ref, uid):
                await self._cluster.release(ref, uid)
            case SayAbsent(replica, attempt):
                await self._say_absent(state, replica, attempt)
            case Hold():
                return Done.NOT_THERE
            case TakeBack(ref, uid, labels):
                found = await self._cluster.get(ref)
                is_it = found["metadata"]["uid"] == uid and not is_controlled(found)
                return await self._take_back(state, found, labels=labels) if is_it else Done.NOT_THERE
            case SayTaken(replica, attempt, uid):
                gone = PodGone(job=state.uid, at=self._clock.now(), replica=replica, attempt=attempt, uid=uid)
                await self._observe(gone)
            case Report(ref, uid):
                return await self._report(ref, uid)
        return Done.DONE

    async def _say_absent(self, state: JobState, replica: ReplicaName, attempt: int) -> None:
        """No pod of the attempt exists, asked of the cluster itself: what is known of children may be late.

        A pod of that name may be another job's: one that has been deleted and created again has the same names.
        """
        pod = kind_of(state.api_version, state.kind).pod_name(state, replica)
        try:
            found = await self._cluster.get(Ref("v1", "Pod", state.namespace, pod))
        except Missing:
            found = None
        if found is not None and _is_controlled_by(found, state.uid) and attempt_of(found) >= attempt:
            raise Missing(f"pod {pod} was late")  # it will be in the next look at the children
        await self._observe(PodGone(job=state.uid, at=self._clock.now(), replica=replica, attempt=attempt))

    def _forget_reported(self, state: JobState) -> None:
        """The log has heard of pods that we have made, or waits for them no more."""
        made = self._made.get(state.uid, {})
        for name, each in list(made.items()):
            replica = state.replicas.get(name)
            if replica is None or replica.uid or replica.attempt != each.attempt:
                del made[name]
        if not made:
            self._made.pop(state.uid, None)

    def _made_before(self, state: JobState, child: Child) -> _Made | None:
        """The pod of this attempt that we have made, and that is gone: a second one of it would be its twin."""
        made = self._made.get(state.uid, {}).get(child.replica) if child.replica else None
        return made if made is not None and made.attempt == child.attempt else None

    async def _say_gone(self, state: JobState, child: Child, made: _Made) -> Done:
        """The watches tell it, and how it ended if they know; when they do not, nobody else will.

        Unless it is there, and only its owner references or labels are not: then it is the job's again.
        """
        now = self._clock.now()
        made.missing_since = made.missing_since or now
        if now - made.missing_since < _REPORTED_WITHIN:
            return Done.NOT_THERE
        with suppress(Missing):
            found = await self._cluster.get(Ref(child.api_version, child.kind, state.namespace, child.name))
            if found["metadata"]["uid"] == made.uid:
                manifest = child.build()
                if not is_controlled(found):
                    return await self._take_back(state, found, labels=manifest["metadata"]["labels"])
                if _is_controlled_by(found, state.uid):
                    await self._make_visible(found, manifest)
                    return Done.NOT_THERE
        gone = PodGone(job=state.uid, at=now, replica=child.replica, attempt=made.attempt, uid=made.uid)
        await self._observe(gone)
        return Done.NOT_THERE

    def _is_awaited(self, job: JobUid, child: Child) -> bool:
        """The job's state as it is now still waits for this very pod.

        Writes take time: it may have been seen meanwhile, or nobody may want it any more.
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
            found = await self._cluster.get(Ref.of(manifest))
            if _is_controlled_by(found, state.uid):
                await self._make_visible(found, manifest)
                return Done.NOT_THERE if attempt_of(found) < child.attempt else Done.DONE
            if child.replica and may_be_taken_back(found, manifest):
                return await self._take_back(state, found, child.attempt)
            return self._refusal(state, child, 409, str(error), name_taken=True)
        except Unresolved as error:  # somebody may put the values back: it is tried again
            return self._refusal(state, child, 409, str(error))
        except Refused as error:
            return self._refusal(state, child, error.status, error.message)
        except ClusterUnavailable as error:
            return self._refusal(state, child, 503, str(error))
        if child.replica:
            made = _Made(child.attempt, PodUid(stored["metadata"]["uid"]))
            self._made.setdefault(state.uid, {})[child.replica] = made
        return Done.MADE

    async def _take_back(
        self,
        state: JobState,
        found: Manifest,
        attempt: int = 0,
        *,
        labels: Mapping[str, str] | None = None,
    ) -> Done:
        taken = await take_back(self._cluster, state, found, attempt, labels=labels, evidence=self._evidence)
        return Done.NOT_THERE if taken else Done.DONE

    async def _report(self, ref: Ref, uid: str) -> Done:
        """What the watches would say of the object as it stands."""
        found = await self._cluster.get(ref)
        if found["metadata"]["uid"] == uid:
            for seen in observe(Change(Verb.MODIFIED, found, self._clock.now())):
                await self._observe(seen)
        return Done.NOT_THERE

    async def _generate(self, child: Child, manifest: Manifest) -> None:
        """The manifest has what is made up for it. Raises Conflict: there is one, and nothing has to be made."""
        with suppress(Missing):
            found = Ref.of(await self._cluster.get(Ref.of(manifest)))
            raise Conflict(f'{found.kind} "{found.name}" already exists', exists=True)
        manifest["data"] = dict(await self._generators[child.generates]())

    async def _with_values(
        self, state: JobState, manifest: Manifest, expand: Callable[[str], str] | None = None
    ) -> Manifest:
        """The manifest with the values of variables that the log does not have. Raises Unresolved, Missing."""
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

    async def _make_visible(self, found: Manifest, wished: Manifest) -> None:
        """A child that the watches do not show, as it lost its labels, has them again."""
        labels = wished["metadata"].get("labels") or {}
        has = found["metadata"].get("labels") or {}
        if lost := {key: value for key, value in labels.items() if has.get(key) != value}:
            await self._cluster.patch(
                Ref.of(found), {"metadata": {"labels": lost}}, uid=found["metadata"]["uid"]
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
    """Something comes to belong to the job that did not."""
    return isinstance(write, Create | TakeBack)


def _needs_the_latest(write: Write) -> bool:
    """It would do harm if the log said more by now than the state knows.

    A pod that is not there may have been, which the log knew before it could vanish.
    """
    return isinstance(write, Create | Report) or (isinstance(write, Delete) and write.doubtful)


def _is_controlled_by(found: Manifest, job: JobUid) -> bool:
    owners = found["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == job for owner in owners)


def _by_object(writes: Iterable[Write]) -> list[list[Write]]:
    """Writes to one object together and in order."""
    groups: dict[object, list[Write]] = {}
    for write in writes:
        groups.setdefault(write.uid if isinstance(write, Delete | Release) else id(write), []).append(write)
    return list(groups.values())


def _come_back(state: JobState, dones: Collection[Done | WriteRefused]) -> float | None:
    """After how many seconds to visit the job again without a reason."""
    if Done.NOT_THERE in dones:
        return _LOOK_AGAIN
    if Done.REFUSED in dones:
        # a timer is set only for what an active job still waits for, and the rest was not made either
        return _LOOK_AGAIN if state.phase.is_active and state.refusals < SAID_TIMES else _OPTIONAL_AGAIN
    if Done.OPTIONAL_REFUSED in dones:
        return _OPTIONAL_AGAIN
    return _UNHEARD_AGAIN if Done.MADE in dones or _waits_for_a_report(state) else None


def _waits_for_a_report(state: JobState) -> bool:
    """A child was asked for that the log has not heard of; one that is refused has a timer, which ends in a visit."""
    if RETRY in state.timers:
        return False
    planned = state.plan.children if state.plan is not None and not state.deleted else ()
    known = [state.child(child.kind, child.name) for child in planned]
    if any(child is None or not child.uid for child in known):
        return True
    return any(each.has_pod and not each.uid for each in state.replicas.values())
