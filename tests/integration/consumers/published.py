"""A ledger with three jobs, its public events, and consumers as processes."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Final

from tests.harness import program
from tests.unit.cli_offline.conftest import deleted, failed, job, write

ROOT: Final = Path(__file__).parents[3]
CONSUMERS: Final = ROOT / "examples" / "consumers"


def ledger(folder: Path) -> Path:
    """A store with a job that is gone, one that failed after a restart, and one whose pods are refused."""
    path = folder / "ledger.db"
    refused = job("quota", "cccc-3333").submit().refused(status_=403, message="no quota")
    write(path, deleted(), failed(), refused)
    return path


def exported(store: Path) -> list[str]:
    """All its public events, a line each."""
    done = program.run("events", "export", "--store", str(store), "--to", "-")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@contextmanager
def running(*command: str, env: dict[str, str] | None = None) -> Iterator["Lines"]:
    """A consumer as a process as long as the block lasts, and the lines that it prints."""
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        lines = Lines(process)
        try:
            yield lines
        finally:
            process.kill()
            lines.reader.join(60)  # before what it reads is closed


class Lines:
    """What a process prints, as it does."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.all: list[str] = []
        self._queue: Queue[str | None] = Queue()
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def until(self, is_it: Callable[[str], bool], within: float = 60) -> str:
        """The first line of which this is true, of those that were not asked for yet."""
        end = time.monotonic() + within
        while True:
            try:
                line = self._queue.get(timeout=max(0, end - time.monotonic()))
            except Empty:
                line = None
            if line is None:
                raise AssertionError("\n".join(["it printed only:", *self.all]))
            self.all.append(line)
            if is_it(line):
                return line


def consumer(name: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs one of the examples in Python."""
    return (sys.executable, "-u", str(CONSUMERS / name), *arguments)
