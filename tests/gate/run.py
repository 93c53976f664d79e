"""One phase of the gate: pytest in several processes; what failed runs again, three times, by itself.

A failure that comes back is one. A failure that does not come back is one as well, if the change touches the test's
file or a module that it imports. Otherwise the test is flaky: the run is green, and says so.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.gate.changed import ROOT, base, changed_files, dependencies
from tests.gate.flaky import OUT, Flake, keep
from tests.gate.report import Outcome, Run

REPEATS: Final = 3

MOST: Final = 10
"""A run with as many failures stops at once, and is red: so many tests are not flaky at the same time."""

PHASES: Final = {"fast": "not integration", "integration": "integration"}
"""Which tests are whose: without servers, and with them."""

PROCESSES: Final = {"fast": 3, "integration": 4}
"""On two cores: a test with a server waits for about half of its time."""

Pytest = Callable[[Sequence[str]], int]
"""Runs pytest with these arguments; its exit code."""


def run(phase: str, arguments: Sequence[str], pytest: Pytest | None = None, out: Path = OUT) -> int:
    """The exit code of a phase: 0, pytest's own, or 1 for failures that stay."""
    pytest = pytest or _pytest
    report = out / f"{phase}.json"
    report.unlink(missing_ok=True)
    files = ["-p", "tests.gate.report", f"--gate-report={report}", f"--junitxml={report.with_suffix('.xml')}"]
    code = pytest([*spread(phase), "-m", PHASES[phase], f"--maxfail={MOST}", *files, *arguments])
    done = Run.read(report)
    if code != 1 or done is None or not 0 < len(done.failed) < MOST:
        return code
    _say(f"{len(done.failed)} failed; each runs {REPEATS} times more, by itself")
    touched = changed_files(base())
    flaky, stays = list[Outcome](), 0
    for test in done.failed:
        verdict = _verdict(test, touched, pytest)
        _say(f"{verdict or 'flaky'}: {test.id}")
        stays += bool(verdict)
        flaky += [test] * (not verdict)
    keep([Flake(test.id, _now(), _commit(), test.text) for test in flaky], out)
    return _end(done, flaky, stays)


def spread(phase: str) -> list[str]:
    """How pytest shares the tests out: tests of one group in one process, in our order."""
    workers = os.environ.get("JOBLEDGER_TEST_WORKERS") or str(PROCESSES[phase])
    return ["-n", workers, "--dist", "loadgroup", "--no-loadscope-reorder"]


def _verdict(test: Outcome, touched: set[Path], pytest: Pytest) -> str:
    """Why a failure stays one; empty if it is flaky."""
    file = Path(test.id.partition("::")[0])
    for repeat in range(1, REPEATS + 1):
        if pytest(["-q", test.id]):
            return f"failed again at repeat {repeat}"
    if changed := sorted(map(str, dependencies(file) & touched)):
        return f"passed {REPEATS} repeats, but this change touches {', '.join(changed)}"
    return ""


def _end(done: Run, flaky: Sequence[Outcome], stays: int) -> int:
    if flaky:
        _say(f"flaky, and in need of a row in tests/flaky.md: failed once, then passed {REPEATS} times")
        for test in flaky:
            print(f"   {test.id}")
    passed = sum(test.outcome == "passed" for test in done.tests)
    skipped = sum(test.outcome == "skipped" for test in done.tests)
    print(f"\n{passed + len(flaky)} passed, {stays} failed, {skipped} skipped")
    return int(stays > 0)


def _pytest(arguments: Sequence[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
