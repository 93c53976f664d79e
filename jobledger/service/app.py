"""All that a user can ask for, over a running controller: what the CLI's `run` and the HTTP API are made of.

Plain data goes in and out: manifests as Kubernetes shows them, with the status folded from the log, which is
never behind. Everything that is written is written to the cluster, as `kubectl` would; what follows from it
is the controller's business.
"""

import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from jobledger.jobs.attempts import Attempt, attempts, chosen, pod_of
from jobledger.jobs.changes import paused, scaled, still_there
from jobledger.jobs.intake import Intake
from jobledger.jobs.patches import examined, signed
from jobledger.jobs.views import in_quarantine, is_gone, is_in, manifest_of, undecided, with_status
from jobledger.lives.history import JobHistory
from jobledger.lives.history import history as life_of
from jobledger.lives.lookup import SHORTEST_UID, Known, known_to
from jobledger.manifests import Manifest as Written
from jobledger.program.errors import NotPossible, UnknownJob, several
from jobledger.service.feed import EntryFeed
from jobledger.service.health import Health
from jobledger.wiring import Controller
from jobledger.wiring.roles import Role
from k8s_bridge.actors import DELETED_BY
from k8s_bridge.port import JobEvent, Manifest, Ref
from k8s_bridge.selectors import EVERYTHING, Selector
from statemachine.errors import JobledgerError, Missing, Refused
from statemachine.ids import JobUid
from statemachine.kind import Names
from statemachine.kinds import SERVED, kind_of
from statemachine.log.life import LifeStep, records_of, steps_of
from statemachine.log.port import Record
from statemachine.state import JobState, ReplicaPhase

if TYPE_CHECKING:
    from projectors.history import History as HistoryView

OBJECT_KINDS: Final = tuple(names.kind for names in SERVED)
"""The kinds of job objects, aliases too."""

_OLDER: Final = 5
"""Forgotten jobs of a name that are looked up in the log: more than are named."""


class App:
    """The controller's front. Jobs are named by namespace and name; `uid` also finds one that is gone."""

    def __init__(self, controller: Controller, health: Health | None = None) -> None:
        self.controller = controller
        self.health = health or Health(controller)
        self.cluster, self.log_of = controller.cluster, controller.ledger.partitions.log_of
        self.feed = EntryFeed()
        controller.engine.source.listeners.append(self.feed.tell)
        self._intake = Intake(self.cluster)

    # ---- reading -------------------------------------------------------------------------------------------

    def state(self, uid: str) -> JobState | None:
        """The job's state; None before its first entry, and in quarantine."""
        return self.controller.states.state(JobUid(uid))

    @property
    def view(self) -> "HistoryView | None":
        """The history view that this controller projects; None where it does not."""
        from projectors.history import HistoryProjector

        streams = (stream for streams in self.controller.ledger.streams for stream in streams)
        return next((stream.history for stream in streams if isinstance(stream, HistoryProjector)), None)

    def states(self) -> list[JobState]:
        """The states of all jobs that the log knows; of closed ones those that are kept."""
        states = map(self.controller.states.state, self.controller.reader.jobs)
        return [state for state in states if state is not None]

    async def jobs(
        self,
        *,
        namespace: str | None = None,
        kinds: Collection[str] = OBJECT_KINDS,
        phase: str = "",
        selector: Selector = EVERYTHING,
        gone: bool = False,
    ) -> list[Manifest]:
        """Jobs by namespace and name; with `gone` also those deleted, oldest first, behind the others."""
        jobs = [
            self._shown(job)
            for names in SERVED
            if names.kind in kinds
            for place in self._places(names, namespace)
            for job in await self.cluster.list(names.api_version, names.kind, place)
        ]
        jobs.sort(key=lambda job: (job["metadata"]["namespace"], job["metadata"]["name"], job["kind"]))
        here = {job["metadata"]["uid"] for job in jobs}
        past = [state async for state in self.controller.states.all_past()] if gone else []
        for state in (*past, *self.states()):
            if state.uid in here or not state.deleted or (state.closed and not gone):
                continue
            if namespace in (None, state.namespace) and state.object_kind in kinds:
                jobs.append(manifest_of(state))
        jobs = [job for job in jobs if selector.selects(job["metadata"])]
        return [job for job in jobs if is_in(job, phase)]

    def _places(self, names: Names, namespace: str | None) -> Iterator[str | None]:
        """Where to ask for jobs of a kind: of one that has to be switched on, only where it is."""
        kind, attended = kind_of(names.api_version, names.kind), self.controller.options.attended
        if not kind.opt_in:
            yield namespace
        elif namespace is None:
            yield from attended.places(kind)
        elif attended.covers(names.api_version, names.kind, namespace):
            yield namespace

    async def job(
        self, namespace: str, name: str, *, kinds: Collection[str] = OBJECT_KINDS, uid: str = ""
    ) -> Manifest:
        """The job as it stands, of one of `kinds`.

        Raises:
            UnknownJob: there is none.
            NotPossible: jobs of several kinds have this name.
        """
        if uid:
            return await self._by_uid(namespace, name, uid, kinds)
        jobs = await self._named(namespace, name, kinds)
        if len(jobs) > 1:
            raise several(name, [job["kind"] for job in jobs])
        if jobs:
            return self._shown(jobs[0])
        return self._leaving(namespace, name, kinds)

    def _shown(self, job: Manifest) -> Manifest:
        """The job object, with what is known of the job now."""
        uid = JobUid(job["metadata"]["uid"])
        quarantine = self.controller.states.quarantined(uid)
        return with_status(job, self.state(uid)) if quarantine is None else in_quarantine(job, quarantine.why)

    def _readable(self, job: Manifest) -> None:
        """Raises NotPossible for a job in quarantine."""
        if quarantine := self.controller.states.quarantined(JobUid(job["metadata"]["uid"])):
            raise NotPossible(undecided(job["metadata"]["name"], quarantine.why))

    async def _named(self, namespace: str, name: str, kinds: Collection[str]) -> list[Manifest]:
        """The job objects of the name, of each kind at most one."""
        jobs = [await self._of_kind(names, namespace, name) for names in SERVED if names.kind in kinds]
        return [job for job in jobs if job is not None]

    async def _of_kind(self, names: Names, namespace: str, name: str) -> Manifest | None:
        if not any(self._places(names, namespace)):
            return None
        try:
            return await self.cluster.get(Ref(names.api_version, names.kind, namespace, name))
        except Missing:
            return None
        except Refused as error:
            if error.status == 404:  # a kind that this cluster does not have
                return None
            raise

    async def _by_uid(
        self, namespace: str, name: str, uid: str, kinds: Collection[str] = OBJECT_KINDS
    ) -> Manifest:
        state = await self.controller.states.past(JobUid(uid))
        if state is None:
            for job in await self._named(namespace, name, kinds):
                if job["metadata"]["uid"] == uid:
                    return self._shown(job)
        if (
            state is None
            or (state.namespace, state.name) != (namespace, name)
            or state.object_kind not in kinds
        ):
            raise UnknownJob(namespace, name, more=f" with uid {uid}; `jobledger get --all` lists all jobs")
        try:
            job = await self.cluster.get(ref_of(state))
        except Missing:
            return manifest_of(state)
        return with_status(job, state) if job["metadata"]["uid"] == uid else manifest_of(state)

    def _leaving(self, namespace: str, name: str, kinds: Collection[str]) -> Manifest:
        """The job of this name whose pods are still ending, the newest."""
        here = [
            state for state in self.states() if state.namespace == namespace and state.object_kind in kinds
        ]
        of_name = [state for state in here if state.name == name]
        leaving = [state for state in of_name if state.deleted and not state.closed]
        if leaving:
            return manifest_of(leaving[-1])
        if of_name:
            more = f" any more: it was deleted; `jobledger history {name}` still tells its life"
            raise UnknownJob(namespace, name, more=more)
        raise UnknownJob(namespace, name, sorted({state.name for state in here if not state.closed}))

    async def events(self, job: Manifest) -> Sequence[JobEvent]:
        """The Kubernetes Events of a job, oldest first."""
        meta = job["metadata"]
        return await self.cluster.events(meta["namespace"], meta["uid"])

    async def records(self, uid: str) -> Sequence[Record]:
        """The job's records in the log, oldest first."""
        job = JobUid(uid)
        return await records_of(self.log_of(job), job)

    async def _steps(self, uid: str) -> Iterator[LifeStep]:
        """What they say, each read when it is asked for."""
        records = await self.records(uid)
        return (step for _, step in steps_of(JobUid(uid), records))

    async def history(self, uid: str) -> list[dict[str, Any]]:
        """The job's entries, oldest first, as they are written in the log."""
        return [
            {"position": record.position, **json.loads(record.body)} for record in await self.records(uid)
        ]

    async def why(self, uid: str) -> dict[str, Any]:
        """Why the job is as it is, from its accepted entries. Raises NotPossible for a job without any."""
        from projectors.explain import Chronicle, explanation

        chronicle = Chronicle(await self._steps(uid))
        if chronicle.diagnosis is None:
            raise NotPossible("nothing has been decided about this job yet; try again")
        return explanation(chronicle).model_dump(mode="json")

    async def known(self, namespace: str, job: str, uid: str = "") -> list[Known]:
        """Jobs of a namespace that the log knows, the oldest first: all whose states are kept.

        And of the forgotten ones those that may be meant: the last that had the name `job`, if there is a history
        view that knows names, and those whose uid begins with `uid`, or so.
        """
        there = [known for known in known_to(self.controller.reader) if known.namespace == namespace]
        states = self.controller.states
        past = [await states.past(past_uid) for past_uid in await self._forgotten(namespace, job, uid)]
        mine = [state for state in past if state is not None and state.namespace == namespace]
        return [
            Known(state.uid, namespace, state.name, state.kind, state, states.seq(state.uid), "")
            for state in mine
        ] + there

    async def _forgotten(self, namespace: str, job: str, uid: str) -> list[JobUid]:
        forgotten = self.controller.reader.forgotten
        begin, uids = uid or job, list[JobUid]()
        if forgotten and (view := self.view) is not None:
            with suppress(JobledgerError):  # it is a view: what it cannot tell is not known here
                rows = await view.named(namespace, job, limit=_OLDER)
                uids += [row.uid for row in reversed(rows) if row.uid in forgotten]
        if JobUid(begin) in forgotten:
            uids.append(JobUid(begin))
        elif len(begin) >= SHORTEST_UID:
            uids += islice((past_uid for past_uid in forgotten if past_uid.startswith(begin)), _OLDER)
        return list(dict.fromkeys(uids))

    async def life(self, job: Known, note: str = "") -> JobHistory:
        """Everything that the log holds of the job."""
        return await life_of(self.log_of(job.uid), job, note)

    async def watch(
        self,
        *,
        namespace: str | None = None,
        name: str = "",
        kinds: Collection[str] = OBJECT_KINDS,
        selector: Selector = EVERYTHING,
    ) -> AsyncIterator[tuple[str, Manifest]]:
        """Jobs as they stand (ADDED), ("SYNCED", {}), then every change.

        DELETED when nothing is left of one, or when it is not selected any more, as Kubernetes does.
        """
        shown: set[str] = set()
        with self.feed.changes() as changes:
            for job in await self.jobs(namespace=namespace, kinds=kinds, selector=selector):
                if name in ("", job["metadata"]["name"]):
                    shown.add(job["metadata"]["uid"])
                    yield "ADDED", job
            yield "SYNCED", {}
            async for uid in changes:
                state = self.state(uid)
                if state is None or namespace not in (None, state.namespace) or name not in ("", state.name):
                    continue
                if state.object_kind not in kinds:
                    continue
                job = await self._by_uid(state.namespace, state.name, uid)
                was_shown, is_there = uid in shown, not state.closed and selector.selects(job["metadata"])
                if is_there:
                    shown.add(uid)
                    yield "MODIFIED" if was_shown else "ADDED", job
                elif was_shown or not selector:
                    shown.discard(uid)
                    yield "DELETED", job

    # ---- logs ----------------------------------------------------------------------------------------------

    async def attempts(self, uid: str) -> list[Attempt]:
        """Every pod that the job has had, oldest first."""
        return attempts(step.events for step in await self._steps(uid))

    async def logs(
        self,
        job: Manifest,
        *,
        replica: str = "",
        container: str = "",
        previous: bool = False,
        follow: bool = False,
    ) -> AsyncIterator[bytes]:
        """What the replica (default: the primary) writes; with `follow` until it ends, once it has begun.

        Raises:
            UnknownReplica: no such replica, earlier attempt or container.
            NotPossible: the replica has not started yet.
        """
        uid = job["metadata"]["uid"]
        if follow:
            await self._begun(uid, replica)
        state = await self.controller.states.past(JobUid(uid))
        if state is None:
            self._readable(job)
            raise NotPossible(f'job "{job["metadata"]["name"]}" has not been looked at yet; try again')
        attempt = chosen(state, await self.attempts(uid), replica, container=container, previous=previous)
        return await pod_of(self.cluster, state, attempt, container, follow=follow)

    async def _begun(self, uid: str, replica: str) -> None:
        """The replica has begun to run, or never will."""
        with self.feed.changes() as changes:
            while True:
                state = self.state(uid)
                if state is not None:
                    if state.is_final or state.deleted or state.plan is None:
                        return
                    replica_state = state.replicas.get(replica or state.plan.leading)  # type: ignore[call-overload]
                    if replica_state is None or (
                        replica_state.uid and replica_state.phase is not ReplicaPhase.PENDING
                    ):
                        return
                async for changed in changes:
                    if changed == uid:
                        break

    # ---- writing -------------------------------------------------------------------------------------------

    async def submit(self, manifests: Sequence[Written], actor: str) -> list[Manifest]:
        """All objects exist, jobs last; the jobs as stored. Nothing is created if any cannot be.

        Raises:
            Inadmissible: what an API server would not store, every problem.
            JobExists: a name is taken.
        """
        return await self._intake.submit(manifests, actor)

    async def patch(self, job: Manifest, merge: Mapping[str, Any], actor: str) -> Manifest:
        """`merge` (RFC 7396) was merged into the job. Raises SpecInvalid, Refused, Conflict, NotPossible."""
        still_there(job)
        self._readable(job)
        examined(job, merge)
        stored = await self.cluster.patch(Ref.of(job), signed(job, merge, actor), uid=job["metadata"]["uid"])
        return self._shown(stored)

    async def pause(self, job: Manifest, on: bool, actor: str) -> Manifest:
        """The job is wished to be paused, or to go on. Raises NotPossible for one that has ended."""
        return await self.patch(job, paused(job, on), actor)

    async def scale(self, job: Manifest, replicas: int, actor: str) -> Manifest:
        """So many replicas are wished. Raises NotPossible for a job that is not elastic."""
        return await self.patch(job, scaled(job, replicas), actor)

    async def delete(self, job: Manifest, actor: str, grace: float | None = None) -> None:
        """The job's deletion has begun; its pods get `grace` seconds (None: as many as they ask for).

        Raises NotPossible if `grace` is given in a process that deletes no pods; nothing was deleted then.
        """
        if grace is not None and Role.PROJECTORS not in self.controller.options.roles:
            raise NotPossible(
                "this process deletes no pods, so it cannot give them a grace period; delete the job without one, "
                "then its pods with `kubectl delete pods --grace-period`"
            )
        ref, uid = Ref.of(job), job["metadata"]["uid"]
        if not is_gone(job):
            await self.cluster.patch(ref, {"metadata": {"annotations": {DELETED_BY: actor}}}, uid=uid)
            await self.cluster.delete(ref, uid=uid)
        if grace is not None:
            await self.hurry(uid, grace)

    async def hurry(self, uid: str, grace: float = 0.0) -> None:
        """The pods of a deleted job have `grace` seconds left; the deletion is in the log before they hear of it."""
        unread = self.controller.states.quarantined(JobUid(uid)) is not None
        with self.feed.changes() as changes:
            while not unread and not ((state := self.state(uid)) and state.deleted):
                await anext(changes)
        for pod in await self.cluster.children("", uid):
            if pod["kind"] == "Pod":
                try:
                    await self.cluster.delete(Ref.of(pod), uid=pod["metadata"]["uid"], grace=grace)
                except Missing:
                    continue

    # ---- health --------------------------------------------------------------------------------------------

    async def troubles(self) -> list[str]:
        """What keeps the controller from its work, a sentence each; empty while it makes progress."""
        return (await self.health.readiness()).troubles


def ref_of(state: JobState) -> Ref:
    """The reference to the job object of a state."""
    return Ref(state.api_version, state.object_kind, state.namespace, state.name)
