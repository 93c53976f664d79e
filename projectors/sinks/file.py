"""The sink that appends public events to files of JSON Lines in a directory, and starts a new file when one is full.

The files say by themselves how far they go: by the last whole line of every partition. Nothing else has to be kept,
so no crash can leave the files and a note about them in disagreement. What a crash left of a line is cut.
"""

import asyncio
import errno
import fcntl
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Self

from projectors.contract.envelope import structured
from projectors.sinks.folder import last_ids, next_part, parts, whole
from projectors.sinks.port import Batch
from statemachine.errors import ConfigError
from statemachine.ids import JobUid

_LIMIT: Final = 256 * 2**20
"""Bytes from which on a file is full."""

_FULL_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_PAUSE: Final = 5.0
"""Seconds between two attempts to write to a full disk."""

_logger = logging.getLogger(__name__)


class FileSink:
    """See Sink. `open` it; one process at a time has a directory. `sleep` waits that many seconds."""

    def __init__(self, folder: Path, lock: int, last: dict[int, str], limit: int) -> None:
        self._folder, self._lock, self._last, self._limit = folder, lock, last, limit
        self._path = [next_part(folder), *parts(folder)][-1]
        self._file = _appended(self._path)
        os.fsync(lock)
        self._size = self._path.stat().st_size
        self._writing = threading.Lock()
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @classmethod
    def open(
        cls, folder: Path, partitions: int, number_of: Callable[[JobUid], int], limit: int = _LIMIT
    ) -> Self:
        """The sink of a directory, which is made if it does not exist. `limit`: bytes from which a file is full.

        Raises ConfigError: the directory cannot be used, or another process has it.
        """
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{folder} is a file: give a directory")
        try:
            folder.mkdir(exist_ok=True)
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _unwritable(folder, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            paths = parts(folder)
            for path in paths[-1:]:  # only the newest file can end in the middle of a line
                os.truncate(path, whole(path))
            return cls(folder, lock, last_ids(paths, partitions, number_of), limit)
        except BlockingIOError as error:
            os.close(lock)
            raise ConfigError(f"another process publishes to {folder}: give another directory") from error
        except OSError as error:
            os.close(lock)
            raise _unwritable(folder, error) from error
        except ConfigError:
            os.close(lock)
            raise

    @property
    def name(self) -> str:
        """See Sink."""
        return str(self._folder)

    async def last(self, partition: int) -> str | None:
        """See Telling."""
        return self._last.get(partition)

    async def deliver(self, batch: Batch) -> None:
        """See Sink. The events are on the disk then. A full disk is waited for."""
        if not batch.events:
            return
        text = b"".join(structured(event) + b"\n" for event in batch.events)
        is_full = False
        while True:
            try:
                await asyncio.to_thread(self._append, text)
            except OSError as error:
                if error.errno not in _FULL_DISK:
                    raise _unwritable(self._path, error) from error
                if not is_full:
                    _logger.warning(
                        "No space is left for public events; they wait", extra={"path": self.name}
                    )
                is_full = True
                await self.sleep(_PAUSE)
            else:
                self._last[batch.partition] = str(batch.events[-1].attributes["id"])
                return

    async def close(self) -> None:
        """See Sink."""
        with self._writing:
            if self._lock >= 0:
                os.close(self._file)
                os.close(self._lock)
                self._lock = -1

    # ---- in a thread ----

    def _append(self, text: bytes) -> None:
        with self._writing:
            if self._lock < 0:
                return  # the call was cancelled, and the sink closed
            if self._size >= self._limit:
                self._rotate()
            try:
                _write(self._file, text)
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, self._size)
                raise
            self._size += len(text)

    def _rotate(self) -> None:
        path = next_part(self._folder)
        file = _appended(path)
        os.close(self._file)
        self._path, self._file, self._size = path, file, 0
        os.fsync(self._lock)


def _appended(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _write(file: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(file, left) :]


def _unwritable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path} cannot be written: {error.strerror}")
