"""Whether traces are wanted, as OpenTelemetry's own environment variables say. Without them nothing is imported.

`OTEL_TRACES_EXPORTER` is meant for us; an address to export to may stand in the environment for other programs, so
that one is used if it can be.

Source: OpenTelemetry specification, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter".
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from jobledger.telemetry.instruments import Instruments
from statemachine.errors import ConfigError

log = logging.getLogger(__name__)

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTER: Final = "OTEL_TRACES_EXPORTER"
_DISABLED: Final = "OTEL_SDK_DISABLED"


@asynccontextmanager
async def measuring(environment: Mapping[str, str]) -> AsyncIterator[Instruments]:
    """Instruments as the environment wants them; at the end what they hold is handed over. Raises ConfigError."""
    instruments = instruments_of(environment)
    try:
        yield instruments
    finally:
        await instruments.close()


def instruments_of(environment: Mapping[str, str]) -> Instruments:
    """Instruments that trace, if the environment asks for it; else those that only count.

    Raises:
        ConfigError: it asks us for what cannot be had.
    """
    try:
        return _tracing(environment) if wanted(environment) else Instruments()
    except ConfigError as error:
        if _is_said(environment, _EXPORTER):
            raise
        log.warning("traces are not exported", extra={"action": "tracing", "error": str(error)})
        return Instruments()


def _tracing(environment: Mapping[str, str]) -> Instruments:
    try:
        from jobledger.telemetry.spans import exporting
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"traces are asked for with {_asked_by(environment)}, but {error.name} is not installed; "
            'install "jobledger[tracing]"'
        ) from error
    return exporting()


def wanted(environment: Mapping[str, str]) -> bool:
    """An exporter or an address to export to is named, and the SDK is not disabled. Raises ConfigError."""
    if environment.get(_DISABLED, "").strip().lower() == "true":
        return False
    exporter = environment.get(_EXPORTER, "").strip().lower()
    if exporter == "none" or not (exporter or _first(environment, _ENDPOINTS)[1]):
        return False
    if exporter not in ("", "otlp"):
        raise ConfigError(f'{_EXPORTER} is "{exporter}", but must be otlp or none')
    name, protocol = _first(environment, _PROTOCOLS)
    if protocol not in ("", "http/protobuf"):
        raise ConfigError(f'{name} is "{protocol}", but traces are exported with http/protobuf only')
    name, endpoint = _first(environment, _ENDPOINTS)
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise ConfigError(f'{name} is "{endpoint}", but must begin with http:// or https://')
    return True


def _is_said(environment: Mapping[str, str], name: str) -> bool:
    return bool(environment.get(name, "").strip())


def _asked_by(environment: Mapping[str, str]) -> str:
    return _first(environment, (_EXPORTER, *_ENDPOINTS))[0]


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    """The first of these variables that says something, and what; the special goes before the general."""
    for name in names:
        if value := environment.get(name, "").strip():
            return name, value
    return names[-1], ""
