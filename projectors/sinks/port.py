"""The port of sinks: what the runner of sinks asks of a receiver of public events.

The runner feeds a sink the entries of one partition in log order, and goes on once they are settled. So a receiver
that is away makes the sink lag, and loses nothing: the log is the queue. Delivery is at least once.
"""

from collections.abc import Sequence
from typing import Protocol

from projectors.contract.page import PublicEvent


class Sink(Protocol):
    """A receiver of public events."""

    @property
    def name(self) -> str:
        """What users call it."""

    async def deliver(self, events: Sequence[PublicEvent]) -> None:
        """The receiver has all these events when this returns: they are of one partition, and in log order.

        Waits as long as the receiver is away. A call that is cancelled may have delivered some of them.

        Raises ConfigError where waiting does not help.
        """

    def last(self, partition: int) -> str | None:
        """The id of the last event of `partition` that the receiver had when it was opened; None without any."""

    async def close(self) -> None:
        """Everything is flushed and released; idempotent."""
