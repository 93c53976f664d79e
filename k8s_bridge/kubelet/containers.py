"""One container of a local pod: starts it once, watches, stops and adopts it. The other side of `shim`.

The container's folder has its whole state, so a new jobledger reads exactly what the old one read. Every decision is
a file that can be made only once: who starts the container (`claim`), whether it became a process (`started`), how it
ended (`exit`).
"""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from k8s_bridge.kubelet import processes, shim
from k8s_bridge.kubelet.processes import Process
from statemachine.errors import Refused

MARKER = "JOBLEDGER_CONTAINER_ID"
"""The environment variable of every process of a container: pod uid, slash, container name."""

LOST = "ContainerStatusLost"
"""Reason of a container that was started and whose end is not recorded."""

START_ERROR = "StartError"
"""Reason of a container that could not be started this time."""

NEVER = "NeverStarted"
"""Reason of a container that was stopped before its start."""

_VOID = b"void"


@dataclass(frozen=True, slots=True)
class ContainerLaunch:
    """A program to run: arguments, whole environment, working directory."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    folder: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a container ended. `code` is None if unknown."""

    code: int | None
    at: datetime
    reason: str
    message: str = ""

    @property
    def well(self) -> bool:
        """The container ended with exit code 0."""
        return self.code == 0


class ContainerFolder:
    """A container by its folder."""

    def __init__(self, folder: Path, log: Path, marker: str) -> None:
        self.folder, self.log, self.marker = folder, log, marker

    @property
    def claimed(self) -> bool:
        """A shim has, or had, the right to start the container; no other ever gets it."""
        return (self.folder / "claim").exists()

    def shim(self) -> Process | None:
        """The shim that claimed the container."""
        return Process.read(_text(self.folder / "claim"))

    def process(self) -> Process | None:
        """The container's first process, if there ever was one."""
        return Process.read(_text(self.folder / "started"))

    def started_at(self) -> datetime | None:
        """When the first process started; None while there was none."""
        parts = _text(self.folder / "started").split()
        return datetime.fromtimestamp(float(parts[3]), UTC) if len(parts) > 3 else None

    def ended(self) -> Ended | None:
        """How the container ended; None without a record. A record torn by a crash gives LOST."""
        path = self.folder / "exit"
        record = _text(path)
        if not record and not path.exists():
            return None
        try:
            code, at, reason, message = record.strip(" \n").split("\t")
            return Ended(int(code) if code else None, datetime.fromtimestamp(float(at), UTC), reason, message)
        except ValueError:
            return Ended(None, datetime.now(UTC), LOST, "the record of its end is unreadable")

    def settle(self, reason: str, message: str, code: int | None = None) -> Ended:
        """Records the end, unless there is a record. Returns the recorded end."""
        number = "" if code is None else str(code)
        record = f"{number}\t{time.time():f}\t{reason}\t{message}".encode("utf-8", "replace")
        self._once("exit", record)
        return self.ended() or Ended(code, datetime.now(UTC), reason, message)

    def forbid(self) -> None:
        """Makes sure that a container which is not a process yet never becomes one."""
        if self._once("claim", _VOID):
            self.settle(NEVER, "stopped before it was started")
        else:
            self._once("started", _VOID)

    def prepare(self, launch: ContainerLaunch) -> None:
        """Writes what the shim needs to the folder. Raises Refused, OSError."""
        env = [f"{name}={value}" for name, value in launch.env.items()]
        parts = [launch.folder, str(self.log), self.marker, str(len(launch.argv)), *launch.argv, *env]
        if any("\0" in text for text in parts):
            raise Refused(422, "Invalid", f'container "{launch.name}": NUL in an argument or variable')
        (self.folder / "run").write_bytes(b"".join(os.fsencode(text) + b"\0" for text in parts))

    def _once(self, name: str, content: bytes) -> bool:
        mine = self.folder / f"{name}.jobledger"
        mine.write_bytes(content)
        try:
            os.link(mine, self.folder / name)
        except FileExistsError:
            return False
        finally:
            mine.unlink()
        return True


async def run(
    container: ContainerFolder, launch: ContainerLaunch | None, on_start: Callable[[], None]
) -> Ended:
    """Starts the container, unless it was started before, and waits for its end.

    `launch` may be None for a container that has been claimed. `on_start` is called when its process runs.
    Cancelling does not stop the container.
    """
    ended = container.ended()
    if ended is not None:
        return ended
    if not container.claimed and launch is not None:
        container.prepare(launch)
        failure = await _start(container)
        if not container.claimed and container.ended() is None:
            return container.settle(START_ERROR, failure, 128)
    else:
        await _adopt(container)
    if container.ended() is None and container.process() is not None:
        on_start()
    return await _end(container)


async def _start(container: ContainerFolder) -> str:
    """Runs the shim. Returns its error if it could not start the container."""
    read, write = os.pipe()
    try:
        arguments = [sys.executable, "-I", "-S", shim.__file__, str(container.folder)]
        pid = processes.spawn(arguments, write)
    except OSError as error:
        os.close(read)
        return f"no process can be made: {error.strerror}"
    finally:
        os.close(write)
    output = (await processes.closed(read)).decode("utf-8", "replace")
    if not container.claimed:
        await processes.gone(Process.of(pid))
    return output or "the supervising process ended before it could claim the container"


async def _adopt(container: ContainerFolder) -> None:
    """Waits until a container that another jobledger started runs or has ended."""
    starter = container.shim()
    while starter is not None and starter.is_alive():
        if container.process() is not None or container.ended() is not None:
            return
        await asyncio.sleep(0.02)


async def _end(container: ContainerFolder) -> Ended:
    """Waits for the record of the end; if its writer is gone, records what is known."""
    starter = container.shim()
    if starter is not None:
        await processes.gone(starter)
    if (ended := container.ended()) is not None:
        return ended
    container.forbid()  # from here on, it is a process already or never becomes one
    first = container.process()
    if first is not None:
        await processes.gone(first)
    processes.kill_marked(container.marker)
    return container.settle(LOST, "its supervising process is gone and left no record of the end")


async def stop(container: ContainerFolder, grace: float) -> None:
    """Ends all processes of the container: sends SIGTERM, and SIGKILL after `grace` seconds."""
    with contextlib.suppress(OSError):  # on a full disk a shim cannot start a container either
        container.forbid()
    first = container.process()
    if first is None or container.ended() is not None:
        return
    processes.signal_group(first, signal.SIGTERM)
    try:
        async with asyncio.timeout(grace):
            await processes.gone(first)
    except TimeoutError:
        processes.signal_group(first, signal.SIGKILL)
        processes.kill_marked(container.marker)
        await processes.gone(first)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
