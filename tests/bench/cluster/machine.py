"""Whose seconds of the processors, and whose memory: read from /proc."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple, Self

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_IDLE: Final = slice(3, 5)
"""Idle and waiting for a disk, among the figures of /proc/stat."""


def family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and (fields := _stat(int(path.name))):
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    pids = [pid]
    for known in pids:
        pids += parents.get(known, [])
    return pids


def cpu(pids: Iterable[int]) -> float:
    """Seconds of processor time that the processes have used so far, with those of children that have ended."""
    fields = [_stat(pid) for pid in pids]
    return sum(sum(int(number) for number in field[11:15]) for field in fields if field) / _TICKS


def peak_memory(pids: Iterable[int]) -> float:
    """MiB that the processes have had in memory at most, each at its own worst moment."""
    total = 0
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return total / 1024


class Busy(NamedTuple):
    """A moment: when (time.perf_counter), and the processors' busy seconds so far."""

    at: float
    busy: float

    @classmethod
    def now(cls) -> Self:
        """This moment."""
        line = Path("/proc/stat").read_text().partition("\n")[0]
        ticks = [int(part) for part in line.split()[1:9]]
        return cls(time.perf_counter(), (sum(ticks) - sum(ticks[_IDLE])) / _TICKS)

    def others(self, ours: float) -> float:
        """The share of all processors that others had since this moment, if `ours` is our own time."""
        now = Busy.now()
        return max(0.0, now.busy - self.busy - ours) / (now.at - self.at) / (os.cpu_count() or 1)


def _stat(pid: int) -> list[str]:
    """The fields of /proc/pid/stat after the name: state, parent …; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
