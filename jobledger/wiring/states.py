"""What the log says of jobs, for every role of a process: the latest states, and what should exist of each job."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache

from k8s_bridge.attended import EVERYTHING, Attended
from k8s_bridge.context import Known
from k8s_bridge.port import Ref
from projectors.base import Quarantine
from statemachine.ids import JobUid, PodUid, ReplicaName, Seq
from statemachine.kinds import kind_of
from statemachine.log.partitions import Partitions, Readers
from statemachine.log.reader import Reader, Tracked, closed_in
from statemachine.observations import PodGone
from statemachine.state import JobState


class LatestStates:
    """The reader's states as projectors (see States) and bridges (see LogContext) get them.

    `fresh` is the source's. Jobs that are not `attended` are left out.
    """

    def __init__(
        self,
        reader: Reader | Readers,
        partitions: Partitions,
        fresh: Callable[[JobUid], Awaitable[None]],
        attended: Attended = EVERYTHING,
    ) -> None:
        self._reader, self._partitions, self._fresh = reader, partitions, fresh
        self._covers = lru_cache(maxsize=4096)(attended.covers)  # asked for in every visit, of few places

    def state(self, job: JobUid) -> JobState | None:
        """The job's state; None for one that is unknown, quarantined, forgotten, or not attended here."""
        return self._of(self._reader.tracked(job))

    def is_forgotten(self, job: JobUid) -> bool:
        """See States."""
        return job in self._reader.forgotten

    def quarantined(self, job: JobUid) -> Quarantine | None:
        """See States."""
        tracked = self._reader.tracked(job)
        return Quarantine(tracked.state, tracked.quarantined) if tracked.quarantined else None

    async def past(self, job: JobUid) -> JobState | None:
        """As `state`, of a forgotten job from the log: Kafka has to read the whole partition for it."""
        tracked = self._reader.tracked(job)
        if tracked.forgotten:
            reader = Reader()
            await reader.fold_job(self._partitions.log_of(job), job)
            tracked = reader.tracked(job)
        return self._of(tracked)

    async def all_past(self) -> AsyncIterator[JobState]:
        """Every forgotten job, as it ended: one pass over every log."""
        forgotten = self._reader.forgotten
        for event_log in self._partitions.logs if forgotten else ():
            async for tracked in closed_in(event_log, forgotten):
                if (state := self._of(tracked)) is not None:
                    yield state

    def _of(self, tracked: Tracked) -> JobState | None:
        if tracked.quarantined or tracked.seq == 0 or tracked.forgotten:
            return None
        state = tracked.state
        return state if self._covers(state.api_version, state.kind, state.namespace) else None

    def seq(self, job: JobUid) -> Seq:
        """Number of the last entry folded into it."""
        return self._reader.tracked(job).seq

    async def fresh(self, job: JobUid) -> None:
        """See States."""
        await self._fresh(job)

    # ---- what should exist -------------------------------------------------------------------------------------

    def known(self) -> Known:
        """What the log believes to exist: jobs not gone, and their pods that have been observed."""
        known: dict[JobUid, dict[tuple[ReplicaName, int], PodUid]] = {}
        for job in self._reader.open_jobs:
            state = self.state(job)
            if state is None:
                continue
            pods = {
                (replica.name, replica.attempt): replica.uid
                for replica in state.replicas.values()
                if replica.has_pod
            }
            if pods or not state.deleted:
                known[job] = pods
        return known

    def pods(self) -> set[PodUid]:
        """Every pod that the log counts as a replica's."""
        return {uid for pods in self.known().values() for uid in pods.values() if uid}

    def awaited_pods(self) -> set[Ref]:
        """Every pod that a job has asked for and that the log does not have yet."""
        return {
            Ref("v1", "Pod", state.namespace, self.pod_name(job, replica.name))
            for job in self._reader.open_jobs
            if (state := self.state(job)) is not None and not state.deleted
            for replica in state.replicas.values()
            if replica.awaits_pod and not replica.leaving
        }

    def kind_of(self, job: JobUid) -> str:
        """See LogContext."""
        state = self.state(job)
        return state.kind if state is not None else ""

    def place_of(self, pod: PodGone) -> Ref | None:
        """Where the pod is, if the log counts it as the replica's."""
        state = self.state(pod.job)
        replica = state.replicas.get(pod.replica) if state is not None else None
        if state is None or replica is None or not replica.has_pod or replica.uid != pod.uid:
            return None
        return Ref("v1", "Pod", state.namespace, self.pod_name(pod.job, replica.name))

    def pod_name(self, job: JobUid, replica: ReplicaName) -> str:
        """See LogContext."""
        state = self.state(job)
        return kind_of(state.api_version, state.kind).pod_name(state, replica) if state is not None else ""
