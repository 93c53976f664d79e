"""What the whole test run obeys: nothing skips where everything was installed."""

import logging
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from jobledger.telemetry.log_lines import OUR_PACKAGES

pytest_plugins = ["tests.harness.fixtures", "tests.harness.groups", "tests.support.seeds"]


@pytest.fixture(autouse=True)
def _fresh_loggers() -> None:
    """What commands and libraries that ran in this process want to hear of is no matter of this test."""
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.partition(".")[0] in (*OUR_PACKAGES, "aiokafka"):
            logger.setLevel(logging.NOTSET)
            logger.disabled, logger.propagate = False, True


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # a run in the background of a script ignores Ctrl-C, and every program that a test starts would, too
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What stands in the folder of integration tests is one: `-m "not integration"` needs no program but Python."""
    folder = Path(__file__).parent / "integration"
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.integration)


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
