"""The projectors of a process: what makes the cluster, and the other views, follow the log."""

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from jobledger.wiring.levels import Levels
from jobledger.wiring.share import Share
from jobledger.wiring.sinks import Sinks
from jobledger.wiring.startup import Startup
from jobledger.wiring.states import LatestStates
from jobledger.wiring.streams import Followed, Resuming, Stream, Streams
from k8s_bridge.port import Cluster
from projectors.kube_events import KubeEvents
from projectors.leisure import Patience, Rush
from projectors.sweeper import Sweeper
from projectors.workqueue import WorkQueue
from statemachine.engine.source import Pulse
from statemachine.ids import JobUid, Position
from statemachine.log.partitions import Partitions, Readers
from statemachine.log.reader import Folded, Reader
from statemachine.observations import Observation

_EMITTED_WITHIN: Final = Patience(10.0, crowded=60.0)
"""How long Kubernetes Events let pods and statuses pass."""


class Mine:
    """Which partitions, and so which jobs, are this process's to project: all, where there is no `share`."""

    def __init__(self, partitions: Partitions, share: Share | None) -> None:
        self.partitions, self.share = partitions, share

    def partition(self, number: int) -> bool:
        """The partition is."""
        return self.share is None or number in self.share.mine

    def job(self, job: JobUid) -> bool:
        """The job is."""
        return self.partition(self.partitions.number_of(job))


def streams_of(
    mine: Mine,
    readers: Sequence[Reader],
    states: LatestStates,
    cluster: Cluster,
    *,
    rush: Rush,
    startup: Startup,
    beside: Sequence[Sequence[Stream]],
) -> Streams:
    """The built-in stream projector of each partition, which lets a `rush` pass, and those `beside` it.

    Those leave the processor to the `startup`: what they are behind by may be the whole log.
    """
    return Streams(list(_streams(mine, readers, states, cluster, rush=rush, startup=startup, beside=beside)))


def _streams(
    mine: Mine,
    readers: Sequence[Reader],
    states: LatestStates,
    cluster: Cluster,
    *,
    rush: Rush,
    startup: Startup,
    beside: Sequence[Sequence[Stream]],
) -> Iterator[Followed]:
    several = len(readers) > 1
    for number, (event_log, reader) in enumerate(zip(mine.partitions.logs, readers, strict=True)):
        end, is_mine = partial(_position, reader), partial(mine.partition, number)
        events = KubeEvents(event_log, states, cluster, f"-{number}" if several else "")
        yield Followed(events, end, is_mine, partial(rush.over, _EMITTED_WITHIN))
        for stream in beside[number] if beside else ():
            if isinstance(stream, Resuming):
                stream.stand_beside(reader)
            yield Followed(stream, end, is_mine, startup.over)


def _position(reader: Reader) -> Position:
    return reader.position


class ProjectorRole:
    """The level and the stream projectors, the sweeper, and the sinks; a LogListener, and Signals of a bridge.

    `expects`: whether reports of children change something is known here at once, as this process decides.
    """

    def __init__(
        self,
        levels: Levels,
        views: Streams,
        sweeper: Sweeper,
        *,
        mine: Mine,
        reader: Reader | Readers,
        cluster: Cluster,
        decides: bool,
        sinks: Sinks | None = None,
    ) -> None:
        self.sinks = sinks
        self.levels, self.views, self.sweeper = levels, views, sweeper
        self._mine, self._reader, self._cluster, self._decides = mine, reader, cluster, decides
        if mine.share is not None:
            mine.share.listeners.append(self.shared)

    # ---- from the log --------------------------------------------------------------------------------------

    def entry(self, folded: Folded) -> None:
        """See LogListener."""
        self.levels.entry(folded)
        self.grown()

    def silent(self, observation: Observation) -> None:
        """See LogListener."""
        self.levels.silent(observation)

    def grown(self) -> None:
        """See LogListener."""
        self.views.grown()
        if self.sinks is not None:
            self.sinks.grown()

    def shared(self) -> None:
        """Whichever process had the partitions that are ours now may have left anything undone."""
        self.levels.shared(filter(self._mine.job, self._reader.jobs))
        self._visit_forgotten()
        self.views.shared()
        if self.sinks is not None:
            self.sinks.shared()

    # ---- from the bridge -----------------------------------------------------------------------------------

    def touched(self, job: JobUid) -> None:
        """See Signals."""
        self.levels.touched(job)

    def shown(self, job: JobUid, status: Mapping[str, Any]) -> None:
        """See Signals."""
        self.levels.shown(job, status)

    def listed(self) -> None:
        """See Signals."""
        self.levels.cluster_listed()
        self._visit_forgotten()

    def observed(self, observation: Observation) -> None:
        """See Signals. Where this process decides, `silent` says which reports changed nothing.

        Of a job in quarantine no report is decided.
        """
        if not self._decides or self._reader.tracked(observation.job).quarantined:
            self.levels.observed(observation)

    def _visit_forgotten(self) -> None:
        """A create that took effect late: the job is closed, and owns an object that no watch would ever tell of."""
        forgotten = self._reader.forgotten
        for job in map(JobUid, self._cluster.owners()):
            if job in forgotten and self._mine.job(job):
                self.levels.touched(job)

    # ---- its life ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Every view of every job is to be looked at."""
        self.levels.add(self._reader.jobs)

    def loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What is to run, by name."""
        if self._mine.share is not None:
            yield "share", self._mine.share.run()
        yield from self.levels.loops()
        yield from self.views.loops()
        if self.sinks is not None:
            yield from self.sinks.loops()
        yield self.sweeper.name, self.sweeper.run()

    async def finish(self) -> None:
        """No visit is in hand, and none is begun."""
        await self.levels.finish()

    def pulses(self, answered: int) -> dict[str, Pulse]:
        """How the loops are doing. Those that wait for the cluster are alive while it has `answered` more."""
        pulses = {"share": self._mine.share.pulse()} if self._mine.share is not None else {}
        for name, pulse in [*self.levels.pulses().items(), *self.views.pulses().items()]:
            pulses[name] = Pulse(pulse.beats + answered, pulse.busy)
        return pulses

    @property
    def queues(self) -> Mapping[str, WorkQueue]:
        """The work queues by name."""
        return self.levels.queues

    @property
    def share_error(self) -> str:
        """Why no share of the partitions can be had at the moment; empty while one can."""
        return self._mine.share.error if self._mine.share is not None else ""
