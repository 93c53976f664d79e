"""Histories and logs for tests: entries that follow each other, as drafts, records and in a log."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

from statemachine.events import Announced, ChildrenAccepted, Event, JobAdmitted, PhaseEntered
from statemachine.ids import JobUid, Position, Seq, replica_name
from statemachine.log.codec import encode, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.port import EntryDraft, EventLog, Record
from statemachine.observations import JobObserved, TimerFired
from statemachine.phases import Phase, Trigger
from statemachine.spec import CleanUpPolicy, Plan, ReplicaType, RestartPolicy

START = datetime(2024, 5, 17, 9, 30, 0, 250_000, tzinfo=UTC)
"""When the first entry of every history is observed; each of the others a second after the one before."""

JOB = JobUid("6f0d8d3e-4b7a-4c58-9d5c-1f3b2a7e9c01")
OTHER = JobUid("b1a7c2d4-0e5f-4f6a-8b9c-d0e1f2a3b4c5")

PLAN = Plan(
    types=(ReplicaType(type="worker", scale=2, restart_policy=RestartPolicy.ON_FAILURE),),
    primary=replica_name("worker", 0),
    backoff_limit=2,
    clean_up=CleanUpPolicy.NONE,
)


def at(seq: Seq) -> datetime:
    """When entry `seq` of a history was observed."""
    return START + timedelta(seconds=seq - 1)


def admitted(name: str = "mnist", namespace: str = "team-a", when: datetime = START) -> tuple[Event, ...]:
    """The events of a first entry: the job is there and pending."""
    return (
        JobAdmitted(
            api_version="batch.tensorstack.dev/v1beta1",
            kind="PyTorchTrainingJob",
            namespace=namespace,
            name=name,
            generation=1,
            at=when,
            spec={"replicaSpecs": [{"type": "worker", "replicas": 2}]},
            plan=PLAN,
        ),
        entered(Phase.PENDING, when),
    )


def entered(phase: Phase, when: datetime = START) -> PhaseEntered:
    """The job's phase changed."""
    return PhaseEntered(phase=phase, trigger=Trigger.ADMITTED, rule="T1", at=when)


def said(message: str) -> tuple[Event, ...]:
    """The events of an entry that changes no state."""
    return (Announced(reason="Noted", message=message),)


def accepted(start: int) -> tuple[Event, ...]:
    """The events of an entry that changes the state, by the number `start`."""
    return (ChildrenAccepted(start=start),)


def entry(job: JobUid, seq: Seq, prev: str, events: Sequence[Event], when: datetime | None = None) -> Entry:
    """An entry caused by a timer, or (the first) by the job's having been seen."""
    when = when or at(seq)
    cause = TimerFired(job=job, at=when, timer="resync", due_at=when) if seq > 1 else _observed(job, when)
    return Entry(job=job, seq=seq, prev=prev, policy=1, seen_at=when, cause=cause, events=tuple(events))


def _observed(job: JobUid, when: datetime) -> JobObserved:
    return JobObserved(
        job=job,
        at=when,
        api_version="batch.tensorstack.dev/v1beta1",
        kind="PyTorchTrainingJob",
        namespace="team-a",
        name="mnist",
        generation=1,
        spec={"replicaSpecs": [{"type": "worker", "replicas": 2}]},
        actor="kubectl",
    )


def chain(
    *steps: Sequence[Event], job: JobUid = JOB, after: Seq = 0, prev: str = GENESIS
) -> list[EntryDraft]:
    """Entries that follow each other, one a step, behind entry `after`, whose hash is `prev`."""
    drafts = []
    for seq, events in enumerate(steps, after + 1):
        body = encode(entry(job, seq, prev, events))
        prev = entry_hash(body)
        drafts.append(EntryDraft(job, seq, body))
    return drafts


def history(length: int, job: JobUid = JOB) -> list[EntryDraft]:
    """A history of `length` entries: admitted, then one more start accepted at each."""
    return chain(admitted(), *(accepted(start) for start in range(1, length)), job=job)


def placed(drafts: Sequence[EntryDraft], after: Position = 0) -> list[Record]:
    """The records that a log makes of `drafts`, behind position `after`."""
    return [Record(place, draft.job, draft.seq, draft.body) for place, draft in enumerate(drafts, after + 1)]


async def everything(scan: AsyncIterator[Sequence[Record]]) -> list[Record]:
    """All records of a scan in one list."""
    return [record async for batch in scan for record in batch]


async def records(log: EventLog) -> list[Record]:
    """All records of a log."""
    return await everything(log.scan())
