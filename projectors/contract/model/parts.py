"""What public events of several types have in common."""

from typing import Annotated

from pydantic import Field

from projectors.contract.model.base import At, Count, Part, names, one_of
from statemachine.observations import ContainerStatus
from statemachine.phases import Phase as JobPhase
from statemachine.phases import Trigger
from statemachine.spec import CleanUpPolicy as CleanUps
from statemachine.spec import RestartPolicy

PhaseName = Annotated[str, names(JobPhase)]
CleanUp = Annotated[str, names(CleanUps)]

CauseName = Annotated[
    str,
    one_of(
        *("JobChanged", "JobDeleted", "PodChanged", "PodDeleted", "PodUnreadable", "Timer", "WriteRefused"),
        *("ChildChanged", "QueueChanged"),
    ),
]

CauseClassName = Annotated[
    str,
    one_of(
        *("ApplicationExit", "OutOfMemory", "Disrupted", "NodeLost", "DeletedBySomeone"),
        *("DeletedByController", "RefusedByApi", "Deadline", "EvidenceLost"),
    ),
]


class JobName(Part):
    """Which job the event is about."""

    api_version: str
    kind: str
    """The kind in its canonical form."""
    object_kind: str
    """The kind that the job object says: an alias of `kind`, or the same."""
    namespace: str
    name: str
    uid: Annotated[str, Field(json_schema_extra={"format": "uuid"})]
    generation: Count


class Job(JobName):
    """The same, with the labels of the job object that are published."""

    labels: dict[str, str]


class Entry(Part):
    """The entry of the ledger that the event stands in, and the observation that caused it."""

    seq: Annotated[int, Field(ge=1)]
    """Number of the entry in the life of its job: 1, 2, 3 without holes."""
    index: Count
    """Which of the entry's internal events this is; those between are private."""
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of the entry as it is stored."""
    policy: Count
    """Version of the rules that decided it."""
    cause: CauseName
    seen_at: At
    """When the ledger got to know of it."""
    happened_at: At | None
    """When it happened, where the cluster said so."""


class Phase(Part):
    """A change of the job's phase."""

    from_: Annotated[PhaseName, Field(alias="from")]
    to: PhaseName
    trigger: Annotated[str, names(Trigger)]
    rule: str
    start: Count
    """Which start of the job this is: 1, and one more at each resume."""


class Pod(Part):
    """The pod of a replica."""

    name: str
    uid: str | None
    node: str | None


class Replica(Part):
    """Which replica the event is about, and its pod."""

    name: str
    type: str
    index: Count
    attempt: Count
    """Which pod of the replica this is: 1, 2 …; 0 before the first."""
    pod: Pod


class Container(Part):
    """A container of a pod, as last reported."""

    name: str
    init: bool
    state: Annotated[str, names(ContainerStatus)]
    exit_code: int | None
    reason: str
    restarts: Count


class Cause(Part):
    """Why something ended or was dismissed, with the evidence."""

    class_: Annotated[CauseClassName, Field(alias="class")]
    rule: str
    pod_uid: str | None
    node: str | None
    container: str | None
    exit_code: int | None
    signal: int | None
    """Of an exit code above 128: the code less 128."""
    reason: str
    message: str


class Budget(Part):
    """Restarts: how many were spent, and how many were left before and after; null: without limit, or untouched."""

    spent: Count
    limit: Count | None
    before: Count | None
    after: Count | None


class ReplicaType(Part):
    """A replica type of the plan."""

    type: str
    replicas: Count
    restart_policy: Annotated[str, names(RestartPolicy)]
    gpus: Annotated[float, Field(ge=0)]
    """GPUs of one replica."""
    image: str
    """Of the container that trains."""


class Plan(Part):
    """How the job is to be run."""

    replica_types: tuple[ReplicaType, ...]
    primary: str
    """The replica that decides the result; empty where rules of the kind decide it."""
    min_running: Count | None
    backoff_limit: Count | None
    active_deadline_seconds: Count | None
    clean_up: CleanUp
    ttl_seconds: Count | None
    paused: bool
    launch: Annotated[str, one_of("None", "WhenReady", "AtOnce")]
    """Whether the primary starts the training in the others, and when it is made."""


class Problem(Part):
    """What is wrong with a spec; `rule` and `path` are empty where the message says it all."""

    rule: str
    path: str
    message: str


class Notice(Part):
    """What users are warned of."""

    reason: str
    message: str


class Counts(Part):
    """How many replicas are in which phase."""

    creating: Count
    pending: Count
    running: Count
    succeeded: Count
    failed: Count
    unknown: Count
    deleted: Count


class Data(Part):
    """What the data of every event has."""

    entry: Entry
    truncated: bool = False
    """Something was cut: a text, or a list that was too long. Absent where nothing was."""


class JobData(Data):
    """The data of an event of a job."""

    job: Job


class ReplicaData(Data):
    """The data of an event of a replica."""

    job: JobName
    replica: Replica
