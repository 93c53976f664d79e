"""OpenLineage over HTTP: every RunEvent is one POST to the endpoint of a lineage system, by the rules of web hooks.

What comes in are RunEvents as `projectors.contract.lineage.runs` makes them. A receiver that is away makes the
delivery wait; one that it refuses is a SinkFailure. The key of the API stands in a file, which is read for every
attempt, so one that is replaced is used at once. Source: OpenLineage, `spec/OpenLineage.yml`; ADR 0041.
"""

import gzip
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import httpx

from projectors.contract.lineage.runs import run_events
from projectors.contract.page import PublicEvent
from projectors.sinks.feeding import Chosen
from projectors.sinks.webhook import Compose, Failed, Message, Moments, Receiver, WebHook
from statemachine.errors import ConfigError

ENDPOINT: Final = "/api/v1/lineage"

log = logging.getLogger(__name__)


def _endpoint(url: str) -> str:
    """Where RunEvents go, of a lineage system at `url`."""
    try:
        base = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        return url  # the web hook refuses it
    return str(base.copy_with(path=base.path.rstrip("/") + ENDPOINT, fragment=None))


def lineage_sink(
    receiver: Receiver,
    failed: Failed,
    *,
    attempted: Callable[[str], None] = lambda _: None,
    moments: Moments | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> WebHook:
    """The sink of RunEvents for the lineage system at the address of `receiver`. Raises ConfigError."""
    there = replace(receiver, url=_endpoint(receiver.url))
    compose = _composer(receiver)
    return WebHook(there, failed, compose=compose, attempted=attempted, moments=moments, transport=transport)


def runs_of(chosen: Chosen) -> Chosen:
    """The RunEvents of the entries of which `chosen` chooses something."""
    return lambda published: run_events(published) if chosen(published) else ()


def _composer(receiver: Receiver) -> Compose:
    """RunEvents in gzip, with the key of the API that the file of the receiver holds, if it has one.

    Raises ConfigError for a file that cannot be used, or more than one.
    """
    if len(receiver.keys) > 1:
        raise ConfigError(
            f"the sink {receiver.name} takes one file with a key: the lineage system has one API"
        )
    key = _bearer(receiver.keys[0]) if receiver.keys else dict

    def compose(event: PublicEvent, at: datetime) -> Message:
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return Message(headers | key(), gzip.compress(event.data, mtime=0))

    return compose


def _bearer(file: Path) -> Callable[[], dict[str, str]]:
    """The header with the key of the file as it is now; while it cannot be used, with the one that it held before."""
    held = _read(file)

    def header() -> dict[str, str]:
        nonlocal held
        try:
            held = _read(file)
        except ConfigError:
            fields = {"action": "key", "file": str(file)}
            log.warning("the file of a key cannot be used; the key that it held stays in use", extra=fields)
        return {"authorization": f"Bearer {held}"}

    return header


def _read(file: Path) -> str:
    try:
        key = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ConfigError(f"the key file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"the key file {file} holds no text of a key") from None
    if not key or not key.isprintable() or " " in key:
        raise ConfigError(f"the key file {file} must hold one key, without blanks")
    return key
