"""What the whole test run obeys: nothing skips where everything was installed."""

import os
import signal
from collections.abc import Generator

import pytest

pytest_plugins = ["tests.harness.fixtures"]


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # a run in the background of a script ignores Ctrl-C, and every program that a test starts would, too
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With JOBLEDGER_REQUIRE_ALL a skipped test is a failed one: the machine was said to have everything."""
    report = yield
    required = os.environ.get("JOBLEDGER_REQUIRE_ALL") == "1"
    if required and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"this test must run here, and was skipped: {reason}"
    return report
