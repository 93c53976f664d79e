"""What jobledger says about itself: lines on standard error, for people or as JSON, chosen at the root.

The message is a constant sentence, values are fields (`extra=`), `action` is what a machine matches. Called
once, by the command that starts the process; nothing else touches handlers.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, TextIO

from jobledger.settings.sections import LogSettings
from statemachine.redact import redacted, redacted_text

_STANDARD: Final = frozenset(
    [*vars(logging.LogRecord("", 0, "", 0, "", (), None)), "message", "asctime", "taskName", "color_message"]
)
"""What every record has; the rest are its fields."""

_SAID_BY_US: Final = "aiokafka"
"""Says at every attempt at every broker what we say in a line, once; a user who wants everything gets that, too."""

OUR_PACKAGES: Final = ("jobledger", "projectors", "k8s_bridge", "statemachine")


def configure(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Log lines go to `stream` (standard error); ours from `settings.level` on, others' from warning on.

    Except aiokafka's, while nobody asks for everything.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if settings.format == "json" else ConsoleLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for package in OUR_PACKAGES:
        logging.getLogger(package).setLevel(settings.level.upper())
    said = logging.WARNING if settings.level == "debug" else logging.CRITICAL
    logging.getLogger(_SAID_BY_US).setLevel(said)


def fields(record: logging.LogRecord) -> dict[str, object]:
    """What was given as `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class ConsoleLines(logging.Formatter):
    """`12:03:04 WARNING the log cannot be written, decisions wait  action=log-unavailable error=…`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback if there is one."""
        at = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
        said = " ".join(f"{name}={redacted(value)}" for name, value in fields(record).items())
        line = f"{at} {record.levelname:<7} {record.getMessage()}" + (f"  {said}" if said else "")
        return redacted_text(line + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""))


class JsonLines(logging.Formatter):
    """An object a line; fields stand beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON, whatever the fields hold."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(redacted(json.loads(json.dumps(line, default=str))))
