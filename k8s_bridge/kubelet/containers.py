"""One container of a local pod: started once, watched, stopped, found again. The other side of `shim`.

All that is known lies in the container's folder, so a new jobledger sees exactly what the old one saw. Every
decision is a file that can be made only once: who starts the container (`claim`), whether it became a process
(`started`), how it ended (`exit`).
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
"""Environment variable of every process of a container: pod uid, slash, container name."""

LOST = "ContainerStatusLost"
"""Reason of a container that was started and whose end nobody has seen."""

START_ERROR = "StartError"
"""Reason of a container that could not be started this time."""

NEVER = "NeverStarted"
"""Reason of a container that was stopped before its start."""

_VOID = b"void"


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to run: arguments, whole environment, working directory."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    folder: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a container ended. `code` is None if nobody knows."""

    code: int | None
    at: datetime
    reason: str
    message: str = ""

    @property
    def well(self) -> bool:
        """With exit code 0."""
        return self.code == 0


class ContainerFolder:
    """A container as its folder tells it."""

    def __init__(self, folder: Path, log: Path, marker: str) -> None:
        self.folder, self.log, self.marker = folder, log, marker

    @property
    def claimed(self) -> bool:
        """Somebody has, or had, the right to start it; nobody else ever gets it."""
        return (self.folder / "claim").exists()

    def shim(self) -> Process | None:
        """The shim that claimed it."""
        return Process.read(_text(self.folder / "claim"))

    def process(self) -> Process | None:
        """The container's first process, if it ever was one."""
        return Process.read(_text(self.folder / "started"))

    def started_at(self) -> datetime | None:
        """When the first process started; None while there was none."""
        parts = _text(self.folder / "started").split()
        return datetime.fromtimestamp(float(parts[3]), UTC) if len(parts) > 3 else None

    def ended(self) -> Ended | None:
        """How it ended; None as long as no record says so. A record that was torn by a crash says LOST."""
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
        """The end is on record: this one, or the one that was there before."""
        number = "" if code is None else str(code)
        record = f"{number}\t{time.time():f}\t{reason}\t{message}".encode("utf-8", "replace")
        self._once("exit", record)
        return self.ended() or Ended(code, datetime.now(UTC), reason, message)

    def forbid(self) -> None:
        """The container, if it is not a process yet, never becomes one."""
        if self._once("claim", _VOID):
            self.settle(NEVER, "stopped before it was started")
        else:
            self._once("started", _VOID)

    def prepare(self, launch: Launch) -> None:
        """Everything that the shim needs is in the folder. Raises Refused, OSError."""
        env = [f"{name}={value}" for name, value in launch.env.items()]
        parts = [launch.folder, str(self.log), self.marker, str(len(launch.argv)), *launch.argv, *env]
        if any("\0" in each for each in parts):
            raise Refused(422, "Invalid", f'container "{launch.name}": NUL in an argument or variable')
        (self.folder / "run").write_bytes(b"".join(os.fsencode(each) + b"\0" for each in parts))

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


async def run(container: ContainerFolder, launch: Launch | None, on_start: Callable[[], None]) -> Ended:
    """How the container ended, after starting it unless that was done before.

    `launch` may be None for a container that has been claimed. `on_start` is called when its process runs.
    Cancelling leaves the container alone.
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
    """The shim has done what it could; what it said when it could do nothing."""
    read, write = os.pipe()
    try:
        arguments = [sys.executable, "-I", "-S", shim.__file__, str(container.folder)]
        pid = processes.spawn(arguments, write)
    except OSError as error:
        os.close(read)
        return f"no process can be made: {error.strerror}"
    finally:
        os.close(write)
    said = (await processes.closed(read)).decode("utf-8", "replace")
    if not container.claimed:
        await processes.gone(Process.of(pid))
    return said or "the supervising process ended before it could claim the container"


async def _adopt(container: ContainerFolder) -> None:
    """Wait until a container that another jobledger started has come as far as running, or to its end."""
    starter = container.shim()
    while starter is not None and starter.is_alive():
        if container.process() is not None or container.ended() is not None:
            return
        await asyncio.sleep(0.02)


async def _end(container: ContainerFolder) -> Ended:
    """Wait for the record of the end; where its writer is gone, make out what can be known."""
    starter = container.shim()
    if starter is not None:
        await processes.gone(starter)
    if (ended := container.ended()) is not None:
        return ended
    container.forbid()  # from here on, it is a process already or never will be
    first = container.process()
    if first is not None:
        await processes.gone(first)
    processes.kill_marked(container.marker)
    return container.settle(LOST, "its supervising process is gone and left no record of the end")


async def stop(container: ContainerFolder, grace: float) -> None:
    """No process of the container is left: asked to end, and killed after `grace` seconds."""
    with contextlib.suppress(OSError):  # without room for this, a shim has none for a start either
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
