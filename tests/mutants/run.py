"""Runs of pytest, each in a process of its own: one without a mutant, then one a mutant.

The processes are forked from one that has imported the libraries, but no module of the product: half the time that a
start takes, and nothing of the product that a mutant could come too late for.
"""

import contextlib
import ctypes
import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Final

from tests.mutants.model import Mutant, Stale
from tests.mutants.table import TIMEOUT, Outcome, Verdict

LIMIT: Final = 120.0
"""Seconds after which a mutant counts as killed: something waits for what it no longer does.

On a machine that is busy with other things as many times more as processes wait for each processor.
"""

UNUSED: Final = 90
"""As in the plugin, which is not imported here."""

_LIBRARIES: Final = (
    *("pytest", "hypothesis.strategies", "pydantic", "transitions", "fastapi", "httpx", "jinja2"),
    *("yaml", "typer", "rich.console", "cryptography.x509", "prometheus_client", "starlette.testclient"),
)
_PR_SET_PDEATHSIG: Final = 1
"""Source: prctl(2)."""

_FORK: Final = multiprocessing.get_context("fork")
_OPTIONS: Final = (
    *("-x", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.plugin", "--timeout=0"),
    *("-m", "not integration"),  # a port's suite has cases of real servers, too
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of libraries that were imported before the fork
)


@dataclass
class Running:
    """A run of pytest that was forked; what it prints goes to a file."""

    process: ForkProcess
    output: Path
    since: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds until it is given up."""
        busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        return max(0.0, self.since + LIMIT * busy - time.monotonic())

    @property
    def first_failure(self) -> str:
        """The test that failed, as pytest's summary names it."""
        lines = self.output.read_text(encoding="utf-8", errors="replace").splitlines()
        # what tests log begins with a level, which may be ERROR
        summary = (line for line in lines if line.startswith(("FAILED tests", "ERROR tests")))
        return next((line.removeprefix("FAILED ") for line in summary), "")

    def kill(self) -> None:
        """It and what it started have ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.join()


def warm_up() -> None:
    """Imports what every run needs and no mutant changes."""
    with warnings.catch_warnings(action="ignore"):
        for name in _LIBRARIES:
            importlib.import_module(name)


def start(tests: Sequence[str], mutant: str, output: Path) -> Running:
    """A run of `tests` with the mutant of this name, or with none if it is empty."""
    process = _FORK.Process(target=_child, args=(tests, mutant, output))
    process.start()
    return Running(process, output)


def _child(tests: Sequence[str], mutant: str, output: Path) -> None:
    os.setsid()
    if sys.platform == "linux":
        _end_with_parent()
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if mutant:
        os.environ["JOBLEDGER_MUTANT"] = mutant
    import pytest

    code = pytest.main([*_OPTIONS, *tests])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


def _end_with_parent() -> None:
    """This process is killed when the run of mutants ends: a mutant that never ends would go on by itself."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def baseline(mutants: Sequence[Mutant], folder: Path) -> str:
    """Runs every test that a mutant names, without a mutant. The end of what it printed, if one failed."""
    tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    running = start(tests, "", folder / "baseline.txt")
    running.process.join()
    return "" if running.process.exitcode == 0 else running.output.read_text(encoding="utf-8")[-4000:]


def verdicts(mutants: Sequence[Mutant], jobs: int) -> Iterator[Verdict]:
    """A verdict a mutant, as they come; `jobs` run at once."""
    waiting = list(reversed(mutants))
    running: dict[int, tuple[Mutant, Running]] = {}
    with tempfile.TemporaryDirectory() as name:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    mutant = waiting.pop()
                    try:
                        mutant.check()
                    except Stale as stale:
                        yield Verdict(mutant, Outcome.STALE, str(stale))
                        continue
                    one = start(mutant.tests, mutant.name, Path(name) / mutant.name.replace("/", "-"))
                    running[one.process.sentinel] = mutant, one
                if running:
                    wait(list(running), min(one.left for _, one in running.values()))
                for sentinel, (mutant, one) in list(running.items()):
                    if not one.process.is_alive() or not one.left:
                        del running[sentinel]
                        yield _judged(mutant, one)
        finally:
            for _, one in running.values():
                one.kill()


def _judged(mutant: Mutant, running: Running) -> Verdict:
    seconds = time.monotonic() - running.since
    over = running.process.is_alive()
    if over:
        running.kill()
    return Verdict(mutant, *outcome_of(mutant, None if over else running.process.exitcode, running), seconds)


def outcome_of(mutant: Mutant, code: int | None, running: Running) -> tuple[Outcome, str]:
    """What the exit code of a run says of the mutant; None: it did not end."""
    match code:
        case 0 if mutant.equivalent:
            return Outcome.EQUIVALENT, mutant.equivalent
        case 0:
            return Outcome.SURVIVED, ""
        case 1 | None if mutant.equivalent:
            return (
                Outcome.STALE,
                f"said to be equivalent, and {running.first_failure or TIMEOUT} tells it",
            )
        case None:
            return Outcome.KILLED, TIMEOUT
        case 1 if "::" in running.first_failure:
            return Outcome.KILLED, running.first_failure
        case _ if code == UNUSED:
            return Outcome.STALE, "its tests do not import the module"
        case _:
            tail = running.output.read_text(encoding="utf-8", errors="replace").strip()[-1500:]
            return Outcome.STALE, f"exit code {code} of pytest\n{tail}"
