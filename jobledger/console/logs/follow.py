"""What is added to a log, as it is added: lines, and the one that is still being written."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from jobledger.console.logs import text
from jobledger.console.logs.sources import Bytes

LOOK: Final = 0.25
"""Seconds between two looks."""

PIECE: Final = 1 << 18

BEHIND: Final = 1 << 21
"""Bytes that a reader may be behind; of more, the older are left out, and that is said."""

_OPEN: Final = 1 << 16
"""Bytes of a line without end that are kept."""


@dataclass(frozen=True, slots=True)
class News:
    """What a log has gained: whole lines up to byte `end`, and the line behind them as far as it is written.

    `skipped` bytes before them were left out; with `ended` nothing more will come.
    """

    lines: tuple[str, ...]
    end: int
    tail: str = ""
    skipped: int = 0
    ended: bool = False


async def added(source: Bytes, at: int, look: float = LOOK) -> AsyncIterator[News]:
    """What stands behind byte `at`, then what is added, until the log has ended."""
    shown = ""
    while True:
        part = await source.read(at, PIECE)
        if part.size < at:  # it was begun anew
            at, shown = 0, ""
            continue
        skipped = 0
        if part.size - at > BEHIND:
            start = part.size - PIECE
            part = await source.read(start, PIECE)
            skipped, at = start - at, start
        raw = part.data
        closed = raw.rfind(b"\n") + 1
        if skipped and closed:
            first = raw.find(b"\n") + 1
            skipped, raw, at, closed = skipped + first, raw[first:], at + first, closed - first
        if not closed and len(raw) >= _OPEN:
            closed = len(raw)
        caught_up = at + len(raw) >= part.size
        rest = text.line(raw[closed:]) if closed < len(raw) else ""
        over = part.ended and caught_up
        if closed or rest != shown or over or skipped:
            yield News(tuple(text.lines(raw[:closed])), at + closed, rest, skipped, over)
        at, shown = at + closed, rest
        if over:
            return
        if caught_up:
            await asyncio.sleep(look)


async def heard_on(pieces: AsyncIterator[bytes]) -> AsyncIterator[News]:
    """The same of a stream, which ends when the log does. Places are those of the stream."""
    at, rest = 0, b""
    async for piece in pieces:
        raw = rest + piece
        closed = raw.rfind(b"\n") + 1
        if not closed and len(raw) >= _OPEN:
            closed = len(raw)
        rest, at = raw[closed:], at + closed
        yield News(tuple(text.lines(raw[:closed])), at, text.line(rest) if rest else "")
    yield News((text.line(rest),) if rest else (), at + len(rest), ended=True)
