"""The one place that puts the parts together: a log, a cluster, and the control loop between them.

`Controller` is the loop (bridge → engine → projectors) over whatever log and cluster it is given; the embedded
mode, the simulation and the benchmarks run the same one.
"""

import asyncio
import gc
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from jobledger.places import data_folder
from k8s_bridge.port import Cluster
from k8s_bridge.watchers import Bridge
from projectors.base import Projector
from projectors.children import Children
from projectors.kube_events import KubeEvents
from projectors.status import Status
from projectors.workqueue import WorkQueue
from statemachine.engine.clock import Clock
from statemachine.engine.embedded import Engine
from statemachine.engine.step import Owner
from statemachine.errors import ClusterUnavailable, LogUnavailable
from statemachine.ids import JobUid, PodUid, ReplicaName, Seq
from statemachine.log.port import EventLog
from statemachine.log.reader import Folded, Reader
from statemachine.observations import Observation, PodObserved, TensorBoardObserved
from statemachine.state import JobState

log = logging.getLogger(__name__)

_STREAM_RETRY = 1.0

_COLLECT_AFTER = (20_000, 20, 20)
"""Objects made, then collections of the younger generation, before one is collected (Python: 700, 10, 10).

States and entries live long and form no cycles: whoever looks through them all the time finds nothing.
"""


class Stream(Protocol):
    """A stream projector."""

    @property
    def name(self) -> str:
        """For metrics and logs."""

    async def advance(self) -> None:
        """The view is at the end of the log."""


class LatestStates:
    """The reader's states as projectors see them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def state(self, job: JobUid) -> JobState | None:
        """The job's state; None for one that is unknown or quarantined."""
        tracked = self._reader.tracked(job)
        return None if tracked.quarantined or tracked.seq == 0 else tracked.state

    def seq(self, job: JobUid) -> Seq:
        """Number of the last entry folded into it."""
        return self._reader.tracked(job).seq


@dataclass
class Controller:
    """Observations to entries to writes, and round again.

    `streams` are projectors beside the built-in ones; `jitter` spreads retries (seeded in simulations).
    """

    event_log: EventLog
    cluster: Cluster
    clock: Clock
    streams: Sequence[Stream] = ()
    evidence: bool = True
    workers: int = 8
    jitter: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.reader = Reader()
        self.states = LatestStates(self.reader)
        self.engine = Engine(self.event_log, Owner(self.event_log, self.reader, self.clock), self.clock)
        self._levels: list[tuple[Projector, WorkQueue]] = [
            (each, WorkQueue(each.name, each.visit, self.workers, self.jitter))
            for each in (
                Children(self.states, self.cluster, self.engine.observe, self.clock, evidence=self.evidence),
                Status(self.states, self.cluster),
            )
        ]
        self._all_streams = [KubeEvents(self.event_log, self.states, self.cluster), *self.streams]
        self._grown = [asyncio.Event() for _ in self._all_streams]
        self.bridge: Bridge | None = None

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Recovers, says `started`, then works until it is cancelled; states are saved at the end."""
        await self.engine.start()
        gc.set_threshold(*_COLLECT_AFTER)
        self.engine.listeners.append(self._entry)
        self.engine.silent_listeners.append(self._silent)
        self.bridge = Bridge(
            self.cluster, self.engine.observe, known=self._known(), chance=self.jitter.random
        )
        for job in self.reader.jobs:
            for _, queue in self._levels:
                queue.add(job)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.engine.run(), name="engine")
                tasks.create_task(self.bridge.run(), name="bridge")
                for projector, queue in self._levels:
                    tasks.create_task(queue.run(), name=projector.name)
                for stream, grown in zip(self._all_streams, self._grown, strict=True):
                    tasks.create_task(self._follow(stream, grown), name=stream.name)
                started()
        finally:
            await self.engine.save_snapshots()

    async def catch_up(self) -> None:
        """Every stream projector is at the end of the log. For a controller that does not run (any more)."""
        for stream in self._all_streams:
            await self._advance(stream)

    def _known(self) -> dict[JobUid, dict[tuple[ReplicaName, int], PodUid]]:
        """What the log believes to exist: jobs not gone, and their pods that have been observed."""
        known: dict[JobUid, dict[tuple[ReplicaName, int], PodUid]] = {}
        for job in self.reader.jobs:
            state = self.states.state(job)
            if state is None or state.closed:
                continue
            pods = {(each.name, each.attempt): each.uid for each in state.replicas.values() if each.has_pod}
            if pods or not state.deleted:
                known[job] = pods
        return known

    def _entry(self, folded: Folded) -> None:
        for projector, queue in self._levels:
            if projector.concerns(folded.entry.events):
                queue.add(folded.record.job)
        for grown in self._grown:
            grown.set()

    def _silent(self, seen: Observation) -> None:
        """A child whose report changes nothing may be one that nobody asks for: a create that took effect late."""
        if isinstance(seen, PodObserved | TensorBoardObserved):
            _, children = self._levels[0]
            children.add(seen.job)

    async def _follow(self, stream: Stream, grown: asyncio.Event) -> None:
        """The stream projector is at the end of the log whenever that has grown."""
        while True:
            grown.clear()
            await self._advance(stream)
            await grown.wait()

    async def _advance(self, stream: Stream) -> None:
        advance: Callable[[], Awaitable[None]] = stream.advance
        while True:
            try:
                return await advance()
            except (ClusterUnavailable, LogUnavailable) as error:
                fields = {"action": "retry", "projector": stream.name, "error": str(error)}
                log.warning("a view cannot be brought up to date now", extra=fields)
                await asyncio.sleep(_STREAM_RETRY)


@asynccontextmanager
async def embedded(store: Path, *, evidence: bool = True, python: str = "") -> AsyncIterator[Controller]:
    """A controller over one SQLite file and the processes of this machine, not started; then all is closed.

    Pods live on when the controller ends, and are adopted by the next one of the same store.

    Raises:
        StoreInUse, StoreUnusable: the store cannot be this process's.
    """
    from k8s_bridge.admission import admit
    from k8s_bridge.local import LocalCluster
    from projectors.history import HistoryProjector
    from statemachine.engine.clock import WallClock
    from statemachine.log.sqlite import SqliteLog

    event_log = await SqliteLog.open(store)
    try:
        data = data_folder(event_log.store.path)
        history = HistoryProjector(event_log, event_log.store)
        async with LocalCluster(event_log.store, data, admit=admit, python=python) as cluster:
            yield Controller(event_log, cluster, WallClock(), streams=[history], evidence=evidence)
    finally:
        await event_log.close()


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[None]:
    """The controller has recovered, and works until the block is left.

    If it cannot go on, the block is cancelled, and its failure raised instead.
    """
    started = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(controller.run(started.set), name="controller")
            try:
                await started.wait()
                yield
            finally:
                task.cancel()
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first, out of groups in groups: the rest followed from it."""
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
