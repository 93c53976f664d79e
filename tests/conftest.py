"""What the whole test run obeys: nothing skips where everything was installed."""

import logging
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from jobledger.telemetry.log_lines import OUR_PACKAGES

INTEGRATION: Final = Path(__file__).parent / "integration"
"""The folder of tests that all start real programs."""

PORTS: Final = Path(__file__).parent / "ports"
"""The only other folder that has some."""

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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m integration` or `-m "not integration"` folders without such tests are not imported.

    Each process of a run would import all of them, for half a minute of processor time.
    """
    match config.option.markexpr:
        case "not integration" if collection_path == INTEGRATION:
            return True
        case "integration" if collection_path.match("test_*.py") and not _may_be_integration(collection_path):
            return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What stands in the folder of integration tests is one: `-m "not integration"` needs no program but Python."""
    for item in items:
        if INTEGRATION in item.path.parents:
            item.add_marker(pytest.mark.integration)
        elif item.get_closest_marker("integration") and not _may_be_integration(item.path):
            raise pytest.UsageError(
                f"{item.nodeid} is an integration test: move it to {INTEGRATION} or {PORTS}"
            )


def _may_be_integration(file: Path) -> bool:
    return not {INTEGRATION, PORTS}.isdisjoint(file.parents)


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
