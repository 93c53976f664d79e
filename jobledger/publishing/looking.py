"""Single public events made again from the log, without a reading of all of it."""

from typing import Final

from projectors.contract.page import PublicEvent
from projectors.contract.publication import Publication
from projectors.contract.stream import PublishedEntry, Publisher
from projectors.sinks.feeding import Chosen
from projectors.sinks.resuming import PublicTail, beginning
from statemachine.ids import JobUid, Position
from statemachine.log.partitions import Partitions
from statemachine.log.port import EventLog

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
    """The entry whose event has this id; None where the log gives none. Nothing behind it is read."""
    uid, _, place = id_.partition("/")
    seq = place.partition("/")[0]
    if not seq.isdecimal():
        return None
    job, publisher = JobUid(uid), Publisher(publication)
    async for records in partitions.log_of(job).scan(job=job):
        for record in records:
            published = publisher.take(record)
            if record.seq >= int(seq):
                return published if record.seq == int(seq) else None
    return None
