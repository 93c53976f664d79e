"""A partition of public events as the one that may write it: events, and how far they go, in one transaction.

The transactional id is that of the topic's partition, so a publisher that starts fences the one before, and ends
what that had begun. Fencing alone does not say who has the partition: brokers refuse one that was silent for too long
in the same way. So a publisher writes its name beside the position when it takes over: one that is refused reads
whose name is there, and goes on if it is its own.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

from statemachine.errors import ConfigError, LogUnavailable, OwnerLost
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import parts, producer, started
from statemachine.log.kafka.failures import missing, ours
from statemachine.log.kafka.layout import CLOUDEVENTS, POSITIONS
from statemachine.log.kafka.positions import Records, fold_records
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Row
from statemachine.log.kafka.writing import Writer
from statemachine.log.positions import PUBLISHER

_ABORTED_AFTER: Final = 20_000
"""Milliseconds after which brokers abort what a publisher that is gone has left open; a transaction takes less."""

_END: Final = "end"
_MARK: Final = "mark"
"""Of a sink's position, beside what `statemachine.log.positions` reads; one that users set has neither."""


class Target(NamedTuple):
    """A topic of public events, by its whole name, at `address`, whose topic of positions goes with it."""

    address: Address
    topic: str

    @classmethod
    def of(cls, address: Address, topic: str = "") -> Self:
        """That topic there, by default the ledger's own."""
        return cls(address, topic or address.topic(CLOUDEVENTS.name))

    @property
    def positions(self) -> str:
        """The whole name of the topic of positions."""
        return self.address.topic(POSITIONS.name)

    def __str__(self) -> str:
        return f"topic {self.topic} at {','.join(self.address.servers)}"


class PartitionPublisher:
    """Writes partition `number` for `sink`, until a call raises OwnerLost; then another has to be opened, if any.

    `position` is the sink's record as it was when this was opened, None without one; `mark` that of its last write.
    """

    def __init__(self, target: Target, number: int, sink: str, writer: Writer, records: Records) -> None:
        self._target, self._number, self._sink, self._writer = target, number, sink, writer
        self.position = records.get(sink)
        fields = _fields(self.position)
        self.mark, self._end = fields.get(_MARK), fields.get(_END)

    @classmethod
    async def open(cls, target: Target, number: int, sink: str, name: str, *, again: bool = False) -> Self:
        """From now on nobody else writes the partition; `name` is that of this publisher, which no other has.

        With `again` only if nobody has taken it over from this publisher.

        Raises:
            ConfigError: the topic is shorter than what was published to it.
            LogUnavailable: no broker answers.
            OwnerLost: another publisher has the partition.
            StoreUnusable: there is no such partition, or we may not use it.
        """
        await _check(target, number)
        positions = Partition(target.address, target.positions, number)
        try:
            if again:
                _refuse_other(target, number, await _committed(positions), sink, name)
            writer = await opened_writer(target, number)
            opened = await cls._opened(target, number, sink, writer, positions)
        finally:
            await positions.close()
        try:
            if again:
                _refuse_other(target, number, opened[1], sink, name)
            publisher = opened[0]
            await publisher._check_end()
            if not again:
                claim = Row(f"{sink}{PUBLISHER}".encode(), name.encode())
                await publisher._writer.write(target.positions, [claim])
        except BaseException:
            await opened[0].close()
            raise
        return publisher

    @classmethod
    async def _opened(
        cls, target: Target, number: int, sink: str, writer: Writer, positions: Partition
    ) -> tuple[Self, Records]:
        """What the publisher before has committed can be read, which may be a little later than it was confirmed.

        Or much later: what the publisher of another sink has left open hides it until brokers end that.
        """
        try:
            tail = await positions.tail()
            try:
                await positions.end(tail)
            except LogUnavailable:
                await writer.settle(target.positions)
                await positions.end(tail)
            records = await _committed(positions)
        except BaseException:
            await writer.close()
            raise
        return cls(target, number, sink, writer, records), records

    async def write(self, rows: Sequence[Row], position: bytes, mark: str) -> None:
        """The events can be read, and the sink has the position, a JSON object; or nothing of both.

        `mark` is kept with it: if it is not known whether this was written, the next publisher tells.

        Raises:
            OwnerLost: nobody knows whether this was written, or another publisher has the partition.
            StoreUnusable: brokers say no.
        """
        fields = _fields(position)

        def noted(end: int | None) -> Row:
            self._end = self._end if end is None else end
            return Row(self._sink.encode(), json.dumps({**fields, _MARK: mark, _END: self._end}).encode())

        await self._writer.write_noted(self._target.topic, rows, self._target.positions, noted)

    async def spread(self, rows: Mapping[int, Sequence[Row]], position: bytes, mark: str) -> None:
        """As `write`, of records in any partitions of the topic: partition → its records. Raises as that does."""
        fields = _fields(position) | {_MARK: mark}
        note = Row(self._sink.encode(), json.dumps(fields).encode())
        await self._writer.write_spread(self._target.topic, rows, self._target.positions, note)

    async def close(self) -> None:
        """It writes no more, and what it has written is there."""
        await self._writer.close()

    async def _check_end(self) -> None:
        if not isinstance(self._end, int):
            return
        partition = Partition(self._target.address, self._target.topic, self._number)
        end = await partition.tail()
        if end < self._end:
            raise ConfigError(
                f"{partition} ends at {end}, and {self._target.positions} says that events were published up to "
                f"{self._end}: the topic was deleted or emptied. `jobledger events sinks reset {self._sink} --to "
                "beginning` publishes all of them again, `--to end` only what comes"
            )


async def opened_writer(target: Target, number: int) -> Writer:
    """From now on nobody else writes the partition in transactions. Raises LogUnavailable, StoreUnusable."""
    with ours(target.address, f"become the publisher of partition {number} of topic {target.topic}"):
        made = await started(
            producer(
                target.address,
                f"{target.topic}-{number}",
                codec=CLOUDEVENTS.codec,
                within=_ABORTED_AFTER,
            )
        )
    return Writer(target.address, number, made)


async def last_record(target: Target, number: int) -> Any | None:
    """The last record of the partition that is committed; None in an empty one. Raises as `Partition` does.

    What a writer before has committed can be read a little later: this waits for it.
    """
    partition = Partition(target.address, target.topic, number)
    try:
        return await last_before(partition, await partition.end(await partition.tail()))
    finally:
        await partition.close()


async def last_before(partition: Partition, end: int) -> Any | None:
    """The last committed record before an offset that can be read; None without one. Raises as `Partition` does."""
    begin, behind = await partition.begin(), 8
    while end > begin:
        last = None
        async for batch in partition.read(max(begin, end - behind), end):
            last = batch[-1]
        if last is not None or behind >= end - begin:
            return last
        behind *= 8  # markers of transactions take offsets, too
    return None


async def partitions_of(target: Target) -> int:
    """How many partitions the topic has; 0 if it is not there. Raises LogUnavailable, StoreUnusable."""
    return (await parts(target.address)).get(target.topic, 0)


async def _check(target: Target, number: int) -> None:
    there = await parts(target.address)
    for topic in (target.topic, target.positions):
        if there.get(topic, 0) <= number:
            raise missing(target.address, topic, number if there.get(topic) else None)


async def _committed(positions: Partition) -> Records:
    records: Records = {}
    await fold_records(positions, records, 0, await positions.end())
    return records


def _refuse_other(target: Target, number: int, records: Records, sink: str, name: str) -> None:
    if records.get(f"{sink}{PUBLISHER}") != name.encode():
        raise OwnerLost(
            f"another publisher has partition {number} of topic {target.topic} for sink {sink} now"
        )


def _fields(record: bytes | None) -> dict[str, Any]:
    """What a position says; nothing if it cannot be read."""
    try:
        fields = json.loads(record or b"{}")
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
