"""Public events as records in Kafka: headers and value, and read back. Pure.

Source: CloudEvents, Kafka Protocol Binding, binary and structured content mode.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from pydantic_core import to_json

from projectors.contract.envelope import structured
from projectors.contract.page import PublicEvent

Mode = Literal["binary", "structured"]

POSITION: Final = "jobledger-position"
"""Header with the position of the event's entry in the log."""

NOT_HEADERS: Final = frozenset({"data", "datacontenttype"})

_PREFIX: Final = "ce_"
_STRUCTURED: Final = b"application/cloudevents+json"
_NUMBERS: Final = frozenset({"severitynumber"})
_NEEDED: Final = frozenset(
    {
        "id",
        "type",
        "partitionkey",
        "recordedtime",
        "severitynumber",
        "apiversion",
        "kind",
        "name",
        "namespace",
    }
)
"""Attributes by which readers choose."""


class EventRecord(NamedTuple):
    """`key` is the job's uid; in binary mode `value` is the event's data, else the whole event in JSON."""

    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]]


def headers(event: Mapping[str, Any]) -> dict[str, str]:
    """The headers of an event in Kafka that do not depend on where its log is, in binary mode."""
    return {name: text.decode() for name, text in _binary(event)}


def record(event: PublicEvent, mode: Mode = "binary") -> EventRecord:
    """The event in Kafka."""
    attributes, key = event.attributes, str(event.attributes["partitionkey"]).encode()
    place = (POSITION, b"%d" % event.position)
    if mode == "binary":
        return EventRecord(key, event.data, [*_binary(attributes), place])
    return EventRecord(key, structured(event), [("content-type", _STRUCTURED), *_traced(attributes), place])


def _binary(event: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """In the order of the attributes."""
    said = [
        (_header(name), value.encode() if isinstance(value, str) else b"%d" % value)
        for name, value in event.items()
        if name not in NOT_HEADERS
    ]
    return [*said, ("content-type", event["datacontenttype"].encode()), *_traced(event)]


@cache
def _header(attribute: str) -> str:
    return _PREFIX + attribute


def _traced(event: Mapping[str, Any]) -> Sequence[tuple[str, bytes]]:
    return [("traceparent", str(event["traceparent"]).encode())] if "traceparent" in event else ()


def line_of(key: bytes | None, value: bytes | None, said: Sequence[tuple[str, bytes | None]]) -> bytes:
    """The structured event of a record, as `structured` gives it; empty if it is none, or has the key of another."""
    read = _read(key, value, said)
    return read[1] if read is not None else b""


def event_of(
    key: bytes | None, value: bytes | None, said: Sequence[tuple[str, bytes | None]]
) -> tuple[PublicEvent, bytes] | None:
    """The public event of a record, and the same structured; None of a record that is none of a ledger."""
    read = _read(key, value, said)
    if read is None or not read[0].keys() >= _NEEDED or not (place := position_of(said)):
        return None
    attributes, line = read
    if not isinstance(attributes["severitynumber"], int):
        return None
    in_binary = dict(said).get("content-type") != _STRUCTURED
    data = (value or b"") if in_binary else to_json(attributes.pop("data", None))
    return PublicEvent(attributes, data, place), line


def _read(
    key: bytes | None, value: bytes | None, said: Sequence[tuple[str, bytes | None]]
) -> tuple[dict[str, Any], bytes] | None:
    """The attributes of a record's event, in structured mode its data among them; and its line."""
    texts = {name: text or b"" for name, text in said}
    if texts.get("content-type") == _STRUCTURED:
        line = value or b""
        attributes = _object(line)
    else:
        attributes = _attributes(texts) if value is not None else None
        line = structured(PublicEvent(attributes, value, position_of(said))) if attributes and value else b""
    if attributes is None or str(attributes.get("partitionkey")).encode() != key:
        return None
    return attributes, line


def position_of(said: Sequence[tuple[str, bytes | None]]) -> int:
    """The position in the headers of a record; 0 without one."""
    text = dict(said).get(POSITION) or b""
    return int(text) if text.isdigit() else 0


def _attributes(texts: Mapping[str, bytes]) -> dict[str, Any]:
    """In the order in which events have them, where the type of the content follows the time."""
    attributes: dict[str, Any] = {}
    for header, value in texts.items():
        if not header.startswith(_PREFIX):
            continue
        name, text = header.removeprefix(_PREFIX), value.decode(errors="replace")
        attributes[name] = int(text) if name in _NUMBERS and text.isdigit() else text
        if name == "time":
            attributes["datacontenttype"] = texts.get("content-type", b"").decode(errors="replace")
    return attributes


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None
