"""What a run of pytest leaves behind: `-p tests.gate.report --gate-report FILE` writes every test with its outcome.

The file is JSON: `{"code": exit code, "seconds": …, "tests": [{"id", "outcome", "seconds", "worker", "group", "slow",
"text"}]}`. `seconds` of a test are those of its setup, call and teardown; `text` is what pytest says of a failure.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import pytest

SLOWEST: Final = 20
"""How many tests the summary names."""

_TEXT: Final = 4_000
"""Characters kept of a failure."""


@dataclass
class Outcome:
    """One test of a run; `group` is the server it shares on one worker, if it has one."""

    id: str
    outcome: str = "passed"
    seconds: float = 0.0
    worker: str = ""
    group: str = ""
    slow: bool = False
    text: str = ""


@dataclass
class Run:
    """A run of pytest, read back."""

    code: int
    seconds: float
    tests: list[Outcome]

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """The run that wrote `file`; None if it never came to its end."""
        if not file.exists():
            return None
        written = json.loads(file.read_text(encoding="utf-8"))
        return cls(written["code"], written["seconds"], [Outcome(**test) for test in written["tests"]])

    @property
    def failed(self) -> list[Outcome]:
        """The tests that failed or could not be set up, in the order of the run."""
        return [test for test in self.tests if test.outcome == "failed"]


class Recorder:
    """Collects the reports of a run; with xdist in the process that hands the tests out."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tests: defaultdict[str, Outcome] = defaultdict(lambda: Outcome(""))
        self._began = time.monotonic()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be imported is a failed test of its name."""
        if report.failed:
            self._tests[report.nodeid] = Outcome(report.nodeid, "failed", text=report.longreprtext[-_TEXT:])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setup, call and teardown of a test are one line."""
        name, group = split(report.nodeid)
        test = self._tests[name]
        test.id, test.group = name, group
        test.seconds = round(test.seconds + report.duration, 3)
        test.worker = getattr(report, "worker_id", "") or test.worker
        test.slow = "slow" in report.keywords
        if report.failed:
            test.outcome, test.text = "failed", report.longreprtext[-_TEXT:]
        elif report.skipped and test.outcome == "passed":
            test.outcome = "skipped"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """The file is whole, or not there."""
        tests = [asdict(test) for test in self._tests.values()]
        seconds = round(time.monotonic() - self._began, 1)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_suffix(".part")
        draft.write_text(json.dumps({"code": int(exitstatus), "seconds": seconds, "tests": tests}, indent=1))
        draft.replace(self._file)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Above pytest's own summary: how the work was shared, and the slowest tests."""
        terminalreporter.section("workers and groups")
        for line in shares(self._tests.values()):
            terminalreporter.write_line(line)
        terminalreporter.section(f"slowest {SLOWEST}")
        for test in slowest(self._tests.values()):
            terminalreporter.write_line(f"{test.seconds:7.1f} s  {test.id}")


def split(nodeid: str) -> tuple[str, str]:
    """A test's id, and its group: xdist writes that behind an @, and we servers that it wants behind a +."""
    if nodeid.rfind("@") > nodeid.rfind("]"):
        name, _, mark = nodeid.rpartition("@")
        return name, mark.partition("+")[0]
    return nodeid, ""


def slowest(tests: Iterable[Outcome]) -> list[Outcome]:
    """The tests that took longest, the longest first."""
    return sorted(tests, key=lambda test: (-test.seconds, test.id))[:SLOWEST]


def shares(tests: Iterable[Outcome]) -> list[str]:
    """A line for each worker, then one for each group, with the number of tests and their seconds."""
    count, seconds = Counter[str](), Counter[str]()
    for test in tests:
        for name in (f"worker {test.worker or 'main'}", f"group {test.group}" if test.group else ""):
            count[name] += 1
            seconds[name] += test.seconds  # type: ignore[assignment]  # a Counter of floats adds up as well
    names = sorted(filter(None, count), key=lambda name: (name.startswith("group"), -seconds[name]))
    return [f"{seconds[name]:7.0f} s  {count[name]:5d} tests  {name}" for name in names]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one option."""
    parser.addoption("--gate-report", type=Path, help="write outcome and seconds of every test to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Workers report to the process that started them; only that one writes."""
    if (file := config.getoption("--gate-report")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(file), "gate-recorder")
