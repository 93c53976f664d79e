"""The controller as a process over a cluster: started, killed, started again over the same log."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Final, Self

from jobledger.settings.loading import PREFIX
from tests.harness import Cluster, program

_GRACE: Final = 90.0
"""Seconds that an orderly end may take before it counts as a hang."""

_QUICK: Final = {f"{PREFIX}RESTART__BACKOFF": "200ms", f"{PREFIX}RESTART__BACKOFF_MAX": "1s"}
"""Tests break pods more often than a fault does, and cannot wait for minutes."""


class ControllerProcess:
    """`jobledger controller` on `cluster`, its log in `folder` or at `log`; a `with` block starts and ends it.

    It is forked unless `real` is true; see `tests.harness.program`. With `within` that command starts it.
    """

    def __init__(
        self, cluster: Cluster, folder: Path, *options: str, log: str = "", **variables: str
    ) -> None:
        self.store = folder / "ledger.db"
        self._log = log
        self.real = False
        self.within: tuple[str, ...] = ()
        self._said = folder / "controller.log"
        others = {name: value for name, value in cluster.environment.items() if not name.startswith(PREFIX)}
        self._environment = {**others, **_QUICK, **variables}
        self._cluster, self._options = cluster, options
        self._began = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def said(self) -> str:
        """Everything that it has written so far."""
        return self._said.read_text(encoding="utf-8", errors="replace") if self._said.exists() else ""

    @property
    def latest(self) -> str:
        """What it has written since it was started last."""
        return self.said[self._began :]

    @property
    def is_running(self) -> bool:
        """It was started, and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def is_working(self) -> bool:
        """It has begun to do what it is there for, and lives."""
        return self.is_running and "action=working" in self.latest

    def start(self) -> Self:
        """It runs; one that runs already is left alone."""
        if not self.is_running:
            self._began = len(self.said)
            with self._said.open("ab") as said:
                self._process = self._started(said)
        return self

    def _started(self, said: IO[bytes]) -> subprocess.Popen[bytes]:
        if self.within:
            command = [*self.within, sys.executable, "-m", "jobledger", *self._words()]
            return subprocess.Popen(command, stdout=said, stderr=said, env=self._environment)
        words = self._words()
        return program.start(*words, stdout=said, stderr=said, env=self._environment, real=self.real)

    def kill(self) -> bool:
        """Kill -9; whether it hit a process that worked."""
        hit = self.is_working
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        return hit

    def freeze(self) -> None:
        """It does nothing any more, and its connections stay open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """An orderly end; its exit code. One that hangs is killed, and fails with what it said."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no end within {_GRACE:.0f} s of SIGTERM:\n{self.latest}") from None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _words(self) -> list[str]:
        return [
            *(
                "controller",
                "--kubeconfig",
                str(self._cluster.kubeconfig),
                "--log",
                self._log or f"sqlite://{self.store}",
            ),
            *("--listen", "127.0.0.1:0"),
            *self._options,
        ]
