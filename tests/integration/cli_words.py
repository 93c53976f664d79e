"""What the tests of the command line say: the program as users start it, on a store of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from jobledger.settings.locations import socket_path
from tests.harness import program

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0
"""How long anything may take; far more than it does, for machines that do much else."""


def environment(**more: str) -> dict[str, str]:
    """Ours without settings of jobledger, and with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JOBLEDGER_")}
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **more}


@dataclass
class Place:
    """A folder with a store, and the program started in it."""

    folder: Path
    env: dict[str, str] = field(default_factory=environment)

    @property
    def store(self) -> Path:
        """Where the store is, or will be."""
        return self.folder / "ledger.db"

    def words(self, *arguments: str, store: bool = True) -> list[str]:
        """The arguments of a command; verbs get this store."""
        return [*arguments, *(["--store", str(self.store)] if store else [])]

    def command(self, *arguments: str, store: bool = True) -> list[str]:
        """A command line, for a real start by other means than `run` and `start`."""
        return [sys.executable, "-m", "jobledger", *self.words(*arguments, store=store)]

    def run(self, *arguments: str, store: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """The command, done."""
        words = self.words(*arguments, store=store)
        return program.run(*words, sent=stdin, within=SECONDS, cwd=self.folder, env=self.env)

    def ok(self, *arguments: str) -> str:
        """What a command printed that must succeed."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def is_served(self) -> bool:
        """A server answers; without one `get` would read the store."""
        return self.run("get", "--server", str(socket_path(self.store))).returncode == 0

    def start(self, *arguments: str, real: bool = False) -> subprocess.Popen[str]:
        """The command, running; its output in one stream."""
        return program.start(
            *self.words(*arguments),
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            real=real,
        )

    def write(self, name: str, *manifests: dict[str, Any]) -> str:
        """The name of a file with these manifests."""
        (self.folder / name).write_text(yaml.safe_dump_all(manifests))
        return name

    @contextmanager
    def server(self, *arguments: str, real: bool = False) -> Iterator[subprocess.Popen[str]]:
        """`jobledger serve`, ready; asked to end at the end."""
        process = self.start("serve", *arguments, real=real)
        try:
            wait_until(lambda: self.is_served() or process.poll() is not None)
            assert process.poll() is None, process.communicate()[0]
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)


def script(name: str, text: str, *, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    """A job whose replicas run a line of Python."""
    container = {"name": "python", "image": "none", "command": [sys.executable, "-u", "-c", text]}
    types = [{"type": "worker", "replicas": replicas, "template": {"spec": {"containers": [container]}}}]
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": types, **spec},
    }


def wait_until(claim: Callable[[], object], what: str = "it") -> None:
    """`claim` is true in time."""
    deadline = time.monotonic() + SECONDS
    while not claim():
        assert time.monotonic() < deadline, f"{what} did not come true within {SECONDS:.0f} s"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """The process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in ("Z", "X")


ESCAPE = re.compile(r"\x1b")


def says_once(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    """The command ended with `code`, one sentence on standard error that has all `parts`, and no traceback."""
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for part in parts:
        assert part in done.stderr, done.stderr
