"""Where the bytes of a log come from: a file that can be read at any place, or a stream that can only be heard.

The files of local pods are the former. A cluster hands out streams, but can begin them at the last lines.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol

from k8s_bridge.port import LogPart as Part

HELD: Final = 1 << 23
"""Bytes of a stream that are held: its last ones."""

_PATIENCE: Final = 5.0
"""Seconds after which what a stream has said so far is shown."""


class Bytes(Protocol):
    """A log, read in parts."""

    async def read(self, start: int, length: int) -> Part:
        """Up to `length` bytes from `start` on; negative: from so many bytes before its end. Raises Missing."""


class Whole:
    """Bytes in memory: the end of a stream."""

    def __init__(self, data: bytes, *, ended: bool = True) -> None:
        self._data, self._ended = data, ended

    async def read(self, start: int, length: int) -> Part:
        """See Bytes."""
        size = len(self._data)
        start = max(size + start, 0) if start < 0 else start
        return Part(self._data[start : start + length], start, size, self._ended)


class Seekable:
    """A log that can be read at any place."""

    def __init__(self, part: "Callable[[int, int], Part]") -> None:
        self._part = part

    async def read(self, start: int, length: int) -> Part:
        """See Bytes. Disks can be slow, and other pages wait for the same loop."""
        return await asyncio.to_thread(self._part, start, length)


async def heard(pieces: AsyncIterator[bytes], most: int = HELD) -> Whole:
    """The end of a stream, as far as it has come in a few seconds."""
    data = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE):
            async for piece in pieces:
                data += piece
                if len(data) > 2 * most:
                    del data[:-most]
    except TimeoutError:
        return Whole(bytes(data[-most:]), ended=False)
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()
    return Whole(bytes(data[-most:]))
