"""All that a user can ask for, over a running controller: what the CLI's `run` and the HTTP API are made of.

Plain data goes in and out: manifests as Kubernetes shows them, with the status folded from the log, which is
never behind. Everything that is written is written to the cluster, as `kubectl` would; what follows from it
is the controller's business.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobledger.jobs.attempts import chosen, pod_of
from jobledger.jobs.changes import paused, scaled, still_there
from jobledger.jobs.intake import Intake
from jobledger.jobs.patches import examined, signed
from jobledger.jobs.views import is_gone
from jobledger.manifests import Manifest as Written
from jobledger.program.errors import NotPossible
from jobledger.service.feed import EntryFeed
from jobledger.service.health import Health
from jobledger.service.job_reader import OBJECT_KINDS, JobReader
from jobledger.wiring import Controller
from jobledger.wiring.roles import Role
from k8s_bridge.actors import DELETED_BY
from k8s_bridge.port import Manifest, Ref
from k8s_bridge.selectors import EVERYTHING, Selector
from statemachine.errors import Missing
from statemachine.ids import JobUid
from statemachine.state import ReplicaPhase

if TYPE_CHECKING:
    pass


class App(JobReader):
    """The controller's front: reads jobs, follows them, and changes them."""

    def __init__(self, controller: Controller, health: Health | None = None) -> None:
        super().__init__(controller)
        self.health = health or Health(controller)
        self.feed = EntryFeed()
        controller.engine.source.listeners.append(self.feed.tell)
        self._intake = Intake(self.cluster)

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
                job = await self.by_uid(state.namespace, state.name, uid)
                was_shown, is_there = uid in shown, not state.closed and selector.selects(job["metadata"])
                if is_there:
                    shown.add(uid)
                    yield "MODIFIED" if was_shown else "ADDED", job
                elif was_shown or not selector:
                    shown.discard(uid)
                    yield "DELETED", job

    # ---- logs ----------------------------------------------------------------------------------------------

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
            self.demand_readable(job)
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
        self.demand_readable(job)
        examined(job, merge)
        stored = await self.cluster.patch(Ref.of(job), signed(job, merge, actor), uid=job["metadata"]["uid"])
        return self.shown(stored)

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
