"""What an explanation consists of: plain, frozen data with a published JSON schema (`docs/schemas/why.json`).

It is made from the entries of one job alone, so equal entries give equal bytes.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from projectors import published
from statemachine.events import CauseClass
from statemachine.observations import ActorSource
from statemachine.phases import Phase

VERSION: Literal["jobledger.dev/why/v1"] = "jobledger.dev/why/v1"


class Part(published.Published, extra="forbid"):
    """Base of everything in an explanation."""


class IncidentKind(StrEnum):
    """What an incident is about."""

    START = "start"
    RESTART = "restart"
    FAILURE = "failure"
    LOSS = "loss"
    REFUSAL = "refused write"
    INVALID = "invalid spec"
    STATUS_LOST = "status lost"
    PAUSE = "pause"
    RESUME = "resume"
    SCALE = "scale"
    CHANGE = "change"
    ADMISSION = "admission"
    EVICTION = "eviction"
    END = "end"
    CLEAN_UP = "clean-up"
    DELETION = "deletion"


class Nature(StrEnum):
    """Whether a person has to act on it."""

    EXPECTED = "expected"
    ASKED_FOR = "asked for"
    ABNORMAL = "abnormal"


class StepKind(StrEnum):
    """What happened to pods because of an incident."""

    DISMISSED = "pod is to be deleted"
    GONE = "pod gone"
    REQUESTED = "pod asked for"
    RUNNING = "pod running"
    PHASE = "phase entered"


class Evidence(Part):
    """The cause class with its evidence; texts are empty where nothing is known."""

    cause_class: CauseClass
    rule: str
    """Id of the rule that matched, as in the specification."""
    rule_says: str
    pod_uid: str = ""
    node: str = ""
    container: str = ""
    exit_code: int | None = None
    reason: str = ""
    message: str = ""


class Budget(Part):
    """Restarts left before and after a decision; null stands for no limit."""

    limit: int | None
    before: int | None
    after: int | None


class Step(Part):
    """One consequence, in entry `seq`; what happened to several pods in one entry is one step."""

    seq: int
    at: datetime
    what: StepKind
    replicas: tuple[str, ...] = ()
    attempt: int = 0
    """The attempt that was asked for or runs; 0 where the replicas differ, or it does not matter."""
    pod_uid: str = ""
    phase: Phase | None = None


class Incident(Part):
    """Something that happened to the job, decided in entry `seq`, with its consequences."""

    kind: IncidentKind
    nature: Nature
    seq: int
    at: datetime
    """When the controller observed it."""
    happened_at: datetime | None = None
    """When it happened, where the cluster said so."""
    replica: str = ""
    attempt: int = 0
    by: str = ""
    """Who asked for it, as far as known."""
    by_source: ActorSource = ActorSource.RECORDED
    """How that is known: `verified` by the API server, `stated` by a client of ours and not checked, or the name of a
    program (`manager`); empty: as recorded, not verified."""
    says: str
    """The whole incident in a sentence."""
    times: int = 1
    """How often in a row; more than 1 for refused writes only."""
    cause: Evidence | None = None
    budget: Budget | None = None
    led_to: tuple[Step, ...] = ()
    over_at: datetime | None = None
    """When it was made good: the restarted replica ran, the pause ended, the write was accepted."""


class RootCause(Part):
    """The first fatal cause: the earliest failure of the unbroken chain that ended the job."""

    seq: int
    at: datetime
    replica: str = ""
    says: str
    cause: Evidence | None = None


class Wait(Part):
    """What the job waits for at the end of the history."""

    says: str
    since: datetime
    replicas: tuple[str, ...] = ()
    next_try_at: datetime | None = None
    message: str = ""


class Restarts(Part):
    """The restart budget at the end of the history; null stands for no limit."""

    limit: int | None
    spent: int
    left: int | None


class Job(Part):
    """The job that is explained."""

    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str


class Explanation(Part):
    """Why a job is as it is: the answer, the root cause of its end, and everything that happened, in order."""

    version: Literal["jobledger.dev/why/v1"] = VERSION
    job: Job
    phase: Phase
    since: datetime
    """When the phase was entered."""
    deleted_at: datetime | None = None
    """When the job object was seen to be gone; `phase` is then the last that the job had."""
    entries: int
    """How many entries the explanation was made from."""
    normal: bool
    """Nothing abnormal has happened."""
    answer: str
    root_cause: RootCause | None = None
    restarts: Restarts | None = None
    """Absent for a job that was never admitted."""
    waits_for: tuple[Wait, ...] = ()
    incidents: tuple[Incident, ...] = ()


def json_schema() -> dict[str, Any]:
    """The JSON schema of an explanation."""
    return published.json_schema(Explanation)
