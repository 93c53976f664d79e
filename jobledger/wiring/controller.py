"""The control loop: bridge → engine → projectors, or those parts of it that this process is there for."""

import asyncio
import gc
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol

from jobledger.telemetry.instruments import Instruments
from jobledger.wiring.audit import Audit
from jobledger.wiring.levels import Levels
from jobledger.wiring.roles import ALL, Role, Roles
from jobledger.wiring.share import Share
from jobledger.wiring.streams import Followed, Resuming, Stream, Streams
from k8s_bridge.attended import EVERYTHING, Attended
from k8s_bridge.env_values import EnvValues
from k8s_bridge.port import Cluster, Ref
from k8s_bridge.ssh_keys import GENERATORS, Generate
from k8s_bridge.watchers import Bridge, Sink
from projectors.base import Quarantine
from projectors.kube_events import KubeEvents
from projectors.sweeper import Sweeper
from projectors.workqueue import WorkQueue
from statemachine.engine.clock import Clock
from statemachine.engine.drain import Drain
from statemachine.engine.embedded import Engine
from statemachine.engine.follower import Follower
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Pulse, Source, Worker
from statemachine.engine.step import Owner
from statemachine.errors import InvariantBroken, LeaseLost
from statemachine.ids import JobUid, PodUid, Position, ReplicaName, Seq
from statemachine.kinds import kind_of
from statemachine.log.inbox import Inbox, MemoryInbox, Outbox
from statemachine.log.partitions import Partitions, Readers, as_one
from statemachine.log.polling import Polling
from statemachine.log.port import EventLog
from statemachine.log.reader import Folded, Reader, Tracked, closed_in
from statemachine.log.room import Room
from statemachine.observations import Observation, PodGone
from statemachine.state import JobState

log = logging.getLogger(__name__)

_COLLECT_AFTER: Final = (20_000, 20, 20)
"""Objects made, then collections of the younger generation, before one is collected (Python: 700, 10, 10).

States and entries live long and form no cycles: whoever looks through them all the time finds nothing.
"""

KEEPS: Final = 1_000
"""States of closed jobs that stay in memory (5 MB), in each partition: users look at what has just ended."""

_NO_BRIDGE: Final = 1.0
"""Seconds between two looks into the inbox, where only `jobledger dead-letters retry` puts something there."""

Turn = Callable[[], AbstractAsyncContextManager[object]]
"""Entered when it is this process's turn; LeaseLost ends the block when it is over."""


class LatestStates:
    """The reader's states as projectors see them; `fresh` is the source's."""

    def __init__(
        self,
        reader: Reader | Readers,
        partitions: Partitions,
        fresh: Callable[[JobUid], Awaitable[None]],
        attended: Attended = EVERYTHING,
    ) -> None:
        self._reader, self._partitions, self._attended = reader, partitions, attended
        self._fresh = fresh

    def state(self, job: JobUid) -> JobState | None:
        """The job's state; None for one that is unknown, quarantined, forgotten, or not looked after here."""
        return self._of(self._reader.tracked(job))

    def is_forgotten(self, job: JobUid) -> bool:
        """See States."""
        return job in self._reader.forgotten

    def quarantined(self, job: JobUid) -> Quarantine | None:
        """See States."""
        tracked = self._reader.tracked(job)
        return Quarantine(tracked.state, tracked.quarantined) if tracked.quarantined else None

    async def past(self, job: JobUid) -> JobState | None:
        """As `state`, of a forgotten job from the log: Kafka has to read the whole partition for it."""
        tracked = self._reader.tracked(job)
        if tracked.forgotten:
            reader = Reader()
            await reader.fold_job(self._partitions.log_of(job), job)
            tracked = reader.tracked(job)
        return self._of(tracked)

    async def all_past(self) -> AsyncIterator[JobState]:
        """Every forgotten job, as it ended: one pass over every log."""
        forgotten = self._reader.forgotten
        for each in self._partitions.logs if forgotten else ():
            async for tracked in closed_in(each, forgotten):
                if (state := self._of(tracked)) is not None:
                    yield state

    def _of(self, tracked: Tracked) -> JobState | None:
        if tracked.quarantined or tracked.seq == 0 or tracked.forgotten:
            return None
        state = tracked.state
        return state if self._attended.covers(state.api_version, state.kind, state.namespace) else None

    def seq(self, job: JobUid) -> Seq:
        """Number of the last entry folded into it."""
        return self._reader.tracked(job).seq

    async def fresh(self, job: JobUid) -> None:
        """See States."""
        await self._fresh(job)


class Guard(Protocol):
    """What knows whether an admission policy guards who is named on jobs."""

    def since(self, api_version: str, kind: str) -> datetime | None:
        """Since when, on jobs of the kind; None where nothing does."""

    async def look(self) -> None:
        """What is known is up to date."""

    async def run(self) -> None:
        """It stays so."""


@dataclass
class Controller:
    """Observations to entries to writes, and round again: as much of it as `roles` say.

    `streams` are the projectors of each partition beside the built-in ones; `jitter` spreads retries (seeded in
    simulations). Where roles are spread over processes, `inbox` carries observations between them (None: nobody
    else puts any), and the bridge watches only when it is its `turn`. With a `worker` the role of an engine is
    the worker's, everything else follows the log, and `outbox` leads to whoever decides. Of several processes
    that project, each does its `share` of the partitions. `answered` counts the answers of the cluster, by which
    slow is told from stuck. `keeps`: of how many closed jobs the states stay in memory, in each partition.
    `check` compares the clock with another (None: there is none), `guard` knows whether a policy guards who is named
    on jobs (None: nobody could). `room` is what is known of the disk. `generators` make up what children ask for,
    such as SSH keys; `env_values` keeps values of variables out of the log. Jobs that are not `attended` are left as
    they are: nobody here sees their pods. A watch that gets nowhere for `silence` seconds is opened again; without it
    (None) it is waited for, as where a watch is a queue of this process.
    """

    event_log: EventLog | Partitions
    cluster: Cluster
    clock: Clock
    streams: Sequence[Sequence[Stream]] = ()
    evidence: bool = True
    workers: int = 8
    jitter: random.Random = field(default_factory=random.Random)
    roles: Roles = ALL
    attended: Attended = EVERYTHING
    inbox: Inbox | None = None
    outbox: Outbox | None = None
    worker: Worker | None = None
    share: Share | None = None
    turn: Turn = nullcontext
    answered: Callable[[], int] = lambda: 0
    guard: Guard | None = None
    check: ClockCheck | None = None
    keeps: int = KEEPS
    room: Room = field(default_factory=Room)
    instruments: Instruments = field(default_factory=Instruments)
    generators: Mapping[str, Generate] = field(default_factory=lambda: GENERATORS)
    silence: float | None = None
    env_values: EnvValues = field(default_factory=EnvValues)

    def __post_init__(self) -> None:
        found = self.event_log
        self.partitions = found if isinstance(found, Partitions) else Partitions([found])
        self._readers = [Reader(keeps=self.keeps) for _ in self.partitions.logs]
        self.reader = as_one(self._readers, self.partitions.number_of)
        self.drain: Drain | None = None
        self.source: Source = self._source()
        self.states = LatestStates(self.reader, self.partitions, self.source.fresh, self.attended)
        self._observe = self.instruments.sink(self.source.observe)
        self.levels: Levels | None = None
        self.views = Streams(())
        self.sweeper: Sweeper | None = None
        if Role.PROJECTORS in self.roles:
            written = self.instruments.cluster(self.cluster)
            self.levels = self._levels(written)
            self.views = Streams(list(self._streams(written)))
            self.sweeper = Sweeper(self.states, written, self._is_mine, self._counted)
        self.bridge: Bridge | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def watches(self) -> bool:
        """The cluster is watched here: to decide, or to know what there is."""
        return bool(self.roles & {Role.BRIDGE, Role.PROJECTORS})

    @property
    def is_spread(self) -> bool:
        """What is noticed here is decided elsewhere, or the other way round."""
        return not (self.decides and self.roles >= {Role.BRIDGE, Role.PROJECTORS})

    # ---- its life ------------------------------------------------------------------------------------------

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Recovers, says `started`, then works until it is cancelled; states are saved at the end."""
        await self.source.start()
        if self.drain is not None:
            await self.drain.empty()
        gc.set_threshold(*_COLLECT_AFTER)
        self.source.listeners += [self._entry, self.instruments.entry]
        self.source.silent_listeners.append(self.instruments.silent)
        if isinstance(self.source, Follower):
            self.source.refused_listeners.append(self.views.grown)
        if self.worker is not None:
            self.worker.listeners.append(self.instruments.entry)
            self.worker.silent_listeners.append(self.instruments.silent)
        if self.levels is not None:
            self.source.silent_listeners.append(self.levels.silent)
            self.levels.add(self.reader.jobs)
        if self.share is not None:
            self.share.listeners.append(self._shared)
        try:
            async with asyncio.TaskGroup() as tasks:
                for name, loop in self._loops():
                    task = tasks.create_task(_for_ever(name, loop), name=name)
                    if name == "bridge":
                        self._watching = task
                started()
        finally:
            await self.source.save()

    async def stop(self) -> None:
        """Nothing new is taken up, and what was is done: now `run` can be cancelled without loss of work."""
        if self._watching is not None:
            self._watching.cancel()
        if self.levels is not None:
            await self.levels.finish()
        await self.source.finish()

    async def catch_up(self) -> None:
        """Every stream projector is at the end of the log. For a controller that does not run (any more)."""
        await self.views.catch_up()

    def pulses(self) -> dict[str, Pulse]:
        """How the loops are doing, by name. Those that wait for the cluster are alive while it answers."""
        answered = self.answered()
        found = self.source.pulses()
        if self.worker is not None:
            found |= self.worker.pulses()
        if self.drain is not None:
            found["inbox"] = self.drain.pulse()
        if self.share is not None:
            found["share"] = self.share.pulse()
        if self.bridge is not None:
            watched = self.bridge.progress
            beats = watched.starts + watched.failures + watched.changes
            found["bridge"] = Pulse(beats + answered, not watched.synced)
        levels = self.levels.pulses() if self.levels is not None else {}
        for name, pulse in [*levels.items(), *self.views.pulses().items()]:
            found[name] = Pulse(pulse.beats + answered, pulse.busy)
        return found

    @property
    def queues(self) -> Mapping[str, WorkQueue]:
        """The work queues of this process, by name."""
        return self.levels.queues if self.levels is not None else {}

    @property
    def unconfirmed(self) -> int:
        """For how many jobs nothing is made here, as the cluster does not confirm their objects."""
        return self.levels.confirming.refused if self.levels is not None else 0

    @property
    def lags(self) -> Mapping[str, int]:
        """How many entries each stream projector has yet to see."""
        return self.views.lags()

    @property
    def log_error(self) -> str:
        """Why the log cannot be read or written at the moment; empty while it can."""
        worker = self.worker.log_error if self.worker is not None else ""
        return worker or self.source.log_error or (self.share.error if self.share is not None else "")

    @property
    def decides(self) -> bool:
        """This controller is the writer of its log."""
        return Role.ENGINE in self.roles and self.outbox is None

    @property
    def tells(self) -> bool:
        """This process counts what the log holds. Of engines there may be several, where they are workers."""
        return Role.PROJECTORS in self.roles if self.outbox is not None else self.decides

    @property
    def leads(self) -> bool | None:
        """It is this process's turn to say what it notices; None for one that never does."""
        return self.bridge is not None if Role.BRIDGE in self.roles else None

    # ---- its parts -----------------------------------------------------------------------------------------

    def _source(self) -> Source:
        if not self.decides:
            followed = list(zip(self.partitions.logs, self._readers, strict=True))
            return Follower(followed, self.outbox or self.inbox or MemoryInbox(), self.partitions.number_of)
        (event_log,), (reader,) = self.partitions.logs, self._readers
        engine = Engine(event_log, Owner(event_log, reader, self.clock), self.clock, self.check)
        if self.inbox is not None:
            rarely = Polling() if self.is_spread else Polling(longest=_NO_BRIDGE)
            self.drain = Drain(self.inbox, engine, event_log, self.clock, rarely)
        return engine

    def _streams(self, cluster: Cluster) -> Iterator[Followed]:
        """The streams of each partition."""
        several = len(self._readers) > 1
        for number, (event_log, reader) in enumerate(zip(self.partitions.logs, self._readers, strict=True)):
            end, mine = partial(_position, reader), partial(self._projects, number)
            yield Followed(
                KubeEvents(event_log, self.states, cluster, f"-{number}" if several else ""), end, mine
            )
            for stream in self.streams[number] if self.streams else ():
                if isinstance(stream, Resuming):
                    stream.stand_beside(reader)
                yield Followed(stream, end, mine)

    def _projects(self, partition: int) -> bool:
        return self.share is None or partition in self.share.mine

    def _is_mine(self, job: JobUid) -> bool:
        return self._projects(self.partitions.number_of(job))

    def _shared(self) -> None:
        """Whoever had the partitions that are ours now may have left anything undone."""
        if self.levels is not None:
            self.levels.shared(each for each in self.reader.jobs if self._is_mine(each))
            self._visit_forgotten()
        self.views.shared()

    def _cluster_listed(self) -> None:
        if self.levels is not None:
            self.levels.cluster_listed()
            self._visit_forgotten()

    def _visit_forgotten(self) -> None:
        """A create that took effect late: the job is closed, and owns an object that no watch would ever tell of."""
        if self.levels is not None:
            forgotten = self.reader.forgotten
            for job in map(JobUid, self.cluster.owners()):
                if job in forgotten and self._is_mine(job):
                    self.levels.touched(job)

    def _levels(self, cluster: Cluster) -> Levels:
        return Levels(
            self.states,
            cluster,
            self._observe,
            self.clock,
            self._is_mine,
            evidence=self.evidence,
            workers=self.workers,
            jitter=self.jitter,
            instruments=self.instruments,
            generators=self.generators,
            env_values=self.env_values,
        )

    def _loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        yield "engine" if self.decides else "follower", self.source.run()
        if self.worker is not None:
            yield "worker", self.worker.run()
        if self.drain is not None:
            yield "inbox", self.drain.run()
        if self.share is not None:
            yield "share", self.share.run()
        if self.watches:
            yield "bridge", self._watch()
        if Role.BRIDGE in self.roles:
            yield "audit", self._audit().run()
            if self.guard is not None:
                yield "guard", self.guard.run()
        if self.levels is not None:
            yield from self.levels.loops()
        yield from self.views.loops()
        if self.sweeper is not None:
            yield self.sweeper.name, self.sweeper.run()

    def _audit(self) -> Audit:
        return Audit(self.states, self._known, lambda: self.bridge, self.cluster, self._observe, self.clock)

    async def _watch(self) -> None:
        """The cluster is watched whenever it is our turn, each time by a bridge that remembers nothing."""
        while True:
            try:
                async with self.turn():
                    if self.guard is not None and Role.BRIDGE in self.roles:
                        await self.guard.look()
                    self.bridge = self._bridge()
                    await self.bridge.run()
            except LeaseLost as error:
                log.warning(
                    "another process watches now", extra={"action": "lease-lost", "error": str(error)}
                )
            finally:
                self.bridge = None

    def _bridge(self) -> Bridge:
        """Without the role of a bridge it is there for what projectors want to know, and says nothing."""
        bridge = Bridge(
            self.cluster,
            self._sink(),
            known=self._known(),
            silence=self.silence,
            chance=self.jitter.random,
            attended=self.attended,
        )
        bridge.concealed = self.env_values.concealed
        bridge.kind_of, bridge.place_of = self._kind_of, self._place_of
        bridge.is_forgotten = self.states.is_forgotten
        if self.guard is not None:
            bridge.guarded = self.guard.since
        if self.levels is not None:
            bridge.touched, bridge.shown = self.levels.touched, self.levels.shown
            bridge.listed = self._cluster_listed
        return bridge

    def _sink(self) -> Sink:
        if Role.BRIDGE in self.roles and self.decides:
            return self._observe
        return self._noticed

    async def _noticed(self, seen: Observation) -> None:
        if self.levels is not None:
            self.levels.noticed(seen)
        if Role.BRIDGE in self.roles:
            await self._observe(seen)

    def _kind_of(self, job: JobUid) -> str:
        state = self.states.state(job)
        return state.kind if state is not None else ""

    def _place_of(self, pod: PodGone) -> Ref | None:
        """Where the pod is, if the log counts it as the replica's."""
        state = self.states.state(pod.job)
        replica = state.replicas.get(pod.replica) if state is not None else None
        if state is None or replica is None or not replica.has_pod or replica.uid != pod.uid:
            return None
        name = kind_of(state.api_version, state.kind).pod_name(state, replica.name)
        return Ref("v1", "Pod", state.namespace, name)

    def _known(self) -> dict[JobUid, dict[tuple[ReplicaName, int], PodUid]]:
        """What the log believes to exist: jobs not gone, and their pods that have been observed."""
        known: dict[JobUid, dict[tuple[ReplicaName, int], PodUid]] = {}
        for job in self.reader.open_jobs:
            state = self.states.state(job)
            if state is None:
                continue
            pods = {(each.name, each.attempt): each.uid for each in state.replicas.values() if each.has_pod}
            if pods or not state.deleted:
                known[job] = pods
        return known

    def _counted(self) -> set[PodUid]:
        """Every pod that the log counts as a replica's."""
        return {uid for pods in self._known().values() for uid in pods.values() if uid}

    def _entry(self, folded: Folded) -> None:
        if self.levels is not None:
            self.levels.entry(folded)
        self.views.entry(folded)


def _position(reader: Reader | Readers) -> Position:
    return reader.position


async def _for_ever(name: str, loop: Coroutine[Any, Any, None]) -> None:
    await loop
    raise InvariantBroken(f"the loop of {name} ended by itself")
