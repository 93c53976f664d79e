"""Some lines of a log: the last ones, those before a place, those in which something stands.

Places are bytes from the beginning of the log. A window reads about as much as it shows, wherever it is.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from jobledger.console.logs import text
from jobledger.console.logs.sources import Bytes

LINES: Final = 1000
"""Lines that a window shows. Source: spec console.md, section 4, Logs."""

PIECE: Final = 1 << 18
"""Bytes that are read at once."""

MOST: Final = 1 << 21
"""Bytes of a window at most, however few lines they are."""

COUNTED: Final = 1 << 24
"""Logs up to this size have their lines numbered from the first; in larger ones nobody counts them all."""

FOUND: Final = 200
"""Matches that a search gives at once."""


@dataclass(frozen=True, slots=True)
class Window:
    """Lines between the bytes `begin` and `end`; `first` is the number of the first, None where nobody counted.

    `tail` is what stands behind the last line end: a line that is still being written.
    """

    lines: tuple[str, ...]
    begin: int
    end: int
    size: int
    first: int | None = None
    tail: str = ""
    ended: bool = False

    @property
    def has_earlier(self) -> bool:
        """Something stands before it."""
        return self.begin > 0


class Match(NamedTuple):
    """A line in which the sought stands; `place` is where the line begins."""

    place: int
    line: str


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search found, the latest first; it has looked at everything from `until` on."""

    hits: tuple[Match, ...]
    until: int

    @property
    def is_whole(self) -> bool:
        """There is nothing left to look at."""
        return self.until <= 0


async def tail(source: Bytes, count: int = LINES) -> Window:
    """The last `count` lines."""
    last = await source.read(-1, 1)
    return await before(source, last.size, count, ended=last.ended)


async def before(source: Bytes, end: int, count: int = LINES, *, ended: bool = False) -> Window:
    """The `count` lines before byte `end`, or fewer: no more than `MOST` bytes are read."""
    raw, begin, size = b"", end, end
    while begin > 0 and raw.count(b"\n") <= count and len(raw) < MOST:
        start = max(begin - PIECE, 0)
        part = await source.read(start, begin - start)
        if not part.data:
            break
        raw, begin, size = part.data + raw, start, max(size, part.size)
    raw, begin = _whole_lines(raw, begin, count)
    closed = raw.rfind(b"\n") + 1
    open_ = raw[closed:]
    first = await _number(source, begin)
    return Window(
        lines=tuple(text.lines(raw[:closed])),
        begin=begin,
        end=begin + closed,
        size=size,
        first=first,
        tail=text.line(open_) if open_ else "",
        ended=ended,
    )


def _whole_lines(raw: bytes, begin: int, count: int) -> tuple[bytes, int]:
    """The last `count` lines of `raw`, beginning with a whole one; a line that has no end yet is one more."""
    cut = 0
    if begin > 0 and (end := raw.find(b"\n")) >= 0 and end + 1 < len(raw):
        cut = end + 1
    for _ in range(raw.count(b"\n", cut) - count):
        cut = raw.index(b"\n", cut) + 1
    return raw[cut:], begin + cut


async def _number(source: Bytes, begin: int) -> int | None:
    """The number of the line that begins at `begin`."""
    if begin > COUNTED:
        return None
    number, at = 1, 0
    while at < begin:
        part = await source.read(at, min(begin - at, 1 << 20))
        if not part.data:
            return None
        number += part.data.count(b"\n")
        at += len(part.data)
    return number


async def search(
    source: Bytes, sought: str, end: int | None = None, *, seconds: float = 2.0, limit: int = FOUND
) -> Matches:
    """Lines with `sought` in them, whatever the case, backwards from byte `end`, for so many `seconds` at most.

    It is looked for in what was written, not in what is shown of it.
    """
    if not sought:
        return Matches((), 0)
    pattern = re.compile(re.escape(sought).encode(), re.IGNORECASE)
    at = (await source.read(-1, 1)).size if end is None else end
    matches: list[Match] = []
    rest, until = b"", at
    deadline = time.monotonic() + seconds
    while at > 0 and len(matches) < limit and time.monotonic() < deadline:
        start = max(at - (1 << 20), 0)
        part = await source.read(start, at - start)
        if not part.data:
            break
        raw, at = part.data + rest, start
        cut = raw.find(b"\n") + 1 if start > 0 else 0
        if start > 0 and (cut == 0 or cut > MOST) and len(raw) > MOST:
            cut = len(raw)  # a line without end is not kept for ever
        elif start > 0 and cut == 0:
            rest = raw
            continue
        rest, until = raw[:cut], start + cut
        matches += list(_matches(raw, cut, start, pattern))[::-1]
    if at <= 0:
        until = 0
    if len(matches) > limit:
        matches = matches[:limit]
        until = matches[-1].place
    return Matches(tuple(matches), until)


def _matches(raw: bytes, cut: int, start: int, pattern: re.Pattern[bytes]) -> Iterator[Match]:
    """The matching lines of `raw` from `cut` on; `raw` begins at byte `start`."""
    at = cut
    while (hit := pattern.search(raw, at)) is not None:
        begin = raw.rfind(b"\n", cut, hit.start()) + 1 or cut
        end = raw.find(b"\n", hit.end())
        end = len(raw) if end < 0 else end
        yield Match(start + begin, text.line(raw[begin:end]))
        at = end + 1
        if at >= len(raw):
            return


__all__ = ["LINES", "Match", "Matches", "Window", "before", "search", "tail"]
