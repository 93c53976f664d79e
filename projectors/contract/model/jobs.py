"""The data of events of jobs, a model a type; those of phases share one."""

from typing import Annotated, get_args

from projectors.contract.model.base import At, Count, Part, names, one_of
from projectors.contract.model.parts import (
    Budget,
    Cause,
    CleanUp,
    Counts,
    JobData,
    Notice,
    Phase,
    Plan,
    Problem,
)
from statemachine.events import Standing


class JobCreated(JobData):
    """The job was observed for the first time, and accepted or refused."""

    accepted: bool
    plan: Plan | None
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]
    spec_digest: str
    """SHA-256 of the spec without its secrets: equal specs have equal digests."""
    paused: bool


class JobAdopted(JobData):
    """The ledger begins, or goes on, with a job that has lived without it; null: nobody knows."""

    started_at: At | None
    completed_at: At | None
    spent: Count | None
    restarts: dict[str, Count] | None
    """Replica type → restarts."""


class JobUpdated(JobData):
    """A change of the spec or of labels was accepted."""

    changed: tuple[str, ...]
    """Paths of the fields; never their values."""
    plan: Plan | None
    plan_before: Plan | None
    spec_digest: str
    spec_digest_before: str
    notices: tuple[Notice, ...]


class JobUpdateRejected(JobData):
    """A change of the spec was ignored, as it may not be made."""

    problems: tuple[Problem, ...]


class JobPhase(JobData):
    """The job entered a phase."""

    phase: Phase
    counts: Counts
    budget: Budget
    created_at: At
    started_at: At | None
    completed_at: At | None
    deadline_at: At | None
    cause: Cause | None


class JobFailed(JobPhase):
    """The job failed."""

    reason: Annotated[
        str,
        one_of(
            *("InvalidSpec", "ChildRefused", "BackoffLimitExceeded", "ReplicaFailed", "DeadlineExceeded"),
            "Adopted",
        ),
    ]


class JobInitialized(JobData):
    """Every object that was planned for this start of the job exists."""

    start: Count


class Child(Part):
    """An object of the job."""

    kind: str
    name: str


class JobChildRefused(JobData):
    """The cluster refused an object of the job."""

    child: Child
    verb: Annotated[str, one_of("create", "delete")]
    status: int | None
    """The HTTP status of the refusal."""
    refusals: Count
    """How many in a row."""
    retryable: bool
    cause: Cause
    retry_at: At | None


class PodGroup(Part):
    """The object by which a scheduler places the job's pods together."""

    name: str
    uid: str | None
    phase: str


class JobPodGroupChanged(JobData):
    """What is known of the job's gang changed."""

    pod_group: PodGroup
    held: bool
    """Pods are not made meanwhile."""


class Queue(Part):
    """How the job stands in a queue."""

    name: str
    cluster_queue: str
    flavors: tuple[str, ...]
    workload: str
    standing: Annotated[str, names(get_args(Standing))]
    reason: str
    message: str


class Eviction(Part):
    """The job's quota was taken away."""

    reason: str
    message: str
    preemptor_uid: str | None
    """The job that gets the quota."""
    happened_at: At | None


class JobQueueChanged(JobData):
    """The job stands otherwise in its queue."""

    queue: Queue
    eviction: Eviction | None


class JobCleanedUp(JobData):
    """The clean-up policy was applied."""

    policy: CleanUp
    pods: Count


class JobExpired(JobData):
    """The job was kept for as long as it was to be: its object will be deleted."""

    after_seconds: Count


class JobTerminating(JobData):
    """The deletion of the job object was asked for, and a finalizer holds it."""

    requested_at: At


class JobDeleted(JobData):
    """The job object is gone."""


class JobClosed(JobData):
    """The job object and all pods are gone: the last event of the job."""

    outcome: Annotated[str, one_of("Succeeded", "Failed", "Deleted")]
    entries: Count
    restarts: dict[str, Count]
    """Replica type → restarts."""
    spent: Count
    head_hash: str
    """Hash of this entry, which no other follows."""
