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


class Measured(Protocol):
    """A running controller, or some roles of it."""

    partitions: Partitions
    cluster: Cluster
    reader: Reader | Readers
    source: Source
    outbox: Outbox | None
    worker: Worker | None
    bridge: Bridge | None
    check: ClockCheck | None
    sweeper: Sweeper | None
    instruments: Instruments

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
    def log_error(self) -> str:
        """Why the log cannot be read or written at the moment; empty while it can."""

    @property
    def decides(self) -> bool:
        """It is the writer of its log."""

    @property
    def tells(self) -> bool:
        """It counts what the log holds, for all: of several processes one does."""

    @property
    def leads(self) -> bool | None:
        """It watches the cluster for the log; None: that is not what it is there for."""

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
