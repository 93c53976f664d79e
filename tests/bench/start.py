"""What a start costs: the processor time of short commands, and of a server until it is ready.

Processor time, user and system, and not the time on the clock: other programs on the machine hardly change it.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from statemachine.log.sqlite import SqliteLog
from tests.bench.histories import history
from tests.bench.results import Result

_RUNS: Final = 9
_READY_WITHIN: Final = 60.0
_MANIFEST: Final = Path("examples/digits.yaml")
_LONE: Final = ("--version",), ("controller", "--help"), ("validate", str(_MANIFEST))
_GOALS: Final = {
    "--version": 0.06,
    "controller --help": 0.20,
    f"validate {_MANIFEST}": 0.22,
    "history": 0.22,
    "get": 0.18,
    "serve": 0.60,
}
"""Seconds of processor time, at most."""


def starts() -> Iterator[Result]:
    """Milliseconds of processor time of each command, compiled modules on the disk."""
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        store = Path(folder) / "store.db"
        asyncio.run(_write_history(store))
        for command in _LONE:
            yield _result(" ".join(command), partial(_ended, command))
        asked = ("history", "job-0", "--namespace", "bench", "--store", str(store))
        yield _result("history", partial(_ended, asked))
        server = Path(folder) / "server.db"
        with _serving(server):
            yield _result("get", partial(_ended, ("get", "--store", str(server))))
        yield _result("serve", partial(_until_ready, server), "until /readyz answers")


def _result(name: str, measure: Callable[[], float], note: str = "") -> Result:
    measure()
    values = tuple(measure() * 1000 for _ in range(_RUNS))
    return Result(f"start: {name}", "ms CPU", values, _GOALS[name] * 1000, "most", note)


async def _write_history(store: Path) -> None:
    log = await SqliteLog.open(store)
    try:
        await log.append([moment.draft for moment in history(0)])
    finally:
        await log.close()


def _started(arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
    settings = {name: value for name, value in os.environ.items() if not name.startswith("JOBLEDGER_")}
    command = [sys.executable, "-m", "jobledger", *arguments]
    return subprocess.Popen(command, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _ended(arguments: Sequence[str]) -> float:
    """Seconds of processor time that the command took, from its start to its end."""
    process = _started(arguments)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{arguments} ended with {process.returncode}"
    return usage.ru_utime + usage.ru_stime


def _until_ready(store: Path) -> float:
    """Seconds of processor time that a server took until it was ready."""
    with _serving(store) as seconds:
        return seconds


@contextmanager
def _serving(store: Path) -> Iterator[float]:
    """A server, while the block runs; gives the seconds of processor time that it took until it was ready."""
    with _started(("serve", "--store", str(store))) as process:
        try:
            address = store.with_name(f"{store.name}.sock")
            deadline = time.monotonic() + _READY_WITHIN
            while not _is_ready(address):
                assert process.poll() is None, "the server has ended"
                assert time.monotonic() < deadline, "the server does not become ready"
                time.sleep(0.02)
            yield _spent(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)


def _is_ready(address: Path) -> bool:
    """/readyz answers 200. A bare socket, so that the question costs the server as little as it can."""
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(str(address))
            asking.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return asking.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False


def _spent(pid: int) -> float:
    """Seconds of processor time, user and system, of a process that runs. Source: proc(5), fields 14 and 15."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
