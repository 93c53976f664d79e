"""The contract as an AsyncAPI 3.0.0 document: where public events can be had, and what each of them looks like.

`docs/asyncapi.yaml`, `jobledger events asyncapi` and `GET /v1/contract/asyncapi.json` are all made here: of the
catalogue, of the topic's layout, and of the events that were frozen with this version of the contract as examples.
Every type is a message twice: in Kafka its attributes are headers (binary mode), over HTTP they are beside the data
(structured mode). Source: AsyncAPI 3.0.0, its Kafka bindings 0.5.0 and HTTP bindings 0.3.0.
"""

import json
from importlib.resources import files
from typing import Any, Final

from projectors.contract.binding import NOT_HEADERS, headers
from projectors.contract.catalogue import CATALOGUE, VERSION, PublicType
from projectors.contract.envelope import Envelope
from projectors.contract.schemas import plain, schema
from projectors.published import json_schema
from statemachine.log.kafka.layout import CLOUDEVENTS, DEFAULT_COPIES, DEFAULT_PARTITIONS, Topic

Document = dict[str, Any]

MEDIA_TYPE: Final = "application/vnd.aai.asyncapi+json;version=3.0.0"

_KAFKA: Final = {"bindingVersion": "0.5.0"}
_HTTP: Final = {"bindingVersion": "0.3.0"}
_SCHEMAS: Final = "#/components/schemas/"
_STRUCTURED: Final = ".structured"
_TEXT: Final = {"type": "string"}
_BOUNDED: Final = frozenset({"retention.ms", "retention.bytes", "max.message.bytes"})
"""Settings of topics that the bindings name, and that are numbers."""


def document() -> Document:
    """The whole document; a new one at each call."""
    return {
        "asyncapi": "3.0.0",
        "id": "https://jobledger.dev/contract/asyncapi",
        "info": {
            "title": "jobledger: public events of training jobs",
            "version": VERSION,
            "description": "What happens to training jobs, as CloudEvents 1.0 with JSON data. Accept fields, "
            "types and values of extensible enums that you do not know: they may come with any minor version.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": _servers(),
        "channels": _channels(),
        "operations": _operations(),
        "components": {
            "messages": {
                name: made for public_type in CATALOGUE for name, made in _messages(public_type).items()
            },
            "schemas": _schemas(),
            "messageTraits": {"kafka": _in_kafka(), "http": _over_http()},
        },
    }


def _servers() -> Document:
    return {
        "kafka": {
            "host": "{host}:9092",
            "protocol": "kafka",
            "description": "The brokers that the ledger's topics are on, or those that a sink of yours writes to.",
            "variables": {"host": {"default": "localhost", "description": "Any of the brokers."}},
        },
        "http": {
            "host": "{host}",
            "protocol": "https",
            "description": "A front of jobledger (role `front`), or `jobledger serve` on this machine, over http.",
            "variables": {"host": {"default": "localhost:8080"}},
        },
    }


def _channels() -> Document:
    structured = {public_type.name: _message(public_type.name + _STRUCTURED) for public_type in CATALOGUE}
    return {
        "topic": {
            "address": f"{{prefix}}.{CLOUDEVENTS.name}",
            "description": "All public events of a ledger. A job is in one partition, in the order of its log. Read "
            "with isolation.level=read_committed: then every event is there once; else compare source and id.",
            "servers": [{"$ref": "#/servers/kafka"}],
            "parameters": {"prefix": {"default": "jobledger", "description": "Of all topics of the ledger."}},
            "messages": {public_type.name: _message(public_type.name) for public_type in CATALOGUE},
            "bindings": {"kafka": _topic(CLOUDEVENTS)},
        },
        "events": {
            "address": "/v1/events",
            "description": "Pages of events, or events as they come (text/event-stream, where the cursor is the "
            "id of a block and the type its name), from any place in the log on. Events of jobs that the caller may "
            "not list are left out.",
            "servers": [{"$ref": "#/servers/http"}],
            "messages": structured,
        },
        "webHook": {
            "address": None,
            "description": "A receiver of yours. Every event is a POST, signed after Standard Webhooks; delivered "
            "at least once, in order within a job.",
            "messages": structured,
        },
    }


def _topic(topic: Topic) -> Document:
    settings = {setting.name: setting.value for setting in topic.settings(DEFAULT_COPIES)}
    numbers = {name: int(value) for name, value in settings.items() if name in _BOUNDED}
    return {
        "partitions": DEFAULT_PARTITIONS,
        "replicas": DEFAULT_COPIES,
        "topicConfiguration": {"cleanup.policy": settings["cleanup.policy"].split(","), **numbers},
        **_KAFKA,
    }


def _operations() -> Document:
    def sends(channel: str, summary: str, **more: Any) -> Document:
        return {"action": "send", "channel": {"$ref": f"#/channels/{channel}"}, "summary": summary, **more}

    return {
        "publish": sends("topic", "jobledger writes every public event to the topic."),
        "serve": sends("events", "jobledger answers with events.", bindings={"http": _get()}),
        "notify": sends(
            "webHook", "jobledger posts an event.", bindings={"http": {"method": "POST", **_HTTP}}
        ),
    }


def _get() -> Document:
    """The request for events. The test of this document compares it with what the API describes."""
    texts = ("after", "namespace", "kind", "job", "labelSelector", "severity")
    properties = {
        **dict.fromkeys(texts, _TEXT),
        "type": {"type": "array", "items": _TEXT},
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
        "wait": {"type": "number", "minimum": 0, "maximum": 60},
    }
    return {"method": "GET", "query": {"type": "object", "properties": properties}, **_HTTP}


def _message(name: str) -> Document:
    return {"$ref": f"#/components/messages/{name}"}


def _messages(public_type: PublicType) -> dict[str, Document]:
    """The two messages of a type: in Kafka, and over HTTP."""
    name = public_type.name
    common = {
        "name": public_type.full_name,
        "title": name,
        "summary": " ".join((public_type.model.__doc__ or "").split()),
        "tags": [{"name": name.partition(".")[0]}, {"name": public_type.severity.name}],
    }
    event = _frozen(name)
    return {
        name: {
            **common,
            "payload": {"$ref": _SCHEMAS + name},
            "traits": [{"$ref": "#/components/messageTraits/kafka"}],
            "examples": [{"headers": headers(event), "payload": event["data"]}],
        },
        name + _STRUCTURED: {
            **common,
            "payload": {
                "allOf": [{"$ref": f"{_SCHEMAS}CloudEvent"}],
                "properties": {
                    "type": {"const": public_type.full_name},
                    "data": {"$ref": _SCHEMAS + name},
                },
            },
            "traits": [{"$ref": "#/components/messageTraits/http"}],
            "examples": [{"payload": event}],
        },
    }


def _frozen(name: str) -> Document:
    """The first event of a type that was frozen with this version."""
    place = files("projectors.contract") / "released" / VERSION / "fixtures" / f"{name}.jsonl"
    first = place.read_text(encoding="utf-8").partition("\n")[0]
    event: Document = json.loads(first)["event"]
    return event


def _in_kafka() -> Document:
    envelope = _envelope()
    properties = {
        f"ce_{name}": {"type": "string", **_but_type(attribute)}
        for name, attribute in envelope["properties"].items()
        if name not in NOT_HEADERS
    }
    needed = [f"ce_{name}" for name in envelope["required"] if name not in NOT_HEADERS]
    return {
        "contentType": "application/json",
        "headers": {
            "type": "object",
            "properties": {
                **properties,
                "content-type": {"const": "application/json"},
                "traceparent": {
                    **_TEXT,
                    "description": "The same as ce_traceparent, where tracers look for it.",
                },
                "jobledger-position": {**_TEXT, "description": "Position of the event's entry in the log."},
            },
            "required": [*needed, "content-type"],
        },
        "correlationId": {
            "description": "The uid of the job.",
            "location": "$message.header#/ce_correlationid",
        },
        "bindings": {
            "kafka": {"key": {**_TEXT, "description": "The uid of the job, as text in UTF-8."}, **_KAFKA}
        },
    }


def _over_http() -> Document:
    signed = {
        "webhook-id": "Web hooks: the id of the event.",
        "webhook-timestamp": "Web hooks: time of this attempt, in seconds since 1970.",
        "webhook-signature": "Web hooks: a signature for each key, v1 (HMAC-SHA256) or v1a (Ed25519).",
    }
    properties = {name: {**_TEXT, "description": says} for name, says in signed.items()}
    return {
        "contentType": "application/cloudevents+json",
        "correlationId": {
            "description": "The uid of the job.",
            "location": "$message.payload#/correlationid",
        },
        "bindings": {"http": {"headers": {"type": "object", "properties": properties}, **_HTTP}},
    }


def _envelope() -> Document:
    """The schema of a structured event. Its attributes as they stand in JSON; times are texts."""
    made: Document = _hoisted(plain(json_schema(Envelope, "validation")))
    return made


def _but_type(attribute: Document) -> Document:
    """What is said of a header that is always text: an attribute that is a number is one in decimal."""
    said = {name: value for name, value in attribute.items() if name in {"pattern", "x-extensible-enum"}}
    return {**said, "pattern": "^[0-9]+$"} if attribute.get("type") == "integer" else said


def _schemas() -> Document:
    """The schema of each type's data, and the parts that they share, each once."""
    made: Document = {"CloudEvent": _envelope()}
    for public_type in CATALOGUE:
        whole = schema(public_type)
        for name, part in whole.pop("$defs", {}).items():
            made[name] = _hoisted(part)
        made[public_type.name] = _hoisted(whole)
    return dict(sorted(made.items()))


def _hoisted(tree: Any) -> Any:
    """References lead to the components of the document, where tools look for them, whatever `$id` says."""
    if isinstance(tree, list):
        return [_hoisted(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    kept: Document = {key: _hoisted(value) for key, value in tree.items() if key not in {"$schema", "$id"}}
    if isinstance(kept.get("$ref"), str):
        kept["$ref"] = kept["$ref"].replace("#/$defs/", _SCHEMAS)
    return kept
