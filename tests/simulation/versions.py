"""Worlds whose log other releases have written in: its beginning, of an older policy, or an entry of a newer one.

A recorded history (`tests/histories`) stands in the log before the first controller starts; the cluster shows what
that history implies, or nothing any more. Later a newer release may have run for a moment, and have written an entry
with a cause, or an event, that this one does not know. The history in SQL is projected of all that.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple

from k8s_bridge.port import EVIDENCE, Manifest, Ref
from k8s_bridge.stored import Stored
from statemachine.desired import desired
from statemachine.events import Announced, Event
from statemachine.evolve import fold
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import decode, decode_events, encode
from statemachine.log.entry import Entry
from statemachine.log.port import EntryDraft, Record
from statemachine.log.reader import Reader, Tracked
from statemachine.observations import JobObserved, TimerFired
from statemachine.state import JobState, ReplicaPhase
from statemachine.status import status
from tests.histories.record import HERE
from tests.simulation import at_rest, chaos, chaos_log, chaos_parts
from tests.simulation.chaos import Action
from tests.simulation.histories import Story
from tests.simulation.projected import ProjectedWorld
from tests.simulation.shared_history import WithHistory
from tests.simulation.world import START, World
from tests.support.newer import NEWER_CAUSE
from tests.support.sim_pods import SimStep, moved

_PHASES: Final = {
    ReplicaPhase.RUNNING: SimStep(0.0, "Running"),
    ReplicaPhase.SUCCEEDED: SimStep(0.0, "Succeeded"),
    ReplicaPhase.FAILED: SimStep(0.0, "Failed"),
}


class Recorded(NamedTuple):
    """A history on disk: its folder and name, its entries, and the last report of its job."""

    name: str
    bodies: tuple[bytes, ...]
    observed: JobObserved


@cache
def recorded() -> tuple[Recorded, ...]:
    """All recorded histories, by name."""
    recordings = []
    for path in sorted(HERE.glob("*/*.jsonl")):
        bodies = tuple(path.read_bytes().splitlines())
        reports = [
            observation
            for observation in (decode(body).cause for body in bodies)
            if isinstance(observation, JobObserved)
        ]
        recordings.append(Recorded(f"{path.parent.name}/{path.stem}", bodies, reports[-1]))
    return tuple(recordings)


RAIN: Final = b'"events":[{"type":"ItRained","v":1},'
"""The beginning of the events of an entry that this release cannot fold."""


class WithNewer(WithHistory, World):
    """What worlds have in whose logs a newer release writes."""

    of_events: ClassVar[float] = 0.3
    """The share of its events that is written: behind one of them nothing is decided of the job any more."""

    def _prepare(self) -> None:
        super()._prepare()
        self.newer: set[JobUid] = set()
        """Jobs with an entry whose cause is not known."""

    async def write_newer(self, fault: str) -> None:
        """A newer release has run in place of the controller, and written an entry."""
        if (process := self.process) is None:
            return
        process.kill()
        await process.ended()
        if jobs := open_jobs(self.records()):
            await self.log.append([newer_draft(self, self.chance.choice(jobs), fault)])

    def findings(self) -> Iterator[str]:
        """See World. Jobs with entries of a newer release, too, are as far as they can be read."""
        yield from super().findings()
        for job in self.newer - self.unreadable:
            story = _Replayed(self.shared.tracked(job).state)
            for rule in (
                at_rest.live_is_desired,
                at_rest.pods_find_each_other,
                at_rest.nothing_is_stuck,
                at_rest.status_is_folded,
            ):
                wrong = [verdict for verdict in rule(self, story) if isinstance(verdict, str)]
                yield from (f"{rule.__name__}: job {job}: {sentence}" for sentence in wrong)
        for job in self.unreadable:
            last = next(record for record in reversed(self.log._records) if record.job == job)
            if not self.shared.tracked(job).quarantined or RAIN not in last.body:
                yield f"job {job} goes on behind an event that is not known"


class VersionsWorld(WithNewer, ProjectedWorld):
    """One controller of this release, behind older ones and perhaps a newer one."""

    start_at: ClassVar[datetime] = START + timedelta(hours=1)
    share: ClassVar[float] = 0.3

    def _prepare(self) -> None:
        super()._prepare()
        fitting = [recording for recording in recorded() if recording.observed.kind in self.shape.kinds]
        self.history = self.chance.choice(fitting)
        self.is_implied = self.chance.random() < 0.6

    async def keep_running(self) -> None:
        """See World. Before the first start the log and the cluster are as they were left."""
        drafts = [
            EntryDraft(self.history.observed.job, Seq(n), body)
            for n, body in enumerate(self.history.bodies, 1)
        ]
        await self.log.append(drafts)
        self.fault("older_history", f"the log begins with {self.history.name}")
        state = JobState(self.history.observed.job)
        for body in self.history.bodies:
            state = fold(state, decode_events(body).events)
        if self.is_implied and not state.deleted:
            self._imply(state)
        await super().keep_running()

    def _imply(self, state: JobState) -> None:
        """The job object and the pods are there, as the history says."""
        self.note("the cluster is as that says")
        self.cluster.objects.restore(Stored(job_object(self.history.observed, state)))
        self.jobs.append(Ref.of(job_object(self.history.observed, state)))
        pods = {child.replica: child.build() for child in desired(state) if child.kind == "Pod"}
        for replica in state.replicas.values():
            if replica.has_pod and replica.uid and replica.name in pods:
                self._imply_pod(pods[replica.name], replica.uid, _PHASES.get(replica.phase))

    def _imply_pod(self, pod: Manifest, uid: str, step: SimStep | None) -> None:
        pod["metadata"].setdefault("namespace", "demo")
        if self.evidence:
            pod["metadata"]["finalizers"] = [EVIDENCE]
        objects = self.cluster.objects
        given, objects._new_uid = objects._new_uid, lambda: uid
        try:
            stored = objects.create(pod)
        finally:
            objects._new_uid = given
        if step is not None:
            objects.set_status(Ref.of(stored), uid, moved(stored, step, self.start_at))


class _Replayed(Story):
    """A history of which only what it folds to can be read."""

    def __init__(self, state: JobState) -> None:
        super().__init__(state.uid)
        self.state = state


def job_object(observed: JobObserved, state: JobState) -> Manifest:
    """The object that was observed, with the status of its job."""
    meta: Manifest = {
        "name": observed.name,
        "namespace": observed.namespace,
        "uid": observed.job,
        "generation": observed.generation,
        "creationTimestamp": "2024-01-09T15:00:00Z",
        "resourceVersion": "1",
        "labels": dict(observed.labels),
    }
    kind: Mapping[str, Any] = {"apiVersion": observed.api_version, "kind": observed.kind}
    return {**kind, "metadata": meta, "spec": _plain(observed.spec), "status": status(state)}


def _plain(value: Any) -> Any:
    """As JSON has it: an observation is frozen."""
    match value:
        case Mapping():
            return {key: _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


async def newer_cause(world: World) -> None:
    """A newer release has run for a moment, and decided something that this one would not observe."""
    assert isinstance(world, WithNewer)
    await world.write_newer("newer_cause")


async def newer_event(world: World) -> None:
    """A newer release has run for a moment, and written an event that this one cannot fold."""
    assert isinstance(world, WithNewer)
    if world.chance.random() < world.of_events:
        await world.write_newer("newer_event")


def open_jobs(records: Iterable[Record]) -> list[Tracked]:
    """Jobs that something can be decided of, as these records say."""
    reader = Reader()
    for record in records:
        reader.accept(record)
    jobs = map(reader.tracked, reader.open_jobs)
    return [tracked for tracked in jobs if not tracked.quarantined]


def newer_draft(world: WithNewer, tracked: Tracked, fault: str) -> EntryDraft:
    """The next entry of a job, as a newer release decides it."""
    job, seq = tracked.state.uid, Seq(tracked.seq + 1)
    world.fault(fault, f"{fault} in entry {seq} of {job}")
    world.untold.add(job)
    world.newer.add(job)
    body = _body(world, job, seq, tracked.head)
    if fault == "newer_event":
        world.unreadable.add(job)
        body = body.replace(b'"events":[', RAIN)
    return EntryDraft(job, seq, body)


def _body(world: World, job: JobUid, seq: Seq, prev: str) -> bytes:
    """An entry whose cause is of a type that this release does not know; what follows from it, it does."""
    now = world.clock.now()
    cause = TimerFired(job=job, at=now, timer="rain", due_at=now)
    events: tuple[Event, ...] = (Announced(reason="Noted", message="rain"),)
    body = encode(Entry(job=job, seq=seq, prev=prev, policy=99, seen_at=now, cause=cause, events=events))
    return body.replace(b'"cause":{"type":"TimerFired"', NEWER_CAUSE)


ACTIONS: Final[tuple[Action, ...]] = (newer_cause, newer_event)
VersionsWorld.actions = (*chaos.ACTIONS, *chaos_parts.OF_ANY, *chaos_log.ACTIONS, *ACTIONS)
