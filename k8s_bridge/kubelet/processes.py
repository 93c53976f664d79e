"""Processes of this machine: which one is meant, whether it lives, when it is gone. All use of /proc is here.

Without /proc (macOS) a process is known by its number alone, and its end is found by asking again and again.
"""

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from k8s_bridge.kubelet import shim

_POLL = 0.05
"""Seconds between two looks at a process that cannot be waited for."""

_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What this Python itself may need to start."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told apart from later ones of the same number by its start and boot (`-`: not known)."""

    pid: int
    start: str
    boot: str

    @classmethod
    def read(cls, record: str) -> "Process | None":
        """The process that a record speaks of (`shim.identity`, more may follow).

        None for `void` or garbage.
        """
        parts = record.split()
        if len(parts) < 3 or not parts[0].isdigit():
            return None
        return cls(int(parts[0]), parts[1], parts[2])

    @classmethod
    def of(cls, pid: int) -> "Process":
        """The process that has the number `pid` now."""
        found = cls.read(shim.identity(pid).decode())
        return found or cls(pid, "-", "-")

    def is_alive(self) -> bool:
        """It exists and is not a zombie."""
        if self.start != "-":
            now = Process.of(self.pid)
            return now == self and not _is_zombie(self.pid)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return not _reap(self.pid)


def boot_id() -> str:
    """This run of the machine; `-` where that is not known. Processes do not outlive it."""
    return Process.of(os.getpid()).boot


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def _reap(pid: int) -> bool:
    """Whether `pid` was a child of ours that had ended; it is no zombie any more."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False


async def gone(process: Process) -> None:
    """The process has ended, and is no zombie if it was a child of ours."""
    if process.is_alive():
        await (_gone_by_pidfd(process) if hasattr(os, "pidfd_open") else _gone_by_polling(process))
    if process.start != "-" and Process.of(process.pid) == process:
        _reap(process.pid)


async def _gone_by_pidfd(process: Process) -> None:
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except OSError:  # no descriptors left, or a sandbox without this call
        await _gone_by_polling(process)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        if process.is_alive():  # the descriptor is of this process, not of a later one
            loop.add_reader(fd, ended.set)
            await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


async def _gone_by_polling(process: Process) -> None:
    while process.is_alive():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(_POLL)


def signal_group(leader: Process, number: signal.Signals) -> None:
    """Send a signal to the process group that `leader` leads, if it still does."""
    if leader.is_alive():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader.pid, number)


def kill_marked(marker: str) -> None:
    """Every process with `marker` in its environment is killed."""
    for pid in shim.strays(marker.encode()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def closed(fd: int) -> bytes:
    """What came through the pipe `fd` until its last writer closed it; `fd` is closed then."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    parts: list[bytes] = []
    os.set_blocking(fd, False)
    loop.add_reader(fd, readable.set)
    try:
        while True:
            await readable.wait()
            readable.clear()
            part = os.read(fd, 4096)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def spawn(arguments: list[str], notify: int) -> int:
    """A new process of its own session, with descriptor 3 the pipe `notify` and no others; its number."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
        (os.POSIX_SPAWN_DUP2, notify, 3),
    ]
    env = {"PATH": os.defpath, **{name: os.environ[name] for name in _LIBRARIES if name in os.environ}}
    try:
        return os.posix_spawn(arguments[0], arguments, env, file_actions=actions, setsid=True)
    except NotImplementedError:  # a C library without it: the same, in a session that ends with ours
        return os.posix_spawn(arguments[0], arguments, env, file_actions=actions, setpgroup=0)
