"""The level projectors, each behind its work queue."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Final

from jobledger.telemetry.instruments import Instruments
from jobledger.wiring.options import ControllerOptions
from jobledger.wiring.startup import Startup
from k8s_bridge.port import Cluster
from projectors.asking import Asking
from projectors.base import Projector, States
from projectors.children import Children
from projectors.confirming import Confirming
from projectors.expiry import Expiry
from projectors.leisure import Rush
from projectors.status import Status
from projectors.workqueue import WorkQueue
from statemachine.engine.clock import Clock
from statemachine.engine.source import Pulse
from statemachine.ids import JobUid
from statemachine.log.reader import Folded
from statemachine.observations import ChildObserved, JobGone, Observation, PodGone, PodObserved

_SETTLE: Final = 1.0
"""Seconds until a child that was observed is looked at, if it is expected, or may be: another process decides."""

_MOMENT: Final = 1.0
"""Seconds for which a view that is not urgent collects changes: the pods of a job start and end together."""


class Levels:
    """Children and statuses of the jobs that are `mine`.

    Nothing is visited before `cluster_listed`: a visit must see what exists.
    """

    def __init__(
        self,
        states: States,
        cluster: Cluster,
        observe: Callable[[Observation], Awaitable[None]],
        clock: Clock,
        mine: Callable[[JobUid], bool],
        *,
        options: ControllerOptions,
        instruments: Instruments,
    ) -> None:
        self._mine, self._states = mine, states
        self.confirming = Confirming(cluster, clock, options.env_values)
        self.rush = Rush()
        children = Children(
            states,
            cluster,
            observe,
            clock,
            evidence=options.evidence,
            generators=options.generators,
            confirming=self.confirming,
            env_values=options.env_values,
            rush=self.rush,
        )
        self._status = Status(states, cluster, self.rush)
        expiry = Expiry(states, cluster)
        self.children, self.statuses, self.expiries = (
            WorkQueue(
                projector.name,
                instruments.visit(projector.name, _of(mine, projector)),
                options.workers,
                options.jitter,
            )
            for projector in (children, self._status, expiry)
        )
        self._all: tuple[tuple[Projector, WorkQueue], ...] = (
            (children, self.children),
            (self._status, self.statuses),
            (expiry, self.expiries),
        )
        if options.ask is not None:
            asking = Asking(states, observe, clock, options.ask)
            visit = instruments.visit(asking.name, _of(mine, asking))
            self._all += ((asking, WorkQueue(asking.name, visit, options.workers, options.jitter)),)
        self.startup = Startup()

    @property
    def queues(self) -> Mapping[str, WorkQueue]:
        """The work queues by the names of their projectors."""
        return {projector.name: queue for projector, queue in self._all}

    def add(self, jobs: Iterable[JobUid]) -> None:
        """Every view of `jobs` is to be looked at, behind the jobs of which something is known to have changed."""
        for job in jobs:
            for _, queue in self._all:
                queue.add(job, behind=True)

    def shared(self, jobs: Iterable[JobUid]) -> None:
        """These are the jobs that are ours from now on, whichever process had them before."""
        self._status.begin_anew()
        self.add(jobs)

    def entry(self, folded: Folded) -> None:
        """An entry was appended."""
        events, job = folded.entry.events, folded.record.job
        is_mine = self._mine(job)
        if is_mine:
            self._status.changed(job, folded.record.seq, folded.before, folded.state)
        for projector, queue in self._all:
            if not projector.concerns(events):
                continue
            if not projector.is_urgent(events):
                queue.add_after(job, _MOMENT)
                continue
            queue.add(job)
            if is_mine:
                self.rush.write()

    def silent(self, observation: Observation) -> None:
        """A child whose report changes nothing may be one that no state asks for: a create that took effect late.

        If it is gone, its name may be free for one that is asked for. The pod that the log has is neither.
        """
        if isinstance(observation, PodObserved) and self._is_expected(observation):
            self.children.add_after(observation.job, _SETTLE)
        elif isinstance(observation, PodObserved | PodGone | ChildObserved):
            self.children.add(observation.job)

    def _is_expected(self, observation: PodObserved) -> bool:
        """The log has this pod as its replica's."""
        state = self._states.state(observation.job)
        replica = state.replicas.get(observation.replica) if state is not None else None
        return replica is not None and replica.uid == observation.uid

    def observed(self, observation: Observation) -> None:
        """As `silent`, where it is not known yet, or never will be, whether the report changes something."""
        if isinstance(observation, PodObserved | PodGone | ChildObserved | JobGone):
            self.children.add_after(observation.job, _SETTLE)

    def touched(self, job: JobUid) -> None:
        """A child of the job is not as it was."""
        self.children.add(job)

    def shown(self, job: JobUid, status: Mapping[str, Any]) -> None:
        """The job object has this status."""
        delay = self._status.shown(job, status)
        if delay is not None:
            self.statuses.add_after(job, delay)

    def cluster_listed(self) -> None:
        """What exists in the cluster is known."""
        self.startup.listed.set()

    def loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What is to run, by name."""
        for projector, queue in self._all:
            yield projector.name, self._visit(queue)

    def pulses(self) -> dict[str, Pulse]:
        """How the queues are doing."""
        return {projector.name: queue.pulse() for projector, queue in self._all}

    async def finish(self) -> None:
        """No visit is in hand, and none is begun."""
        for _, queue in self._all:
            await queue.finish()

    async def _visit(self, queue: WorkQueue) -> None:
        await self.startup.listed.wait()
        await queue.run()


def _of(mine: Callable[[JobUid], bool], projector: Projector) -> Callable[[JobUid], Awaitable[float | None]]:
    """The projector's visit, to the jobs that are `mine`."""

    async def visit(job: JobUid) -> float | None:
        return await projector.visit(job) if mine(job) else None

    return visit
