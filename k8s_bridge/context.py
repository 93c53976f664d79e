"""Two ports of a bridge, to the log and to projectors, each with a null implementation."""

from collections.abc import Mapping
from typing import Any, Protocol

from k8s_bridge.port import Ref
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.observations import Observation, PodGone

Known = Mapping[JobUid, Mapping[tuple[ReplicaName, int], PodUid]]
"""What the log believes to exist.

Open jobs, and the pods (by replica and attempt) that have been observed.
"""


class LogContext(Protocol):
    """What the log has of jobs and pods that a bridge observes, or misses."""

    def known(self) -> Known:
        """What the log believes to exist."""

    def kind_of(self, job: JobUid) -> str:
        """The kind of a job that the log knows; empty for any other."""

    def place_of(self, pod: PodGone) -> Ref | None:
        """The reference to a pod that the log counts as its replica's; None if it does not count this pod."""

    def pod_name(self, job: JobUid, replica: ReplicaName) -> str:
        """The name of the replica's pods; empty if the log does not know the job."""

    def is_forgotten(self, job: JobUid) -> bool:
        """No object of the job should exist any more, and no visit would look for one."""


class NoLog:
    """A LogContext of a log without jobs."""

    def known(self) -> Known:
        """See LogContext."""
        return {}

    def kind_of(self, _: JobUid) -> str:
        """See LogContext."""
        return ""

    def place_of(self, _: PodGone) -> Ref | None:
        """See LogContext."""
        return None

    def pod_name(self, _: JobUid, __: ReplicaName) -> str:
        """See LogContext."""
        return ""

    def is_forgotten(self, _: JobUid) -> bool:
        """See LogContext."""
        return False


class Signals(Protocol):
    """What projectors learn of the cluster without an observation."""

    def touched(self, job: JobUid) -> None:
        """A child of the job changed in a way that no observation speaks of.

        A Service, or another child, that is gone; a pod that is held, and whose node is done with it.
        """

    def shown(self, job: JobUid, status: Mapping[str, Any]) -> None:
        """The job object has this status."""

    def listed(self) -> None:
        """Everything that exists has been reported."""

    def observed(self, observation: Observation) -> None:
        """The observation is on its way to the engine."""


class NoSignals:
    """Signals in a process without projectors."""

    def touched(self, job: JobUid) -> None:
        """See Signals."""

    def shown(self, job: JobUid, status: Mapping[str, Any]) -> None:
        """See Signals."""

    def listed(self) -> None:
        """See Signals."""

    def observed(self, observation: Observation) -> None:
        """See Signals."""
