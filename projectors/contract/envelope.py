"""Public events as CloudEvents 1.0 in JSON, a line each: written, and read back to be checked."""

import json
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from projectors.contract.catalogue import TYPES, short_name
from projectors.contract.model.base import At, one_of
from projectors.contract.model.written import encoded
from projectors.contract.page import PublicEvent
from projectors.published import Published

_ID: Final = r"^[^/\s]+/[1-9][0-9]*/[0-9]+$"


def structured(event: PublicEvent) -> bytes:
    """The event in one JSON object, without a line break. Source: CloudEvents, JSON Event Format."""
    return b'%b,"data":%b}' % (encoded(event.attributes)[:-1], event.data)


class Envelope(Published, extra="allow", alias_generator=None):
    """The attributes of a public event, and its data, which the model of its type reads."""

    specversion: Annotated[str, Field(pattern=r"^1\.0$")]
    id: Annotated[str, Field(pattern=_ID)]
    source: Annotated[str, Field(pattern="^jobledger://[^/]")]
    type: str
    subject: str
    time: At
    datacontenttype: Annotated[str, Field(pattern="^application/json$")]
    dataschema: str
    partitionkey: str
    sequence: Annotated[str, Field(pattern=r"^[0-9]{10,}\.[0-9]{4,}$")]
    correlationid: str
    causationid: str | None = None
    recordedtime: At
    authtype: Annotated[str, one_of("system", "service_account", "user", "unknown")]
    authid: str | None = None
    severitynumber: int
    severitytext: Annotated[str, one_of("INFO", "WARN", "ERROR")]
    traceparent: str | None = None
    dataclassification: str | None = None
    apiversion: str
    kind: str
    name: str
    namespace: str
    data: dict[str, Any]


def problem(line: bytes) -> str:
    """What is wrong with a structured event under this contract, in a sentence; empty if nothing is."""
    try:
        event = Envelope.model_validate_json(line)
        public_type = TYPES.get(short_name(event.type))
        if public_type is None:
            return f"type: {event.type} is none of this contract; `jobledger events schema` lists all"
        public_type.model.model_validate_json(json.dumps(event.data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg']}" if place else first["msg"]
    return ""


def id_of(line: bytes) -> str:
    """The id of a structured event; empty if the line is none."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    id_ = event.get("id") if isinstance(event, dict) else None
    return id_ if isinstance(id_, str) else ""
