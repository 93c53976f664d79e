"""The history made again from the log, whatever its tables held before, while others may work with both."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from jobledger.wiring.history import Where, opened, streams_of
from jobledger.wiring.ledger import Kafka, reading
from jobledger.wiring.streams import Stream
from projectors.history import History

_SAY: Final = 5.0
"""Seconds between two lines about how far it is."""


class Rebuilt(NamedTuple):
    """What the history holds in the end."""

    jobs: int
    entries: int


async def rebuild(log: Path | Kafka, where: Where, say: Callable[[str], None]) -> Rebuilt:
    """The history at `where` is that of `log` as it is now.

    Raises:
        LogUnavailable, ViewUnavailable: one of them is out of reach, now or after a part was done.
        StoreUnusable, ConfigError: one of them cannot be used.
    """
    async with reading(log) as partitions, opened(where) as database:
        await database.clear()
        work = asyncio.create_task(_advance(streams_of(database, partitions.logs)), name="rebuild")
        try:
            return await _watched(work, History(database), say)
        finally:
            work.cancel()
            await asyncio.wait([work])


async def _advance(streams: Sequence[Sequence[Stream]]) -> None:
    """One partition after the other: that they are many makes none of it quicker here."""
    for followed in streams:
        for stream in followed:
            await stream.advance()


async def _watched(work: "asyncio.Task[None]", history: History, say: Callable[[str], None]) -> Rebuilt:
    began = time.monotonic()
    while not (await asyncio.wait([work], timeout=_SAY))[0]:
        done = await history.count_entries()
        say(f"{done} entries, {done / (time.monotonic() - began):.0f} a second")
    await work
    return Rebuilt(await history.count_jobs(), await history.count_entries())
