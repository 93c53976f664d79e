"""A job as its events tell it: immutable values, changed only by `evolve`.

What a fold copies all the time is shaped for that: jobs and replicas are structs, which are small, are copied in a
tenth of a microsecond, and are not looked at by the garbage collector (ADR 0044).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple

from msgspec import Struct, field, structs

from statemachine.errors import InvariantBroken, Problem
from statemachine.events import Cause, Standing
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.observations import Container
from statemachine.phases import Phase
from statemachine.replicas import ENDED, GONE, HAS_POD, LEAVES, STEPS, Move, Pod, Progress, Wish
from statemachine.spec import Plan

# two such copies, each of fields that are named here, cost less than one with fields that a call has passed on
changed: Final = structs.replace
"""A copy of a state with the fields that are named replaced."""

STATE_VERSION = 14
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


_PHASES: Final = dict.fromkeys(GONE, ReplicaPhase.DELETED) | {
    pod: ReplicaPhase(pod.partition(",")[0]) for pod in HAS_POD
}
# sets: to look a stage up in one is as fast as a field, where `Pod.NONE` is looked for in its class
_GONE: Final = frozenset(GONE)
_ENDED: Final = frozenset(ENDED)
_LIVING: Final = frozenset(HAS_POD) - _ENDED
_SETTLED: Final = frozenset({Pod.SETTLED_SUCCEEDED, Pod.SETTLED_FAILED})
_WANTED: Final = frozenset({Wish.WANTED, Wish.REPLACED})
_LEAVES: Final = frozenset(LEAVES)
_HURT: Final = frozenset({Progress.RECOVERING, Progress.LOST, Progress.EXHAUSTED, Progress.VANISHED})
_LOST: Final = _HURT - {Progress.RECOVERING}
_UP: Final = _HURT - {Progress.VANISHED} | {Progress.UP}


class ReplicaState(Struct, array_like=True, frozen=True, gc=False):
    """One replica: its stages (see `statemachine.replicas`), and what is known of it.

    `uid` is empty until the pod has been observed. `leaving` says in a word why the pod is to be deleted, empty while
    it stays; `counted`: it is active until its deletion was accepted. `unknown_at`, `unknown_written`: when it was
    observed that its phase became Unknown, or known again, and when that was written; only what is later says
    otherwise. `row`: how many pods were asked for in a row (R8, Back-off); `running_since`: when this one was first
    observed to run; `held_until`: the next is not made before. `restarts`: how often the policy has restarted it.
    """

    name: ReplicaName
    attempt: int = 0
    uid: PodUid = PodUid("")
    pod: Pod = Pod.NONE
    wish: Wish = Wish.UNWANTED
    progress: Progress = Progress.FRESH
    leaving: str = ""
    counted: bool = False
    containers: tuple[Container, ...] = ()
    node: str = ""
    ready: bool = False
    deleting: bool = False
    unknown_at: datetime | None = None
    unknown_written: datetime | None = None
    row: int = 0
    running_since: datetime | None = None
    held_until: datetime | None = None
    restarts: int = 0

    def moved(self, move: Move) -> "ReplicaState":
        """The replica after `move`. One that stays has no reason to leave."""
        pods, wishes, courses = STEPS[move]
        pod, wish, progress = pods[self.pod], wishes[self.wish], courses[self.progress]
        if self.leaving and wish not in _LEAVES:
            return changed(self, pod=pod, wish=wish, progress=progress, leaving="", counted=False)
        return changed(self, pod=pod, wish=wish, progress=progress)

    @property
    def phase(self) -> ReplicaPhase:
        """The phase of its pod as users read it."""
        return _PHASES[self.pod]

    @property
    def has_pod(self) -> bool:
        """A pod of the current attempt exists, or has been asked for and may exist."""
        return self.pod not in _GONE

    @property
    def awaits_pod(self) -> bool:
        """A pod of the current attempt has been asked for, and none was observed."""
        return self.has_pod and not self.uid

    @property
    def lives(self) -> bool:
        """It has a pod whose end is not in the log."""
        return self.pod in _LIVING

    @property
    def ended(self) -> bool:
        """The end of its pod is in the log."""
        return self.pod in _ENDED

    @property
    def judged(self) -> bool:
        """It was decided that its pod's end is not followed by a restart."""
        return self.pod in _SETTLED

    @property
    def wanted(self) -> bool:
        """There should be a pod: when the current one is gone, another attempt follows."""
        return self.wish in _WANTED

    @property
    def spared(self) -> bool:
        """Its pod is to be deleted, and stays after all if it turns out to have ended."""
        return self.wish is Wish.SPARED

    @property
    def made(self) -> bool:
        """A pod of it has been observed since this start, or since it joined the scale."""
        return self.progress is not Progress.FRESH

    @property
    def started(self) -> bool:
        """It has been Running, or has ended, since this start."""
        return self.progress in _UP

    @property
    def lost_for_good(self) -> bool:
        """It failed, and stays so."""
        return self.progress in _LOST

    @property
    def exhausted(self) -> bool:
        """It failed, and stays so because the restart budget is used up."""
        return self.progress is Progress.EXHAUSTED

    @property
    def hurt(self) -> bool:
        """It failed, and its restart does not run yet, or there is none."""
        return self.progress in _HURT

    @property
    def has_succeeded(self) -> bool:
        """It succeeded, and is not restarted; its pod may be gone since, which does not take that back."""
        kept = self.pod is Pod.OVER and self.wish is Wish.UNWANTED and not self.lost_for_good
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

    @property
    def is_unknown_since_a_pause(self) -> bool:
        """It may exist all the same: it is deleted during a pause, and a short one ends before that."""
        return self.while_active and not self.uid


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


class JobState(Struct, omit_defaults=True, frozen=True, gc=False):
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
    labels_version: int = 0
    labels_written: datetime | None = None
    """The version of the job object that showed these labels first, and when that was written; if known."""
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
    has_run: bool = False
    """It was Running once, since its log began."""
    accepted: int = 0
    refusals: int = 0
    refused: tuple[str, ...] = ()
    """Verb, kind and HTTP status of writes that the cluster refuses, until it takes such a write for a pod; the last
    that was refused is the last."""
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
        for condition in self.conditions:  # asked all the time: a generator costs as much as the look
            if condition.type == type_:
                return condition
        return None


def child_key(kind: str, name: str) -> str:
    """The key in `JobState.children` of an object of this kind and name."""
    return f"{kind}/{name}"
