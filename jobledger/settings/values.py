"""What values of settings can be: spans of time, names of namespaces, the place of a store."""

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator

from statemachine.addresses import port_of
from statemachine.errors import ConfigError
from statemachine.ids import is_dns_label

LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A part of a name in DNS."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def duration(text: str) -> timedelta:
    """`90`, `90s`, `1m30s`, `1.5h` as a span; a bare number is in seconds. Raises ValueError."""
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        parts = _PART.findall(text)
        if not parts or "".join(map("".join, parts)) != text:
            raise ValueError("must be a duration such as 90s, 10m or 1h30m") from None
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not 0 <= seconds < 1e9:
        raise ValueError("must be a duration between 0 and thirty years")
    return timedelta(seconds=seconds)


def _span(value: Any) -> Any:
    return duration(value) if isinstance(value, str) else value


Span = Annotated[timedelta, BeforeValidator(_span)]


def not_zero(value: timedelta) -> timedelta:
    """The span, which is longer than nothing. Raises ValueError."""
    if not value:
        raise ValueError("must be longer than 0 s")
    return value


def with_usable_port(url: str) -> str:
    """The URL, which names no port that does not exist. Raises ValueError."""
    try:
        port_of(urlsplit(url).netloc, "the address")
    except (ConfigError, ValueError):
        raise ValueError("must be an address with a port from 1 to 65535, if it has one") from None
    return url


def _namespace(value: str) -> str:
    if value and not is_dns_label(value):
        raise ValueError("must be a DNS-1123 label: lower-case letters, digits and '-', 63 of them at most")
    return value


NamespaceName = Annotated[str, AfterValidator(_namespace)]
"""What can be the name of a namespace (spec G20); empty for none."""


def default_store() -> Path:
    """`jobledger/ledger.db` in the XDG state directory."""
    said = os.environ.get("XDG_STATE_HOME", "")
    state = Path(said) if said.startswith("/") else Path.home() / ".local" / "state"
    return state / "jobledger" / "ledger.db"


def in_pod() -> bool:
    """This process runs in a pod of a Kubernetes cluster."""
    return "KUBERNETES_SERVICE_HOST" in os.environ
