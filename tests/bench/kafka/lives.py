"""Observations and entries to measure with: whole lives of ordinary jobs, and long ones of jobs that run on."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Final, NamedTuple

from statemachine.decide import POLICY, decide
from statemachine.evolve import fold
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.log.codec import encode, encode_state, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.port import EntryDraft, Snapshot
from statemachine.log.sharing import version
from statemachine.observations import (
    Container,
    ContainerStatus,
    JobObserved,
    Observation,
    PodGone,
    PodObserved,
    PodPhase,
)
from statemachine.state import STATE_VERSION, JobState
from tests.bench.histories import API, KIND, START, history, job_spec

LENGTH: Final = 13
"""Observations in a whole life."""

_MODEL: Final = JobUid("00000000-0000-4000-8000-000000000000")
_SIDE_BY_SIDE: Final = 500
_HOUR: Final = 3600
"""Seconds that a replica runs before it fails: one that has run so long is replaced without a wait."""


def lives(count: int) -> list[Observation]:
    """About so many observations, all of which change something: whole lives of jobs, some hundred side by side."""
    observations: list[Observation] = []
    jobs = max(1, count // LENGTH)
    for first in range(0, jobs, _SIDE_BY_SIDE):
        group = [
            [moment.observation for moment in history(job)]
            for job in range(first, min(jobs, first + _SIDE_BY_SIDE))
        ]
        observations += [observation for moment in zip(*group, strict=True) for observation in moment]
    return observations


def uid(number: int) -> JobUid:
    """Of job `number`."""
    return JobUid(f"00000000-0000-4000-9000-{number:012d}")


class LongLife(NamedTuple):
    """Entries of a job that runs, whose worker fails and is replaced again and again, and what they fold to."""

    entries: Sequence[tuple[bytes, str]]
    """Bytes, and the hash of the entry before, both as of the model."""
    state: bytes
    next: Observation
    """What changes something again, of the model."""

    @classmethod
    def of(cls, length: int) -> "LongLife":
        """A life of so many entries, decided by the real rules."""
        state, head, entries = JobState(_MODEL), GENESIS, []
        observations = _troubles()
        for seq, observation in enumerate(islice(observations, length), 1):
            events = decide(state, observation)
            assert events
            entry = Entry(
                v=version(observation, events),
                job=_MODEL,
                seq=seq,
                prev=head,
                policy=POLICY,
                seen_at=observation.at,
                cause=observation,
                events=events,
            )
            body = encode(entry)
            entries.append((body, head))
            state, head = fold(state, events), entry_hash(body)
        return cls(entries, encode_state(state), next(observations))

    def drafts(self, job: JobUid) -> Iterator[EntryDraft]:
        """The same life, of another job."""
        old, new, head = _MODEL.encode(), job.encode(), GENESIS
        for seq, (body, before) in enumerate(self.entries, 1):
            own = body.replace(old, new)
            if before:
                own = own.replace(before.encode(), head.encode(), 1)
            yield EntryDraft(job, seq, own)
            head = entry_hash(own)

    def snapshot(self, last: EntryDraft) -> Snapshot:
        """The state that the job has after its last entry."""
        body = self.state.replace(_MODEL.encode(), last.job.encode())
        return Snapshot(last.job, last.seq, entry_hash(last.body), STATE_VERSION, body)


def _troubles() -> Iterator[Observation]:
    spec = job_spec(2)
    spec["runPolicy"]["backoffLimit"] = 10_000_000
    yield JobObserved(
        job=_MODEL,
        at=START,
        api_version=API,
        kind=KIND,
        namespace="bench",
        name="job",
        generation=1,
        spec=spec,
    )
    yield from (
        _pod(index, 1, phase, 1) for phase in (PodPhase.PENDING, PodPhase.RUNNING) for index in range(2)
    )
    attempt, second = 1, _HOUR
    while True:
        yield _pod(1, attempt, PodPhase.FAILED, second)
        gone = PodUid(f"pod-1-{attempt}")
        at = START + timedelta(seconds=second + 1)
        yield PodGone(job=_MODEL, at=at, replica=ReplicaName("worker-1"), attempt=attempt, uid=gone)
        attempt += 1
        yield _pod(1, attempt, PodPhase.PENDING, second + 2)
        yield _pod(1, attempt, PodPhase.RUNNING, second + 3)
        second += _HOUR


def _pod(index: int, attempt: int, phase: PodPhase, second: int) -> PodObserved:
    at = START + timedelta(seconds=second)
    failed = phase is PodPhase.FAILED
    known = {PodPhase.PENDING: ContainerStatus.WAITING, PodPhase.RUNNING: ContainerStatus.RUNNING}
    state = known.get(phase, ContainerStatus.TERMINATED)
    return PodObserved(
        job=_MODEL,
        at=at,
        happened_at=at,
        replica=ReplicaName(f"worker-{index}"),
        attempt=attempt,
        pod=f"job-00000-worker-{index}",
        uid=PodUid(f"pod-{index}-{attempt}"),
        phase=phase,
        containers=(Container(name="pytorch", state=state, exit_code=137 if failed else None),),
        node=f"node-{index}",
        ready=phase is PodPhase.RUNNING,
    )
