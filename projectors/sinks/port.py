"""The port of sinks: what the runner of sinks asks of a receiver of public events.

The runner feeds a sink the entries of one partition in log order, and goes on once they are settled. So a receiver
that is away makes the sink lag, and loses nothing: the log is the queue. Delivery is at least once. Where a sink
keeps no position itself, the runner keeps it for the sink (`statemachine.log.positions`).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from projectors.contract.page import PublicEvent
from statemachine.log.positions import SinkPosition


class Batch(NamedTuple):
    """Events of a partition in log order, of 200 entries at most; none, where only the position moves.

    `upto`: where the sink has the partition once the batch is settled.
    """

    partition: int
    events: Sequence[PublicEvent]
    upto: SinkPosition


class Sink(Protocol):
    """A receiver of public events. Batches of several partitions may come at a time, of one of them one by one."""

    @property
    def name(self) -> str:
        """What users call it."""

    async def deliver(self, batch: Batch) -> None:
        """The batch is settled when this returns: the receiver has its events, or it is kept that it does not.

        Waits as long as the receiver is away. A call that is cancelled may have delivered some of them.

        Raises ConfigError where waiting does not help.
        """

    async def close(self) -> None:
        """Everything is flushed and released; idempotent."""


@runtime_checkable
class Positioned(Protocol):
    """A sink that keeps its position together with the events: nobody else has to keep it."""

    async def position(self, partition: int) -> SinkPosition | None:
        """How far the sink has the partition; None if it has nothing of it.

        Takes the partition over from the publisher that fed the sink before.

        Raises ConfigError where the receiver and its position disagree.
        """


@runtime_checkable
class Telling(Protocol):
    """A sink whose receiver shows the last event that it has, and so its position."""

    async def last(self, partition: int) -> str | None:
        """The id of the last event of `partition`; None without any."""
