"""Processes of local pods outlive the server that started them, as they should; a test's have to end with it."""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from k8s_bridge.kubelet.containers import MARKER

SECONDS = 60.0


def end_pods(folder: Path) -> None:
    """No process of any pod whose data folder is below `folder` is left.

    Servers have to have ended before, or they would start what was ended again.
    """
    deadline = time.monotonic() + SECONDS
    while pids := pods_processes(folder):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert time.monotonic() < deadline, f"processes of pods do not end: {pids}"
        time.sleep(0.02)


def pods_processes(folder: Path) -> set[int]:
    """Processes with a pod's mark in their environment, or its folder in their command line, and their descendants.

    The second finds the shims, and sshd, which writes over its environment.
    """
    uids = [marked.name for depth in ("pods/*", "*/pods/*", "*/*/pods/*") for marked in folder.glob(depth)]
    if not uids:
        return set()
    marks = re.compile(rf"(^|\0){MARKER}=({'|'.join(map(re.escape, uids))})/".encode())
    paths = re.compile(rf"/pods/({'|'.join(map(re.escape, uids))})/".encode())
    pids, children = set(), dict[int, list[int]]()
    for process in _processes():
        pid = int(process.name)
        with suppress(OSError):
            children.setdefault(_parent(process), []).append(pid)
            if paths.search((process / "cmdline").read_bytes()) or marks.search(
                (process / "environ").read_bytes()
            ):
                pids.add(pid)
    todo = list(pids)
    while todo:
        new = set(children.get(todo.pop(), ())) - pids
        pids |= new
        todo += new
    return {pid for pid in pids if pid != os.getpid() and _is_alive(pid)}


def _processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _parent(process: Path) -> int:
    return int((process / "stat").read_text().rpartition(")")[2].split()[1])


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
