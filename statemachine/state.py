"""A job as its events tell it: immutable values, changed only by `evolve`.

What a fold copies all the time is shaped for that: a replica is a tuple, small where a job has hundreds, and a job
state is a frozen dataclass without slots, because copying its one dict takes a tenth of `dataclasses.replace`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple

from statemachine.errors import InvariantBroken, Problem
from statemachine.events import Cause, Standing
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.observations import Container
from statemachine.phases import Phase
from statemachine.spec import Plan

STATE_VERSION = 10
"""Raised when the fields below change, or what an event does to them; a snapshot of another version is not used."""


class ReplicaPhase(StrEnum):
    """`status.tasks[].replicas[].phase`. Source: spec R7."""

    CREATING = "Creating"
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"
    DELETED = "Deleted"


_COUNTED: Final = {phase: phase.lower() for phase in sorted(ReplicaPhase)}


class ReplicaState(NamedTuple):
    """One replica.

    A pod of `attempt` exists or is asked for unless `phase` is Deleted. `uid` is empty until the pod has been
    observed. `leaving` says why the pod is to be deleted ("" = it stays); `wanted` that there should be a
    pod: when the current one is gone, another attempt follows. `spared`: it stays after all if it turns out to have
    ended; `counted`: it is active until its deletion was accepted. `ended`: the pod's end is in the log.
    `started`: has been Running, or has ended, since this start. `judged`: it was decided what follows from
    the pod's end. `recovering`: failed, its restart does not run yet. `lost_for_good`: failed, and stays so;
    `exhausted`: because the budget is used up. `unknown_at`, `unknown_written`: when it was noticed that its
    phase is Unknown, and when that was written; only what is later says otherwise. `made`: a pod of it has been seen
    since this start, or since it joined the scale. `row`: how many pods were asked for in a row (R8, Back-off);
    `running_since`: when this one was first seen to run; `held_until`: the next is not made before.
    `restarts`: how often the policy has restarted it.
    """

    name: ReplicaName
    attempt: int = 0
    uid: PodUid = PodUid("")
    phase: ReplicaPhase = ReplicaPhase.DELETED
    containers: tuple[Container, ...] = ()
    node: str = ""
    ready: bool = False
    deleting: bool = False
    ended: bool = False
    wanted: bool = False
    leaving: str = ""
    spared: bool = False
    counted: bool = False
    started: bool = False
    judged: bool = False
    recovering: bool = False
    lost_for_good: bool = False
    exhausted: bool = False
    unknown_at: datetime | None = None
    made: bool = False
    row: int = 0
    running_since: datetime | None = None
    held_until: datetime | None = None
    unknown_written: datetime | None = None
    restarts: int = 0

    @property
    def has_pod(self) -> bool:
        """A pod of the current attempt exists, or has been asked for and may exist."""
        return self.phase is not ReplicaPhase.DELETED

    @property
    def has_succeeded(self) -> bool:
        """It succeeded, and is not restarted; its pod may be gone since, which does not take that back."""
        kept = not self.has_pod and self.ended and not (self.wanted or self.lost_for_good)
        return not self.leaving and (kept or self.phase is ReplicaPhase.SUCCEEDED)


class ConditionState(NamedTuple):
    """A condition of `status.conditions`; `changed_at` moves only when `status` does.

    `updated_at` is when it was set last, for kinds whose conditions say that.
    """

    type: str
    status: str
    reason: str
    message: str
    changed_at: datetime
    updated_at: datetime | None = None


class ChildState(NamedTuple):
    """What is known of an object of the job that is no pod.

    `facts` are those that the kind declares. `error`: the cluster refused it, and the job goes on. `outdated`: its
    spec was changed, and the object does not show it yet. `held_at`: when pods had to wait for it last.
    `while_active`: nothing that is known of it outlives a pause.
    """

    kind: str
    name: str
    uid: str = ""
    facts: Mapping[str, str] = {}
    error: str = ""
    outdated: bool = False
    held_at: datetime | None = None
    while_active: bool = False


class QueueState(NamedTuple):
    """How the job stands in a queue of Kueue's, as its Workload says; `since`: when that was news."""

    workload: str
    uid: str
    queue: str = ""
    cluster_queue: str = ""
    flavors: tuple[str, ...] = ()
    standing: Standing = "waiting"
    reason: str = ""
    message: str = ""
    since: datetime | None = None
    evicted: bool = False
    evicted_at: datetime | None = None


@dataclass(frozen=True)
class JobState:
    """One job. `replicas` is ordered by type as the spec lists them, then by index.

    `kind` is the canonical kind, `object_kind` the one that the job object says. `settings` are those of the kind
    that were in force when the job was first seen.
    """

    uid: JobUid
    api_version: str = ""
    kind: str = ""
    object_kind: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    name: str = ""
    generation: int = 0
    spec: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    plan: Plan | None = None
    phase: Phase = Phase.NEW
    created_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    conditions: tuple[ConditionState, ...] = ()
    replicas: Mapping[ReplicaName, ReplicaState] = field(default_factory=dict)
    restarts: Mapping[str, int] = field(default_factory=dict)
    spent: int = 0
    in_place: int = 0
    """Restarts in place that counted for the limit when the job ended; until then the pods tell of them."""
    starts: int = 0
    accepted: int = 0
    refusals: int = 0
    refused: tuple[str, ...] = ()
    """Verb, kind and HTTP status of writes that the cluster refuses, until it takes such a write for a pod."""
    timers: Mapping[str, datetime] = field(default_factory=dict)
    unread_written: datetime | None = None
    """When the status was written that could not be made out the last time."""
    failure: Cause | None = None
    children: Mapping[str, ChildState] = field(default_factory=dict)
    """By `child_key`."""
    queue: QueueState | None = None
    ignored: tuple[Problem, ...] = ()
    cleaned: bool = False
    tally: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Replica type → how many replicas were how when the job ended; only of kinds that go on showing it."""
    expired: bool = False
    """The job object is to be deleted: nobody wants to keep it any longer."""
    terminating: bool = False
    """Its deletion was asked for, and a finalizer holds the job object: nothing new is made."""
    deleted: bool = False
    closed: bool = False

    @property
    def is_final(self) -> bool:
        """Succeeded or Failed: phase and conditions never change again."""
        return self.phase.is_final

    @property
    def running_plan(self) -> Plan:
        """The plan of a job that has one; only a job refused at admission has none."""
        if self.plan is None:
            raise InvariantBroken(f"job {self.uid} has no plan")
        return self.plan

    @property
    def resumed(self) -> bool:
        """A pause has ended at least once: pods use resumeSpecs from then on (spec R11)."""
        return self.starts > 1

    @property
    def members(self) -> Iterator[ReplicaState]:
        """The replicas of the current scale, in order; those leaving it stand behind them in the state."""
        return islice(self.replicas.values(), self.plan.scale if self.plan else 0)

    @property
    def aggregate(self) -> dict[str, int]:
        """Number of replicas in each phase; all seven are always there, their sum is the scale. Source: spec R7."""
        counts = dict.fromkeys(_COUNTED.values(), 0)
        for replica in self.members:
            counts[_COUNTED[self.reported(replica)]] += 1
        return counts

    def reported(self, replica: ReplicaState) -> ReplicaPhase:
        """The replica's phase as users read it: a driver that waits for its workers is being created, too (R7)."""
        if replica.has_pod or not replica.wanted:
            return replica.phase
        is_driver = replica.name == self.running_plan.driver
        return ReplicaPhase.CREATING if is_driver else replica.phase

    def child(self, kind: str, name: str) -> ChildState | None:
        """What is known of the object of this kind and name; None if it was never reported."""
        return self.children.get(child_key(kind, name))

    def condition(self, type_: str) -> ConditionState | None:
        """The condition of this type, None while it was never set."""
        return next((each for each in self.conditions if each.type == type_), None)


def child_key(kind: str, name: str) -> str:
    """The key in `JobState.children` of an object of this kind and name."""
    return f"{kind}/{name}"


def changed(old: JobState, **new: object) -> JobState:
    """A copy of `old` with the fields in `new` replaced."""
    copy = object.__new__(JobState)
    fields = copy.__dict__
    fields |= old.__dict__
    fields |= new
    return copy
