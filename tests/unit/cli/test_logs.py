"""Log lines: for people and for machines."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from jobledger.settings.sections import LogSettings
from jobledger.telemetry.log_lines import configure


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for package in ("jobledger", "projectors", "k8s_bridge", "statemachine", "aiokafka"):
        logging.getLogger(package).setLevel(logging.NOTSET)


def _logged(settings: LogSettings, logger: str = "jobledger.test", level: int = logging.WARNING) -> str:
    stream = io.StringIO()
    configure(settings, stream)
    logging.getLogger(logger).log(level, "the log waits", extra={"action": "wait", "job": "u-1"})
    return stream.getvalue()


def test_a_console_line_has_the_message_and_its_fields() -> None:
    line = _logged(LogSettings())
    assert "WARNING the log waits  action=wait job=u-1" in line
    assert line.count("\n") == 1


def test_a_json_line_has_the_fields_beside_the_message() -> None:
    fields = json.loads(_logged(LogSettings(format="json")))
    assert fields["message"] == "the log waits"
    assert (fields["action"], fields["job"], fields["level"]) == ("wait", "u-1", "warning")


def test_what_is_less_severe_than_the_level_is_not_shown() -> None:
    assert _logged(LogSettings(level="error")) == ""


def test_what_the_kafka_client_repeats_at_every_attempt_is_only_for_who_asks_for_everything() -> None:
    for level in (logging.INFO, logging.WARNING, logging.ERROR):
        assert _logged(LogSettings(), "aiokafka.client", level) == ""
    assert _logged(LogSettings(level="debug"), "aiokafka.client") != ""


def test_debug_is_for_our_own_packages_only() -> None:
    assert _logged(LogSettings(level="debug"), level=logging.DEBUG) != ""
    assert _logged(LogSettings(level="debug"), "httpx", logging.DEBUG) == ""
