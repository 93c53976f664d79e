"""Where in a log something was recorded at a time or later."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Final

from statemachine.errors import EntryUnreadable
from statemachine.ids import Position
from statemachine.log.codec import decode_brief
from statemachine.log.port import ReadableLog, Record

DISORDER: Final = timedelta(minutes=10)
"""By how much entries may stand in another order than their times: clocks differ, and an engine may lag behind."""


async def position_since(
    log: ReadableLog, end: Position, at: datetime, disorder: timedelta = timedelta()
) -> Position:
    """A position up to `end` right before the first entry that was recorded at `at` or later; `end` without one.

    It is looked for by halving, which is right as long as entries stand in the order of their times, but for
    `disorder`: so much is read entry by entry. Where clocks were set back by more, it is one of those that fit.

    Raises LogUnavailable.
    """
    place = await _halved(log, end, at - disorder)
    if not disorder:
        return place
    async with aclosing(_records(log, place)) as records:
        async for record in records:
            if record.position > end:
                break
            if (recorded := _recorded(record)) is not None and recorded >= at:
                return record.position - 1
    return end


async def _halved(log: ReadableLog, end: Position, at: datetime) -> Position:
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        first = await _first_dated(log, middle)
        if first is None or first[1] >= at:
            high = middle
        else:
            low = first[0]
    return high


async def _first_dated(log: ReadableLog, after: Position) -> tuple[Position, datetime] | None:
    """Position and time of the first entry behind `after` that can be read; None where there is none."""
    async with aclosing(_records(log, after)) as records:
        async for record in records:
            if (recorded := _recorded(record)) is not None:
                return record.position, recorded
    return None


def _recorded(record: Record) -> datetime | None:
    try:
        return decode_brief(record.body).seen_at
    except EntryUnreadable:
        return None


async def _records(log: ReadableLog, after: Position) -> AsyncGenerator[Record]:
    async for batch in log.scan(after):
        for record in batch:
            yield record
