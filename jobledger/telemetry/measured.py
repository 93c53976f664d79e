"""What metrics read of a controller. `jobledger.wiring.Controller` has it; nothing here knows how it is made."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from jobledger.telemetry.instruments import Instruments
from k8s_bridge.port import Cluster
from k8s_bridge.watchers import Bridge
from projectors.base import States
from projectors.sweeper import Sweeper
from projectors.workqueue import WorkQueue
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Pulse, Source, Worker
from statemachine.log.inbox import Outbox
from statemachine.log.partitions import Partitions, Readers
from statemachine.log.reader import Reader


class MeasuredLedger(Protocol):
    """What a process reads, and what else it has of the log."""

    @property
    def partitions(self) -> Partitions:
        """The partitions that it reads."""

    @property
    def outbox(self) -> Outbox | None:
        """The way to the process that decides, where observations go through topics."""

    @property
    def check(self) -> ClockCheck | None:
        """Our clock against another."""


class MeasuredEngine(Protocol):
    """What decides in a process, or follows."""

    source: Source
    worker: Worker | None
    decides: bool


class MeasuredProjectors(Protocol):
    """What projects in a process."""

    sweeper: Sweeper


class MeasuredSink(Protocol):
    """A sink of public events: attempts by outcome, number of failures, and why it is off (empty: it is on)."""

    name: str
    attempts: Counter[str]
    failed: int
    disabled: str | None


class MeasuredSinks(Protocol):
    """The sinks that a process feeds."""

    @property
    def fed(self) -> Sequence[MeasuredSink]:
        """All of them."""

    def lag_entries(self) -> Mapping[str, int]:
        """Entries that each has yet to get."""

    def lag_seconds(self) -> Mapping[str, float]:
        """Age of the oldest entry that each has in hand."""

    def settled(self) -> Mapping[tuple[str, str], int]:
        """Events by sink and type."""

    def scrubbed(self) -> int:
        """How many of these had something taken out of a text."""


class Measured(Protocol):
    """A running controller, or some roles of it."""

    cluster: Cluster
    reader: Reader | Readers
    instruments: Instruments

    @property
    def ledger(self) -> MeasuredLedger:
        """The log, and the ways to it."""

    @property
    def engine(self) -> MeasuredEngine:
        """What decides in this process, or follows."""

    @property
    def projectors(self) -> MeasuredProjectors | None:
        """What projects in this process."""

    @property
    def bridge(self) -> Bridge | None:
        """What watches the cluster now."""

    @property
    def states(self) -> States:
        """The latest state of every job."""

    @property
    def queues(self) -> Mapping[str, WorkQueue]:
        """The work queues, by name."""

    @property
    def unconfirmed(self) -> int:
        """For how many jobs nothing is made, as the cluster does not confirm their objects."""

    @property
    def lags(self) -> Mapping[str, int]:
        """Entries that each stream projector has not worked through."""

    @property
    def sinks(self) -> MeasuredSinks | None:
        """The sinks of public events that it feeds; None without any."""

    @property
    def log_error(self) -> str:
        """Why the log cannot be read or written at the moment; empty while it can."""

    @property
    def tells(self) -> bool:
        """It counts what the log holds, for all: of several processes one does."""

    @property
    def leads(self) -> bool | None:
        """It watches the cluster for the log; None: that is not what it is there for."""

    async def settled(self) -> None:
        """Returns once its start leaves time to count what the log holds."""

    def pulses(self) -> Mapping[str, Pulse]:
        """How its loops are doing."""


class Watch(Protocol):
    """The watch of one collection: `k8s_bridge.apiserver.reflector.WatchProgress`, whose import costs a second."""

    kind: str
    synced: bool
    absent: bool
    heard: float
    lists: int
    watches: int


class Requests(Protocol):
    """A session with an API server."""

    @property
    def sent(self) -> Counter[tuple[str, str]]:
        """Requests by method and answer."""


@runtime_checkable
class OverApi(Protocol):
    """A cluster behind an API server: `k8s_bridge.apiserver.cluster.ApiServerCluster`."""

    @property
    def api(self) -> Requests:
        """The session with the server."""

    @property
    def watches(self) -> Sequence[Watch]:
        """The watches that it keeps."""
