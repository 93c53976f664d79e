"""Processes of this machine: their identity, whether they live, and when they are gone. All use of /proc is here.

Without /proc (macOS) a process is known by its number alone, and polling finds its end.
"""

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from k8s_bridge.kubelet import shim

_POLL = 0.05
"""Seconds between two checks of a process that cannot be waited for."""

_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that this Python itself may need to start."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process; its start and boot (`-`: unknown) distinguish it from later ones of the same number."""

    pid: int
    start: str
    boot: str

    @classmethod
    def read(cls, record: str) -> "Process | None":
        """The process in a record (`shim.identity`, more may follow).

        None for `void` or garbage.
        """
        parts = record.split()
        if len(parts) < 3 or not parts[0].isdigit():
            return None
        return cls(int(parts[0]), parts[1], parts[2])

    @classmethod
    def of(cls, pid: int) -> "Process":
        """The process that has the number `pid` now."""
        process = cls.read(shim.identity(pid).decode())
        return process or cls(pid, "-", "-")

    def is_alive(self) -> bool:
        """The process exists and is not a zombie."""
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
    """The present boot of the machine; `-` if unknown. Processes do not outlive it."""
    return Process.of(os.getpid()).boot


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def _reap(pid: int) -> bool:
    """Reaps `pid` if it is a child of ours that has ended. Returns whether it was."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False


async def gone(process: Process) -> None:
    """Waits for the end of the process, and reaps it if it is a child of ours."""
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
    while process.is_alive():  # noqa: ASYNC110 - there is no notification
        await asyncio.sleep(_POLL)


def signal_group(leader: Process, number: signal.Signals) -> None:
    """Sends a signal to the process group of `leader`, if that still lives."""
    if leader.is_alive():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader.pid, number)


def kill_marked(marker: str) -> None:
    """Kills every process with `marker` in its environment."""
    for pid in shim.strays(marker.encode()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def closed(fd: int) -> bytes:
    """The data of the pipe `fd` until its last writer closes it; then closes `fd`."""
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
    """Starts a process in its own session, with the pipe `notify` as descriptor 3 and no others. Returns its pid."""
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
