"""Histories of ordinary jobs: four workers that start, run and end, decided by the real rules."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from statemachine.decide import POLICY, decide
from statemachine.evolve import fold
from statemachine.ids import JobUid, PodUid, ReplicaName
from statemachine.log.codec import encode, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.port import EntryDraft
from statemachine.observations import (
    Container,
    ContainerStatus,
    JobObserved,
    Observation,
    PodObserved,
    PodPhase,
)
from statemachine.state import JobState

START: Final = datetime(2024, 1, 9, 15, 0, tzinfo=UTC)
API: Final = "batch.tensorstack.dev/v1beta1"
KIND: Final = "PyTorchTrainingJob"

_CODES: Final = {PodPhase.SUCCEEDED: 0}
_STATES: Final = {
    PodPhase.PENDING: ContainerStatus.WAITING,
    PodPhase.RUNNING: ContainerStatus.RUNNING,
    PodPhase.SUCCEEDED: ContainerStatus.TERMINATED,
}


class Moment(NamedTuple):
    """A decision that was taken: the state before it, the observation, and the entry as it is appended."""

    before: JobState
    observation: Observation
    draft: EntryDraft


def job_spec(workers: int = 4) -> dict[str, Any]:
    """The spec of a job of `workers` no-op pods."""
    container = {"name": "pytorch", "image": "pytorch:2", "command": ["python", "train.py", "--epochs", "5"]}
    worker = {"type": "worker", "replicas": workers, "template": {"spec": {"containers": [container]}}}
    return {"replicaSpecs": [worker], "runPolicy": {"backoffLimit": 3, "cleanUpPolicy": "None"}}


def job_manifest(name: str, workers: int = 4) -> dict[str, Any]:
    """The job object as a user writes it."""
    meta = {"name": name, "namespace": "bench"}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": job_spec(workers)}


def history(number: int) -> Iterator[Moment]:
    """The whole life of job `number`: thirteen entries."""
    uid = JobUid(f"00000000-0000-4000-8000-{number:012d}")
    return life(uid, _observations(uid, f"job-{number}"))


def life(uid: JobUid, observations: Iterable[Observation]) -> Iterator[Moment]:
    """What the real rules decide on `observations` of one job, from its first one; silent ones are left out."""
    state, head, seq = JobState(uid), GENESIS, 0
    for observation in observations:
        events = decide(state, observation)
        if not events:
            continue
        seq += 1
        entry = Entry(
            job=uid,
            seq=seq,
            prev=head,
            policy=POLICY,
            seen_at=observation.at,
            cause=observation,
            events=events,
        )
        body = encode(entry)
        yield Moment(state, observation, EntryDraft(uid, seq, body))
        state, head = fold(state, events), entry_hash(body)


def _observations(job: JobUid, name: str) -> Iterator[Observation]:
    yield JobObserved(
        job=job,
        at=START,
        api_version=API,
        kind=KIND,
        namespace="bench",
        name=name,
        generation=1,
        spec=job_spec(),
    )
    order = {phase: range(4) for phase in _STATES} | {PodPhase.SUCCEEDED: range(3, -1, -1)}
    for step, (phase, indexes) in enumerate(order.items()):
        for index in indexes:
            yield _pod(job, name, index, phase, START + timedelta(seconds=10 * step + index))


def _pod(job: JobUid, name: str, index: int, phase: PodPhase, at: datetime) -> PodObserved:
    container = Container(name="pytorch", state=_STATES[phase], exit_code=_CODES.get(phase))
    return PodObserved(
        job=job,
        at=at,
        happened_at=at,
        replica=ReplicaName(f"worker-{index}"),
        attempt=1,
        pod=f"{name}-00000-worker-{index}",
        uid=PodUid(f"{job}-{index}"),
        phase=phase,
        containers=(container,),
        node=f"node-{index}",
        ready=phase is PodPhase.RUNNING,
    )
