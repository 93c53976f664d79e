"""Every type of public event, and what becomes of the internal events that have none."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from projectors.contract.model import jobs, replicas
from projectors.contract.model.parts import Data

VERSION: Final = "1.0"
"""Of the contract: major.minor. Everything in a major version is compatible in both directions."""


class Severity(IntEnum):
    """How much an event asks for attention: OpenTelemetry's numbers."""

    INFO = 9
    WARN = 13
    ERROR = 17


class PublicType(NamedTuple):
    """A type: its name, the model of its data, and the internal events at whose places its events stand."""

    name: str
    model: type[Data]
    anchors: tuple[str, ...]
    severity: Severity = Severity.INFO
    raised: str = ""
    """When an event is graver than that, in words."""

    @property
    def full_name(self) -> str:
        """The attribute `type`."""
        return f"{PREFIX}{self.name}.v1"

    @property
    def schema(self) -> str:
        """The attribute `dataschema`."""
        return f"https://jobledger.dev/contract/{VERSION}/{self.name}.json"


PREFIX: Final = "dev.jobledger."

_WARN: Final = Severity.WARN
_PHASE: Final = ("PhaseEntered",)

CATALOGUE: Final = (
    PublicType("job.created", jobs.JobCreated, ("JobAdmitted",)),
    PublicType("job.adopted", jobs.JobAdopted, ("JobAdopted",)),
    PublicType("job.updated", jobs.JobUpdated, ("SpecChanged", "LabelsChanged")),
    PublicType("job.update_rejected", jobs.JobUpdateRejected, ("UpdateIgnored",), _WARN),
    PublicType("job.pending", jobs.JobPhase, _PHASE),
    PublicType("job.running", jobs.JobPhase, _PHASE),
    PublicType("job.paused", jobs.JobPhase, _PHASE),
    PublicType("job.resuming", jobs.JobPhase, _PHASE),
    PublicType("job.succeeded", jobs.JobPhase, _PHASE),
    PublicType("job.failed", jobs.JobFailed, _PHASE, Severity.ERROR),
    PublicType("job.unknown", jobs.JobPhase, _PHASE, _WARN),
    PublicType("job.initialized", jobs.JobInitialized, ("ChildrenAccepted",)),
    PublicType("job.child_refused", jobs.JobChildRefused, ("ChildRefused",), _WARN),
    PublicType("job.pod_group_changed", jobs.JobPodGroupChanged, ("ChildChanged",)),
    PublicType("job.queue_changed", jobs.JobQueueChanged, ("QueueChanged",), raised="WARN with an eviction"),
    PublicType("job.cleaned_up", jobs.JobCleanedUp, ("CleanedUp",)),
    PublicType("job.expired", jobs.JobExpired, ("JobExpired",)),
    PublicType("job.terminating", jobs.JobTerminating, ("JobTerminating",)),
    PublicType("job.deleted", jobs.JobDeleted, ("JobDeleted",)),
    PublicType("job.closed", jobs.JobClosed, ("JobClosed",)),
    PublicType("replica.requested", replicas.ReplicaRequested, ("ReplicaRequested",)),
    PublicType("replica.delayed", replicas.ReplicaDelayed, ("ReplicaDelayed",)),
    PublicType("replica.pending", replicas.ReplicaPending, ("ReplicaCreated",)),
    PublicType("replica.running", replicas.ReplicaRunning, ("ReplicaStarted",)),
    PublicType("replica.updated", replicas.ReplicaUpdated, ("ReplicaUpdated",)),
    PublicType("replica.succeeded", replicas.ReplicaEnded, ("ReplicaSucceeded",)),
    PublicType("replica.failed", replicas.ReplicaEnded, ("ReplicaFailed",), _WARN),
    PublicType("replica.stopped", replicas.ReplicaEnded, ("ReplicaEnded",)),
    PublicType("replica.unknown", replicas.ReplicaUnknown, ("ReplicaUnreachable",), _WARN),
    PublicType("replica.lost", replicas.ReplicaLost, ("ReplicaLost",), _WARN),
    PublicType("replica.stopping", replicas.ReplicaStopping, ("ReplicaDismissed",)),
    PublicType("replica.released", replicas.ReplicaReleased, ("ReplicaReleased",)),
    PublicType("replica.restart_scheduled", replicas.ReplicaRestartScheduled, ("RestartScheduled",), _WARN),
    PublicType(
        "replica.restart_denied",
        replicas.ReplicaRestartDenied,
        ("RestartDenied",),
        _WARN,
        "ERROR where no restart is left",
    ),
)
"""In the order of a job's life."""

TYPES: Final[Mapping[str, PublicType]] = {public_type.name: public_type for public_type in CATALOGUE}

PRIVATE: Final[Mapping[str, str]] = {
    "ConditionsChanged": "private: conditions follow from the rest, and the job object shows them",
    "Announced": "warnings of an entry are `notices` (of a refused job `problems`) of its `job.created` or "
    "`job.updated`; others are private, as Kubernetes Events carry them",
    "TimerSet": "private: scheduling; `deadlineAt` and `retryAt` say when something is due",
    "TimerCleared": "private: scheduling",
    "ReplicaAdopted": "merged into the `replica.pending` that follows: `adopted`, and its `attempt`",
}
"""Internal event without a type of its own → what becomes of it."""

PARTLY: Final[Mapping[str, str]] = {
    "LabelsChanged": "merged into `job.created` or `job.updated` where the entry has one of its own",
    "UpdateIgnored": "private without problems: bookkeeping of generations",
    "ChildChanged": "private of children that are not the job's gang",
}
"""Internal event that has a type → when it is not published all the same."""

RESERVED: Final[Mapping[str, str]] = {
    "job.intervened": "an operator's command",
    "replica.scheduled": "a pod got its node",
    "ledger.checkpoint": "a signed state of the ledger",
    "job.state": "the latest public document of a job",
}
"""Names that nothing else will get; none of them is in this version."""


def short_name(type_: str) -> str:
    """The name in the catalogue of an attribute `type`; as it is if it is none of ours."""
    return type_.removeprefix(PREFIX).removesuffix(".v1") if type_.startswith(PREFIX) else type_
