"""Logs of local pods: files, read while they grow."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from k8s_bridge.port import LogPart

_PIECE = 1 << 16
LOOK = 0.05
"""Seconds between two reads of a file that may have grown: the standard library has no notification for that."""


async def read(path: Path, has_ended: Callable[[], bool], *, follow: bool) -> AsyncIterator[bytes]:
    """The file in pieces; with `follow` also what is added, until `has_ended`.

    A file that does not exist yet is empty.
    """
    at = 0
    while True:
        ended = has_ended()  # before the read, which has everything that was written until then
        while piece := _piece(path, at):
            at += len(piece)
            yield piece
        if ended or not follow:
            return
        await asyncio.sleep(LOOK)


def _piece(path: Path, at: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read(_PIECE)
    except FileNotFoundError:
        return b""


def part(path: Path, start: int, length: int, *, ended: bool) -> LogPart:
    """Up to `length` bytes from `start` on; negative: from so many bytes before the end.

    `ended` has to be determined before the call, so that everything written until then is read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(size + start, 0) if start < 0 else start
            file.seek(start)
            return LogPart(file.read(length), start, size, ended)
    except FileNotFoundError:
        return LogPart(b"", 0, 0, ended)
