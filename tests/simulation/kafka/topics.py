"""The topics of a simulated ledger, and what a web hook that it feeds has received."""

from collections import defaultdict
from collections.abc import Iterator

from statemachine.log.kafka.address import Address
from tests.support.kafka_model.brokers import Brokers
from tests.support.kafka_model.partitions import ModelPartition


class Topics:
    """What worlds have that feed sinks from a ledger at `address`."""

    brokers: Brokers
    address: Address
    received: defaultdict[int, list[str]]
    """The ids of events that the receiver of a web hook got, by partition."""

    def parts(self, topic: str) -> Iterator[ModelPartition]:
        """The partitions of a topic of the ledger."""
        return self.parts_of(self.address.topic(topic))

    def parts_of(self, topic: str) -> Iterator[ModelPartition]:
        """The partitions of a topic, by its whole name."""
        yield from map(self.brokers.partition, self.brokers.parts(topic))


class LedgerTopics(Topics):
    """Those of a world that knows its topics by another name."""

    def __init__(self, brokers: Brokers, address: Address) -> None:
        self.brokers, self.address, self.received = brokers, address, defaultdict(list)
