"""Single public events made again from the log, without a reading of all of it."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from projectors.contract.page import PublicEvent
from projectors.contract.publication import Publication
from projectors.contract.stream import PublishedEntry, Publisher
from projectors.sinks.feeding import Chosen
from projectors.sinks.resuming import PublicTail, beginning
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.partitions import Partitions
from statemachine.log.port import EventLog, Record

_FIRST: Final = 200
"""Positions at the end of a partition that are looked at first."""

_WIDER: Final = 8
"""How many times as many the next ones are, where those give nothing."""


async def newest_of(partitions: Partitions, publication: Publication, chosen: Chosen) -> PublicEvent | None:
    """The newest of the events that `chosen` gives, by when they were recorded; None without any."""
    newest: PublishedEntry | None = None
    for log in partitions.logs:
        last = await _newest_in(log, publication, chosen)
        if last is not None and (newest is None or last.entry.seen_at > newest.entry.seen_at):
            newest = last
    return chosen(newest)[-1] if newest is not None else None


async def _newest_in(log: EventLog, publication: Publication, chosen: Chosen) -> PublishedEntry | None:
    """The last entry of the partition of which anything is chosen."""
    end, span = await log.end(), _FIRST
    while True:
        start: Position = max(0, end - span)
        newest = None
        async for published in PublicTail(log, publication, beginning(publication, start)).more():
            if published is not None and chosen(published):
                newest = published
        if newest is not None or not start:
            return newest
        span *= _WIDER


async def entry_of(id_: str, partitions: Partitions, publication: Publication) -> PublishedEntry | None:
    """The entry whose event has this id; None where the log gives none."""
    uid, _, place = id_.partition("/")
    seq = place.partition("/")[0]
    if not seq.isdecimal():
        return None
    job, publisher = JobUid(uid), Publisher(publication)
    async for record in _records(partitions.log_of(job), job, int(seq)):
        published = publisher.take(record)
        if record.seq == int(seq):
            return published
    return None


async def _records(log: EventLog, job: JobUid, last: Seq) -> AsyncIterator[Record]:
    """The job's records up to number `last`, from its first on.

    Of a log that does not find them they are looked for from the end back, as events that somebody asks for are of
    jobs that began not long ago; what is before the job's first record is not read. The job's snapshot is of no use:
    there is the newest one only, which mostly stands behind the event, and none with a state of a closed job.
    """
    if log.finds_jobs:
        async for records in log.scan(job=job):
            for record in records:
                yield record
        return
    parts: list[Sequence[Record]] = []
    end, span = await log.end(), _FIRST
    while end and not (parts and parts[0] and parts[0][0].seq == 1):
        start: Position = max(0, end - span)
        parts.insert(0, await _records_between(log, start, end, job, last))
        end, span = start, span * _WIDER
    for records in parts:
        for record in records:
            yield record


async def _records_between(
    log: EventLog, start: Position, end: Position, job: JobUid, last: Seq
) -> Sequence[Record]:
    """The job's records up to number `last` behind `start` and not behind `end`."""
    kept: list[Record] = []
    async for records in log.scan(start):
        kept += [
            record
            for record in records
            if record.job == job and record.seq <= last and record.position <= end
        ]
        if records[-1].position >= end:
            break
    return kept
