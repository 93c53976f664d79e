"""OpenLineage over Kafka: RunEvents in a topic of their own, exactly once for all who read what is committed.

The key of a record is that of the reference client, and chooses the partition as every client does: a run, its parent
and the other runs of that parent are in one partition, whatever partition of the log the jobs are in. RunEvents and
the sink's position are one transaction, as with public events (see `kafka`).
"""

from typing import Self

from projectors.contract.binding import POSITION
from projectors.contract.lineage.runs import RUN_KEY
from projectors.contract.page import PublicEvent
from projectors.sinks.kafka import KafkaSink
from projectors.sinks.port import Batch
from statemachine.errors import ConfigError
from statemachine.log.kafka.partitioner import partition_of_key
from statemachine.log.kafka.publishing import PartitionPublisher, Target, partitions_of
from statemachine.log.kafka.records import Row
from statemachine.log.positions import encoded


class LineageTopicSink(KafkaSink):
    """See KafkaSink. What comes in are RunEvents, as `projectors.contract.lineage.runs` makes them."""

    def __init__(self, name: str, target: Target, spread: int) -> None:
        super().__init__(name, target, "binary")
        self._spread = spread

    @classmethod
    async def of(cls, name: str, target: Target, partitions: int) -> Self:
        """The sink of a topic that has at least as many partitions as the log, as each of these has a publisher.

        Raises:
            ConfigError: it has not.
            LogUnavailable: no broker answers.
            StoreUnusable: we may not see it.
        """
        count = await partitions_of(target)
        if count < partitions:
            there = f"has {count} partitions" if count else "does not exist, or we have no right to see it"
            raise ConfigError(
                f"{target} {there}, and the log has {partitions}; `jobledger topics apply` with the same settings "
                "makes it, or gives it more while it is empty"
            )
        return cls(name, target, count)

    async def _write(self, publisher: PartitionPublisher, batch: Batch, mark: str) -> None:
        rows: dict[int, list[Row]] = {}
        for event in batch.events:
            row = _row(event)
            rows.setdefault(partition_of_key(row.key, self._spread), []).append(row)
        await publisher.spread(rows, encoded(batch.upto), mark)


def _row(event: PublicEvent) -> Row:
    headers = [("content-type", b"application/json"), (POSITION, b"%d" % event.position)]
    return Row(str(event.attributes[RUN_KEY]).encode(), event.data, headers)
