"""Positions of sinks that go along when a ledger is copied, so that the copy sends nothing again.

Positions are places in one log, and the copy has other ones, perhaps in another number of partitions. So what is
carried is what a sink lacks: of each job with entries behind the sink's position, the first of them. In a partition
of the copy the sink stands before the first entry that it lacks.

Where a sink writes its position into a topic beside the events, that position is of the topic, and stays with it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.partitions import Partitions
from statemachine.log.port import EventLog, ReadableLog
from statemachine.log.positions import Positions, SinkFailure, SinkPosition

_NOTHING: Final = 0


class Carried(NamedTuple):
    """What is known of a sink.

    `lacking`: job → the first of its entries that the sink does not have yet. `position`: any of its positions, for
    jobs that are held, contract and settings; None if the sink has nothing. `disabled`: why it is off.
    """

    sink: str
    lacking: Mapping[JobUid, Seq]
    position: SinkPosition | None
    failures: Sequence[SinkFailure]
    disabled: str


async def carried(positions: Positions, source: Partitions) -> Sequence[Carried]:
    """What there is to carry of all sinks of a ledger. Raises LogUnavailable, StoreUnusable."""
    return [await _of(sink, positions, source) for sink in await positions.sinks()]


async def _of(sink: str, positions: Positions, source: Partitions) -> Carried:
    known = await _known(sink, positions, len(source.logs))
    lacking: dict[JobUid, Seq] = {}
    if known:
        for number, log in enumerate(source.logs):
            lacking |= await _behind(log, known[number].position if number in known else _NOTHING)
    failures = tuple((await positions.failures(sink)).values())
    return Carried(sink, lacking, _merged(known), failures, await positions.disabled(sink))


async def _known(sink: str, positions: Positions, partitions: int) -> Mapping[int, SinkPosition]:
    """Where the sink is in each partition, or is asked to go on; nothing of one that is in a topic."""
    if await positions.is_in_topic(sink):
        return {}
    known = dict(await positions.all(sink))
    for number in range(partitions):
        if (asked := await positions.reset_asked(sink, number)) is not None:
            known[number] = asked
    return known


async def _behind(log: ReadableLog, position: Position) -> dict[JobUid, Seq]:
    firsts: dict[JobUid, Seq] = {}
    async for records in log.scan(position):
        for record in records:
            firsts.setdefault(record.job, record.seq)
    return firsts


def _merged(known: Mapping[int, SinkPosition]) -> SinkPosition | None:
    """One position with the held jobs of all."""
    if not known:
        return None
    held = {job: seq for position in known.values() for job, seq in position.held.items()}
    return next(iter(known.values()))._replace(held=held)


async def put(sinks: Sequence[Carried], positions: Positions, target: Partitions) -> None:
    """The sinks stand in the copy as they did in the first. Raises LogUnavailable, StoreUnusable."""
    for carried in sinks:
        if carried.position is not None:
            for number, log in enumerate(target.logs):
                held = {
                    job: seq for job, seq in carried.position.held.items() if target.number_of(job) == number
                }
                place = await _before_what_lacks(log, carried.lacking)
                await positions.save(
                    carried.sink, number, carried.position._replace(position=place, held=held)
                )
        for failure in carried.failures:
            await positions.fail(carried.sink, failure)
        if carried.disabled:
            await positions.switch(carried.sink, disabled=carried.disabled)


async def _before_what_lacks(log: EventLog, lacking: Mapping[JobUid, Seq]) -> Position:
    """The last position before an entry that is lacking; the end if none is."""
    end = await log.end()
    if not lacking:
        return end
    async for records in log.scan():
        for record in records:
            if (first := lacking.get(record.job)) is not None and record.seq >= first:
                return record.position - 1
    return end
