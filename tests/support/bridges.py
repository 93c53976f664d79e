"""The two ports of a bridge as tests fill them: a log that knows what a test gives it, and signals that are kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8s_bridge.context import Known, NoLog, NoSignals
from k8s_bridge.port import Ref
from statemachine.ids import JobUid, ReplicaName
from statemachine.observations import PodGone


@dataclass
class LogOf:
    """A LogContext of what is given; the rest is as in a log without jobs."""

    jobs: Known = field(default_factory=dict)
    kind_of: Callable[[JobUid], str] = NoLog().kind_of
    place_of: Callable[[PodGone], Ref | None] = NoLog().place_of
    pod_name: Callable[[JobUid, ReplicaName], str] = NoLog().pod_name
    is_forgotten: Callable[[JobUid], bool] = NoLog().is_forgotten

    def known(self) -> Known:
        """See LogContext."""
        return self.jobs


class Kept(NoSignals):
    """Signals that are kept: the jobs that were touched, and what was observed."""

    def __init__(self) -> None:
        self.jobs: list[JobUid] = []
        self.statuses: list[Mapping[str, Any]] = []

    def touched(self, job: JobUid) -> None:
        """See Signals."""
        self.jobs.append(job)

    def shown(self, _: JobUid, status: Mapping[str, Any]) -> None:
        """See Signals."""
        self.statuses.append(status)
