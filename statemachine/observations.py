"""What was observed outside: the input of `decide`.

Comes from `k8s_bridge.observe` (jobs, pods), from the children projector (`WriteRefused`) and from the
timers. Delivered at least once, possibly late, twice or out of order; never trusted to be complete. Small:
only what a decision can depend on, plus ids. Written whole into the entry that it causes, so that it can be
decided again.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import Meta, field

from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.wire import Wire

MOST_LABELS: Final = 64
"""Of one job; Kubernetes knows no such bound, and nobody reads more."""

Labels = Annotated[
    dict[Annotated[str, Meta(max_length=317)], Annotated[str, Meta(max_length=63)]],
    Meta(max_length=MOST_LABELS),
]
"""`metadata.labels`, within the lengths that Kubernetes allows: prefix 253, name 63, value 63 characters."""


class PodPhase(StrEnum):
    """`status.phase` of a pod. Source: Kubernetes, core/v1 PodStatus."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class ContainerStatus(StrEnum):
    """What a container is doing: the key of `containerStatuses[].state`."""

    WAITING = "Waiting"
    RUNNING = "Running"
    TERMINATED = "Terminated"
    UNKNOWN = "Unknown"


class Container(Wire):
    """One container of a pod as last seen. `exit_code` only when terminated; `reason` is the kubelet's.

    `restarts` is how often the kubelet has started it again in the same pod (`restartCount`).
    """

    name: str
    state: ContainerStatus
    exit_code: int | None = None
    reason: str = ""
    init: bool = False
    restarts: int = 0


class Seen(Wire):
    """What every observation has: whose it is, when it was observed, and when it happened if that is known."""

    job: JobUid
    at: datetime
    happened_at: datetime | None = None


class RecordedCondition(Wire):
    """A condition as a job object shows it."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    changed_at: datetime
    updated_at: datetime | None = None


class Recorded(Wire):
    """What the status of a job object says of a life that the log may not know.

    `phase` is Succeeded or Failed, or empty for a job that has not ended. `restarts` by replica type, and `spent` of
    the budget; None where the status does not count them. `tally`: replica type → how many replicas were how.
    """

    phase: Literal["", "Succeeded", "Failed"] = ""
    conditions: tuple[RecordedCondition, ...] = ()
    started_at: datetime | None = None
    completed_at: datetime | None = None
    restarts: dict[str, int] | None = None
    spent: int | None = None
    tally: dict[str, dict[str, int]] = field(default_factory=dict)


class ActorSource(StrEnum):
    """How it is known who is behind a change."""

    RECORDED = ""
    """Not verified: as older releases recorded it, or as a machine's own programs say."""
    VERIFIED = "verified"
    """The API server knew the user; an admission policy guards the name."""
    STATED = "stated"
    """A client of ours said for whom it acts, and nobody checked it."""
    MANAGER = "manager"
    """No person: the name of the program that wrote the field (a field manager), which a client chooses."""


class JobObserved(Seen, tag=True):
    """The job object as it stands. `spec` is the user's, as stored; `actor` changed it, if known."""

    type: ClassVar[Literal["JobObserved"]] = "JobObserved"
    api_version: str
    kind: str
    namespace: str
    name: str
    generation: int
    spec: dict[str, Any]
    actor: str = ""
    actor_source: ActorSource = ActorSource.RECORDED
    settings: dict[str, str] = field(default_factory=dict)
    """What is configured for jobs of this kind, for the job to keep; by the kind's own keys."""
    labels: Labels = field(default_factory=dict)
    """Those of the job object; they decide nothing, and are passed on for lists."""
    recorded: Recorded | None = None
    """What its status says; given where the log may have lost it, or never had it."""
    terminating_since: datetime | None = None
    """When its deletion was asked for, while finalizers hold the object."""
    version: int = 0
    """The object's resourceVersion; 0: it is not known, or no number."""
    written_at: datetime | None = None
    """When the API server took that version, in whole seconds, if it says so."""


class JobGone(Seen, tag=True):
    """The job object is gone."""

    type: ClassVar[Literal["JobGone"]] = "JobGone"
    actor: str = ""
    actor_source: ActorSource = ActorSource.RECORDED


CANNOT_START: Final = "CannotStart"
"""Reason of a failed pod that its kubelet will never start: the machine refuses it for good (spec T6)."""


class PodObserved(Seen, tag=True):
    """A pod of a replica as it stands.

    `attempt` is the number in the pod's annotation; `deleting` says that it has a deletionTimestamp; `own_ends` are
    the containers that had finished when that deletion was asked for, said of a pod that has ended (spec R8);
    `disruption` is the reason of its DisruptionTarget condition; `reason` and `message` are the pod status's
    own. `written_at`: when the API server took its last change, in whole seconds, if it says so.
    """

    type: ClassVar[Literal["PodObserved"]] = "PodObserved"
    replica: ReplicaName
    attempt: int
    pod: str
    uid: PodUid
    phase: PodPhase
    containers: tuple[Container, ...] = ()
    node: str = ""
    reason: str = ""
    message: str = ""
    disruption: str = ""
    deleting: bool = False
    ready: bool = False
    own_ends: tuple[str, ...] = ()
    written_at: datetime | None = None


class PodGone(Seen, tag=True):
    """A pod no longer exists. An empty `uid`: no pod of `attempt` exists, the projector looked for it."""

    type: ClassVar[Literal["PodGone"]] = "PodGone"
    replica: ReplicaName
    attempt: int
    uid: PodUid = PodUid("")


class PodUnreadable(Seen, tag=True):
    """A pod exists, but its status cannot be made out (spec T16: lost after 60 s)."""

    type: ClassVar[Literal["PodUnreadable"]] = "PodUnreadable"
    replica: ReplicaName
    uid: PodUid
    written_at: datetime | None = None


class TimerFired(Seen, tag=True):
    """A timer that the job has set is due."""

    type: ClassVar[Literal["TimerFired"]] = "TimerFired"
    timer: str
    due_at: datetime


class WriteRefused(Seen, tag=True):
    """The cluster did not take a write of the children projector.

    `status` and `message` are the API server's; `name_taken` says that an object of that name exists which
    this job does not control; `retryable` that the same write may succeed later (409, 403 for quota, 429,
    5xx).
    """

    type: ClassVar[Literal["WriteRefused"]] = "WriteRefused"
    verb: Literal["create", "delete"]
    kind: str
    name: str
    status: int
    message: str
    retryable: bool
    name_taken: bool = False
    replica: ReplicaName = ReplicaName("")
    attempt: int = 0


class ChildObserved(Seen, tag=True):
    """An object of the job that is no pod, as it stands; an empty uid says that `gone_uid` is gone.

    A watch says so of one that has lost its labels, too. Without `gone_uid`: the projector looked for one that is
    made once, and no such object of the job exists.

    `facts` are what the job's kind declares of such objects (`Owned.facts`), by name. `generation` grows with the
    object's spec: that an update has arrived is news although nothing else differs.
    """

    type: ClassVar[Literal["ChildObserved"]] = "ChildObserved"
    kind: str
    name: str
    uid: str
    generation: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    gone_uid: str = ""


class WorkloadCondition(Wire):
    """A condition of a Workload. `message` is cut: Kueue's may have 32,768 characters."""

    type: str
    status: str
    reason: str = ""
    message: Annotated[str, Meta(max_length=1024)] = ""
    changed_at: datetime | None = None


class WorkloadObserved(Seen, tag=True):
    """What Kueue makes of the job: its Workload; an empty uid says that `gone_uid` is gone.

    `queue` is the LocalQueue; `cluster_queue` and `flavors` (the ResourceFlavors, sorted) are those of the quota that
    is reserved for it. `active` is false while the Workload is deactivated. Only conditions that tell of admission
    and eviction are among `conditions`. Source: Kueue, kueue.x-k8s.io/v1beta2 Workload.
    """

    type: ClassVar[Literal["WorkloadObserved"]] = "WorkloadObserved"
    name: str
    uid: str
    queue: str = ""
    cluster_queue: str = ""
    flavors: tuple[str, ...] = ()
    active: bool = True
    conditions: tuple[WorkloadCondition, ...] = ()
    gone_uid: str = ""


Observation = (
    JobObserved
    | JobGone
    | PodObserved
    | PodGone
    | PodUnreadable
    | TimerFired
    | WriteRefused
    | ChildObserved
    | WorkloadObserved
)
