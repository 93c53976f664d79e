"""One writer a store: a lock that ends with its process, and names its holder."""

import fcntl
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from statemachine.errors import StoreInUse, StoreUnusable

PRIVATE = 0o600
"""Mode of every file made here: manifests may hold secrets, which other users must not read."""

_SHOWN = 200  # characters of a command line; enough to know the process by


class StoreLock:
    """The exclusive right to write the store at `path`, held through `<path>.lock`.

    It is an flock and not a file's existence: the kernel releases it when the process ends, however it ends. The file
    stays, as two processes could otherwise lock two files of that name.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, path: Path) -> Self:
        """Takes the lock for this process.

        Raises:
            StoreInUse: another process has it.
            StoreUnusable: a lock cannot be made there.
        """
        name = path.with_name(path.name + ".lock")
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        except OSError as error:
            raise StoreUnusable(f"{name} cannot be written ({error.strerror}); see --store") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _ourselves().encode(), 0)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 1000, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise StoreInUse(str(path), holder or "another process") from error
        except OSError as error:
            os.close(descriptor)
            raise StoreUnusable(f"{name} cannot be locked ({error.strerror}); see --store") from error
        return cls(descriptor)

    def release(self) -> None:
        """Gives the lock up; idempotent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.ftruncate(descriptor, 0)
            os.close(descriptor)


def _ourselves() -> str:
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    return f"process {os.getpid()} ({shlex.join(sys.argv)[:_SHOWN]}), since {since}"
