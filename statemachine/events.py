"""What has happened in a job's life: the output of `decide`, the input of `evolve`. Past tense, immutable.

An event says everything that folding it needs, and what it was decided by (limit, delay, attempt, rule): a
setting that changes later must not change the past. A changed event gets its `v` raised and an upcaster.
Fields that hold their default are not written; `type` and `v` always are.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal

from msgspec import field

from statemachine.errors import Problem
from statemachine.ids import PodUid, ReplicaName
from statemachine.observations import Container, Labels, RecordedCondition
from statemachine.phases import Phase, Trigger
from statemachine.spec import Plan
from statemachine.wire import Wire, always_written


class CauseClass(StrEnum):
    """Why something ended or was let go; taken from evidence, never guessed from an exit code alone."""

    APPLICATION_EXIT = "application exit"
    OUT_OF_MEMORY = "out of memory"
    DISRUPTED = "preempted or evicted"
    NODE_LOST = "node lost"
    DELETED_BY_SOMEONE = "deleted by someone"
    DELETED_BY_US = "deleted by us"
    REFUSED_BY_API = "refused by the API"
    DEADLINE = "deadline"
    EVIDENCE_LOST = "evidence lost"


class Cause(Wire):
    """The cause class of a failure, restart or deletion, with its evidence.

    `rule` is the spec's rule that matched; the budget is the number of restarts left before and after (None:
    unlimited, or not touched by this event).
    """

    kind: CauseClass
    rule: str
    pod_uid: PodUid = PodUid("")
    node: str = ""
    container: str = ""
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    budget_before: int | None = None
    budget_after: int | None = None


class Condition(Wire):
    """A condition as decided; when it last changed is `evolve`'s to say. Source: spec R6."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str

    @property
    def said(self) -> tuple[str, str, str]:
        """All but its type."""
        return self.status, self.reason, self.message


class JobAdmitted(Wire, tag=True):
    """The job was seen for the first time; `spec` is the canonical form (aliases rewritten)."""

    type: ClassVar[Literal["JobAdmitted"]] = "JobAdmitted"
    v: Literal[2] = always_written(default=2)
    api_version: str
    kind: str
    namespace: str
    name: str
    generation: int
    at: datetime
    spec: dict[str, Any]
    plan: Plan | None = None
    """None when the spec breaks a rule: there is nothing to run."""
    object_kind: str = ""
    """The kind that the job object says, where it is an alias of `kind`."""
    settings: dict[str, str] = field(default_factory=dict)
    """What was configured for jobs of the kind; what is configured later does not change this job."""


class JobAdopted(Wire, tag=True):
    """The log begins, or goes on, with a job that has lived without it; this is what the job object's status says.

    The rest is not known: `spent` and `restarts` are None where nobody counted.
    """

    type: ClassVar[Literal["JobAdopted"]] = "JobAdopted"
    v: Literal[1] = always_written(default=1)
    conditions: tuple[RecordedCondition, ...] = ()
    started_at: datetime | None = None
    completed_at: datetime | None = None
    restarts: dict[str, int] | None = None
    spent: int | None = None
    tally: dict[str, dict[str, int]] = field(default_factory=dict)


class SpecChanged(Wire, tag=True):
    """A wish of the user was accepted. `changes` maps the path of each changed field to its new value."""

    type: ClassVar[Literal["SpecChanged"]] = "SpecChanged"
    v: Literal[2] = always_written(default=2)
    generation: int
    changes: dict[str, Any]
    spec: dict[str, Any]
    plan: Plan


class LabelsChanged(Wire, tag=True):
    """The job object has these labels from now on, and no others. Nothing of the job depends on them.

    It has them in its `version`, which the API server took at `written_at` (see `JobObserved`).
    """

    type: ClassVar[Literal["LabelsChanged"]] = "LabelsChanged"
    v: Literal[1] = always_written(default=1)
    labels: Labels = field(default_factory=dict)
    version: int = 0
    written_at: datetime | None = None


class UpdateIgnored(Wire, tag=True):
    """A new generation was seen that changes nothing, or only what may not change (`problems` says what)."""

    type: ClassVar[Literal["UpdateIgnored"]] = "UpdateIgnored"
    v: Literal[1] = always_written(default=1)
    generation: int
    problems: tuple[Problem, ...] = ()


class PhaseEntered(Wire, tag=True):
    """The job's phase changed by `trigger`, row `rule` of spec R5."""

    type: ClassVar[Literal["PhaseEntered"]] = "PhaseEntered"
    v: Literal[1] = always_written(default=1)
    phase: Phase
    trigger: Trigger
    rule: str
    at: datetime
    cause: Cause | None = None


class ConditionsChanged(Wire, tag=True):
    """Conditions took these values; those named in `removed` are absent from now on."""

    type: ClassVar[Literal["ConditionsChanged"]] = "ConditionsChanged"
    v: Literal[1] = always_written(default=1)
    at: datetime
    conditions: tuple[Condition, ...] = ()
    removed: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    """These are False from now on, and keep all else that they say."""
    first: bool = False
    """Those that are new go to the beginning of the list."""
    last: bool = False
    """Those that changed go to the end of the list, and say when they were set: the order of kinds that show what is
    newest as the state of the job."""


class Announced(Wire, tag=True):
    """Something that users read once: becomes a Kubernetes Event on the job. Source: spec R16."""

    type: ClassVar[Literal["Announced"]] = "Announced"
    v: Literal[1] = always_written(default=1)
    reason: str
    message: str
    level: Literal["Normal", "Warning"] = "Normal"


class ReplicaRequested(Wire, tag=True):
    """A pod is wanted: attempt number `attempt` (1, 2 …) of this replica."""

    type: ClassVar[Literal["ReplicaRequested"]] = "ReplicaRequested"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    attempt: int
    row: int = 0
    """How many pods were made before it in a row, by which it is decided how long the next one waits."""


class ReplicaDelayed(Wire, tag=True):
    """The replica's pod is not made again before `until`: `row` pods were made before it in a row (R8, Back-off)."""

    type: ClassVar[Literal["ReplicaDelayed"]] = "ReplicaDelayed"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    until: datetime
    row: int


class ReplicaAdopted(Wire, tag=True):
    """A pod of a later attempt than the log knows of exists: from now on it is the replica's pod."""

    type: ClassVar[Literal["ReplicaAdopted"]] = "ReplicaAdopted"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    attempt: int


class _PodSeen(Wire):
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    uid: PodUid
    containers: tuple[Container, ...] = ()


class ReplicaCreated(_PodSeen, tag=True):
    """The pod of the current attempt exists: `uid` is the replica's current uid from now on.

    Of one that was Unknown (T17): observed at `at`, and `written_at` is when the API server took that status, if it
    said so.
    """

    type: ClassVar[Literal["ReplicaCreated"]] = "ReplicaCreated"
    at: datetime | None = None
    written_at: datetime | None = None


class ReplicaStarted(_PodSeen, tag=True):
    """The pod is Running."""

    type: ClassVar[Literal["ReplicaStarted"]] = "ReplicaStarted"
    node: str = ""
    ready: bool = False
    at: datetime | None = None
    """When that was observed: a pod that ran for long begins a new row of restarts."""
    written_at: datetime | None = None
    """Of a pod that was Unknown (T17): when the API server took that status, if it said so."""


class ReplicaUpdated(_PodSeen, tag=True):
    """Containers of the pod changed, or its deletion began, while its phase stayed."""

    type: ClassVar[Literal["ReplicaUpdated"]] = "ReplicaUpdated"
    ready: bool = False
    deleting: bool = False


class ReplicaSucceeded(_PodSeen, tag=True):
    """The pod ended with Succeeded."""

    type: ClassVar[Literal["ReplicaSucceeded"]] = "ReplicaSucceeded"


class ReplicaFailed(_PodSeen, tag=True):
    """The pod ended with Failed, and nobody had asked for its end."""

    type: ClassVar[Literal["ReplicaFailed"]] = "ReplicaFailed"
    cause: Cause


class ReplicaEnded(_PodSeen, tag=True):
    """A pod whose deletion had begun has ended; that is neither a success nor a failure."""

    type: ClassVar[Literal["ReplicaEnded"]] = "ReplicaEnded"
    cause: Cause


class ReplicaUnreachable(_PodSeen, tag=True):
    """The pod's phase is Unknown, or its status could not be made out for 60 s (T16).

    Observed at `at`; `written_at`: when the API server took that status, if it said so.
    """

    type: ClassVar[Literal["ReplicaUnreachable"]] = "ReplicaUnreachable"
    at: datetime
    written_at: datetime | None = None


class ReplicaLost(Wire, tag=True):
    """The pod vanished without having ended and without having been asked to (T18).

    `for_good`: no other takes its place, because a training that a driver has started would not take it in.
    """

    type: ClassVar[Literal["ReplicaLost"]] = "ReplicaLost"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    uid: PodUid
    cause: Cause
    for_good: bool = False


class ReplicaDismissed(Wire, tag=True):
    """The controller will delete the replica's pod. In the log before the call is made. `why` in a word."""

    type: ClassVar[Literal["ReplicaDismissed"]] = "ReplicaDismissed"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    why: Literal["pause", "scale", "clean-up", "deadline", "job ended"]
    cause: Cause
    again: bool = False
    """Once it is gone it is asked for again, free of charge: another scale starts every replica anew."""
    unless_ended: bool = False
    """Only pods that have not ended are to go: one whose end shows before its deletion stays."""
    counted: bool = False
    """The status counts it as active until its deletion is accepted: till then it has its place in a quota."""


class ReplicaReleased(Wire, tag=True):
    """The pod is gone, as asked or after its end."""

    type: ClassVar[Literal["ReplicaReleased"]] = "ReplicaReleased"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    uid: PodUid = PodUid("")


class RestartScheduled(Wire, tag=True):
    """A restart was granted, and paid for: the pod will be deleted and, once gone, created again."""

    type: ClassVar[Literal["RestartScheduled"]] = "RestartScheduled"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    spent: int
    limit: int | None = None
    after_success: bool = False
    cause: Cause

    @property
    def number(self) -> int:
        """The number of this restart among those that the limit counts; without a limit among those granted."""
        after = self.cause.budget_after
        return self.spent if self.limit is None or after is None else self.limit - after


class RestartDenied(Wire, tag=True):
    """An ended replica stays ended: by its policy, or (`exhausted`) because the budget is used up."""

    type: ClassVar[Literal["RestartDenied"]] = "RestartDenied"
    v: Literal[1] = always_written(default=1)
    replica: ReplicaName
    exhausted: bool = False
    limit: int | None = None
    cause: Cause


class TimerSet(Wire, tag=True):
    """The job wants to be woken at `due_at`; a timer of the same name is replaced.

    `written_at`: when the API server took the status that cannot be made out, if that is what the timer is for.
    """

    type: ClassVar[Literal["TimerSet"]] = "TimerSet"
    v: Literal[1] = always_written(default=1)
    timer: str
    due_at: datetime
    written_at: datetime | None = None


class TimerCleared(Wire, tag=True):
    """The timer is no longer wanted, or has done its work."""

    type: ClassVar[Literal["TimerCleared"]] = "TimerCleared"
    v: Literal[1] = always_written(default=1)
    timer: str


class ChildRefused(Wire, tag=True):
    """The cluster refused a child object; `refusals` is the number in a row, this one included."""

    type: ClassVar[Literal["ChildRefused"]] = "ChildRefused"
    v: Literal[1] = always_written(default=1)
    kind: str
    name: str
    verb: Literal["create", "delete"]
    refusals: int
    retryable: bool
    cause: Cause


class ChildrenAccepted(Wire, tag=True):
    """Every child planned for the start number `start` (1, one more at each resume) exists (T4)."""

    type: ClassVar[Literal["ChildrenAccepted"]] = "ChildrenAccepted"
    v: Literal[1] = always_written(default=1)
    start: int


class CleanedUp(Wire, tag=True):
    """The clean-up policy was applied, once; `pods` are being deleted."""

    type: ClassVar[Literal["CleanedUp"]] = "CleanedUp"
    v: Literal[1] = always_written(default=1)
    policy: str
    pods: int
    tally: dict[str, dict[str, int]] = field(default_factory=dict)
    """Replica type → how many replicas were how when the job ended, where the status goes on showing that."""
    in_place: int = 0
    """Restarts in place that counted for the limit when the job ended; the pods that tell of them go."""


class Eviction(Wire):
    """Kueue took the job's quota away. `preemptor` is the uid of the job that gets it, if it was for one."""

    reason: str
    message: str = ""
    preemptor: str = ""
    happened_at: datetime | None = None


Standing = Literal["waiting", "reserved", "admitted", "deactivated", "finished", "gone"]
"""Of a job in a queue. waiting: for quota; reserved: quota is, admission checks are not passed; deactivated: until
somebody activates the Workload again; gone: Kueue knows no Workload of it any more."""


class QueueChanged(Wire, tag=True):
    """How the job stands in its queue, with Kueue's reason and words for it.

    `eviction` is set when Kueue has taken the quota away since the last one.
    """

    type: ClassVar[Literal["QueueChanged"]] = "QueueChanged"
    v: Literal[1] = always_written(default=1)
    at: datetime
    workload: str
    uid: str
    queue: str = ""
    cluster_queue: str = ""
    flavors: tuple[str, ...] = ()
    standing: Standing
    reason: str = ""
    message: str = ""
    evicted: bool = False
    """The Workload stands as evicted."""
    evicted_at: datetime | None = None
    """When Kueue began to say that, or that it is over: two evictions are distinguished by it."""
    eviction: Eviction | None = None


class JobExpired(Wire, tag=True):
    """The job has been finished for as long as it was to be kept: the job object will be deleted.

    In the log before the call is made.
    """

    type: ClassVar[Literal["JobExpired"]] = "JobExpired"
    v: Literal[1] = always_written(default=1)
    at: datetime
    after_seconds: int


class ChildChanged(Wire, tag=True):
    """What is known of an object of the job that is no pod; an empty uid: there is none.

    `facts` are those that the kind declares of it. `error` is set when the cluster refused an object that the job can
    do without. `holds`: pods are not made meanwhile. What is known of an object that exists `while_active` only does
    not outlive a pause.
    """

    type: ClassVar[Literal["ChildChanged"]] = "ChildChanged"
    v: Literal[1] = always_written(default=1)
    kind: str
    name: str
    uid: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    error: str = ""
    at: datetime | None = None
    holds: bool = False
    while_active: bool = False


class JobTerminating(Wire, tag=True):
    """The deletion of the job object was asked for at `at`, and somebody's finalizer holds it.

    Nothing new is made; what runs is left until the object is gone. Source: Kubernetes, garbage collection.
    """

    type: ClassVar[Literal["JobTerminating"]] = "JobTerminating"
    v: Literal[1] = always_written(default=1)
    at: datetime
    actor: str = ""


class JobDeleted(Wire, tag=True):
    """The job object is gone; its children are being deleted."""

    type: ClassVar[Literal["JobDeleted"]] = "JobDeleted"
    v: Literal[1] = always_written(default=1)
    at: datetime
    actor: str = ""


class JobClosed(Wire, tag=True):
    """The job object and every pod of the job are gone: nothing will be appended any more."""

    type: ClassVar[Literal["JobClosed"]] = "JobClosed"
    v: Literal[1] = always_written(default=1)


Event = (
    JobAdmitted
    | JobAdopted
    | SpecChanged
    | LabelsChanged
    | UpdateIgnored
    | PhaseEntered
    | ConditionsChanged
    | Announced
    | ReplicaRequested
    | ReplicaAdopted
    | ReplicaDelayed
    | ReplicaCreated
    | ReplicaStarted
    | ReplicaUpdated
    | ReplicaSucceeded
    | ReplicaFailed
    | ReplicaEnded
    | ReplicaUnreachable
    | ReplicaLost
    | ReplicaDismissed
    | ReplicaReleased
    | RestartScheduled
    | RestartDenied
    | TimerSet
    | TimerCleared
    | ChildRefused
    | ChildrenAccepted
    | CleanedUp
    | ChildChanged
    | QueueChanged
    | JobExpired
    | JobTerminating
    | JobDeleted
    | JobClosed
)
