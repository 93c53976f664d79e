"""Entries and snapshots ↔ bytes.

The log stores, hashes and chains these bytes, so there is one way to write an entry: compact JSON, fields
in the order of their models, tags (`v`, `type`) first, fields with their default omitted. Bytes that are not wholly
an entry of a known version raise `EntryUnreadable`, which keeps them.
"""

import hashlib
import json
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from statemachine.errors import EntryUnreadable
from statemachine.events import Event
from statemachine.log.entry import Entry, EntryBrief, EntryEvents
from statemachine.observations import Observation
from statemachine.state import JobState
from statemachine.upcasters import UPCASTERS, NotLifted, Registry, lift_observation, upcast

ENTRY_VERSION: int = Entry.model_fields["v"].default

_HEAD_ONLY = {"v", "cause", "events"}

M = TypeVar("M", bound=BaseModel)


@cache
def _observations() -> TypeAdapter[Observation]:
    return TypeAdapter(Observation)


@cache
def _states() -> TypeAdapter[JobState]:
    return TypeAdapter(JobState)


def encode(entry: Entry) -> bytes:
    """The bytes of `entry`; equal entries (dicts in the same order) give equal bytes.

    Raises:
        ValueError: a text in it is not Unicode (a lone surrogate), so JSON cannot hold it.
    """
    head = entry.__pydantic_serializer__.to_json(entry, exclude_defaults=True, exclude=_HEAD_ONLY)
    events = b",".join(
        [_tagged(event, b'{"type":"%b","v":%d' % (event.type.encode(), event.v)) for event in entry.events]
    )
    cause = _tagged(entry.cause, b'{"type":"%b"' % entry.cause.type.encode())
    return b'{"v":%d,%b,"cause":%b,"events":[%b]}' % (entry.v, head[1:-1], cause, events)


def _tagged(model: Event | Observation, start: bytes) -> bytes:
    """`start`, which holds the tags, and the other fields behind it.

    Tags are defaults, which `exclude_defaults` drops. Written here they come first, at a third of the cost of a
    serializer in Python.
    """
    fields = model.__pydantic_serializer__.to_json(model, exclude_defaults=True)
    return start + b"}" if fields == b"{}" else start + b"," + fields[1:]


def decode(body: bytes, *, upcasters: Registry = UPCASTERS) -> Entry:
    """The whole entry, lifted to the present versions.

    Raises:
        EntryUnreadable: the bytes are no such entry.
    """
    return _decoded(Entry, body, upcasters)


def decode_events(body: bytes, *, upcasters: Registry = UPCASTERS) -> EntryEvents:
    """The part of an entry that folding needs, lifted to the present versions; the cause is skipped.

    Raises:
        EntryUnreadable: the bytes are no such entry.
    """
    return _decoded(EntryEvents, body, upcasters)


def decode_brief(body: bytes, *, upcasters: Registry = UPCASTERS) -> EntryBrief:
    """The part of an entry that views show, lifted to the present versions; of any cause only its type.

    Raises:
        EntryUnreadable: the bytes are no such entry.
    """
    return _decoded(EntryBrief, body, upcasters)


def _decoded(model: type[M], body: bytes, upcasters: Registry) -> M:
    """The part of the entry that `model` has. `model_validate_json` would cost more."""
    try:
        entry: M = model.__pydantic_validator__.validate_json(body)
        return entry
    except ValidationError as error:
        return _lifted(body, model, error, upcasters)


def entry_hash(body: bytes) -> str:
    """The `prev` that the job's next entry has to name: SHA-256, hex, of the bytes as stored."""
    return hashlib.sha256(body).hexdigest()


def encode_observation(observation: Observation) -> bytes:
    """The bytes of an observation by itself, on its way to an engine.

    As in an entry, fields with their default are omitted: an engine of an earlier release refuses unknown fields, and
    so meets only those that are really set.
    """
    return _tagged(observation, b'{"type":"%b"' % observation.type.encode())


def decode_observation(body: bytes) -> Observation:
    """The inverse of `encode_observation`.

    Raises:
        EntryUnreadable: the bytes are no observation.
    """
    try:
        return _observations().validate_json(body)
    except ValidationError as error:
        return _lifted_observation(body, error)


def _lifted_observation(body: bytes, refused: ValidationError) -> Observation:
    """The observation that the models refused, if only its shape is old: an earlier release has put it."""
    try:
        raw = json.loads(body)
        lifted = lift_observation(raw)
        if lifted is not raw:
            return _observations().validate_python(lifted, strict=False)
    except (ValueError, RecursionError):
        pass
    raise EntryUnreadable(f"the observation cannot be read: {_first(refused)}", body) from refused


def encode_state(state: JobState) -> bytes:
    """The bytes of a snapshot."""
    return _states().dump_json(state, exclude_defaults=True)


def decode_state(body: bytes) -> JobState:
    """The state of a snapshot that was written under the present `STATE_VERSION`.

    Raises:
        EntryUnreadable: the bytes are no such state.
    """
    try:
        return _states().validate_json(body)
    except ValidationError as error:
        raise EntryUnreadable(f"the snapshot cannot be read: {_first(error)}", body) from error


def _lifted(body: bytes, model: type[M], refused: ValidationError, upcasters: Registry) -> M:
    """The entry that the models refused, if only its shape is old."""
    raw = _parsed(body)
    try:
        lifted = upcast(raw, ENTRY_VERSION, registry=upcasters)
    except NotLifted as error:
        raise EntryUnreadable(f"the entry cannot be read: {error}", body) from error
    if lifted == raw:  # the entry has the present versions, and is wrong
        raise EntryUnreadable(f"the entry cannot be read: {_first(refused)}", body) from refused
    try:
        return model.model_validate_json(json.dumps(lifted).encode())
    except ValidationError as error:
        raise EntryUnreadable(f"the entry was lifted and cannot be read: {_first(error)}", body) from error


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise EntryUnreadable(f"the entry is not JSON: {error}", body) from error
    if not isinstance(raw, dict):
        raise EntryUnreadable("the entry is not a JSON object", body)
    return raw


def _first(error: ValidationError) -> str:
    """The first error, as `events.0.replica: Field required`."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
