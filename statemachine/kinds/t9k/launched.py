"""The objects of a job with a launcher, but for what its kind puts into pods. Source: colossalaijob.md, section 3."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from statemachine.ids import ReplicaName, replica_name
from statemachine.kinds.t9k.hostfile import hostfile
from statemachine.kinds.t9k.launcher import THE_LAUNCHER, launcher_pod_name
from statemachine.kinds.t9k.objects import Member, pod_group
from statemachine.kinds.t9k.parts import Scheduler, T9kScheduler
from statemachine.kinds.t9k.pods import replica_pod
from statemachine.kinds.t9k.services import Ports, services
from statemachine.kinds.t9k.ssh import ssh_secret
from statemachine.kinds.t9k.workers import WORKER
from statemachine.owned import Child, Manifest
from statemachine.state import JobState


@dataclass(frozen=True, slots=True)
class LaunchedJob:
    """A job whose launcher starts the training on so many `workers`."""

    state: JobState
    workers: int
    placed_by: Scheduler | None

    def member(self, replica: ReplicaName) -> Member:
        """The replica as its objects need it."""
        return Member(replica, launcher_pod_name(self.state, replica), primary=replica == THE_LAUNCHER)

    @property
    def members(self) -> Iterator[Member]:
        """The workers by index."""
        return (self.member(replica_name(WORKER, index)) for index in range(self.workers))

    @property
    def scheduler(self) -> T9kScheduler | None:
        """The queue that the pods wait in."""
        return self.placed_by.t9k_scheduler if self.placed_by else None

    def objects(
        self,
        *,
        hosts: Callable[[Member], str],
        ports: Ports,
        worker: Callable[[Member], Manifest],
        launcher: Callable[[Member], Manifest],
    ) -> Iterator[Child]:
        """PodGroup, Secret, ConfigMap, Services and pods, in the order of creation (spec R4).

        `hosts` gives a worker's line of the hostfile; `worker` and `launcher` build pods. The launcher's pod comes
        last; when it is asked for is not decided here.
        """
        if self.scheduler is not None:
            yield pod_group(self.state, self.scheduler, self.workers)
        yield ssh_secret(self.state)
        yield hostfile(self.state, lambda: map(hosts, self.members))
        yield from services(self.state, self.members, ports)
        for member in self.members:
            yield replica_pod(self.state, member, partial(worker, member))
        starting = self.member(THE_LAUNCHER)
        yield replica_pod(self.state, starting, partial(launcher, starting))
