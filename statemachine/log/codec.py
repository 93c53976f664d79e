"""Entries and snapshots ↔ bytes.

The bytes are what is stored, hashed and chained, so there is one way to write an entry: compact JSON, fields
in the order of their models, tags (`v`, `type`) first, fields that hold their default left out. What is not
wholly an entry of a known version is `EntryUnreadable`, bytes and all.
"""

import hashlib
import json
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from statemachine.errors import EntryUnreadable
from statemachine.events import Event
from statemachine.log.entry import Entry, EntryEvents, EntryTold
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
        ValueError: a text in it is no Unicode (a lone surrogate), so no JSON can hold it.
    """
    head = entry.__pydantic_serializer__.to_json(entry, exclude_defaults=True, exclude=_HEAD_ONLY)
    events = b",".join(
        [_tagged(each, b'{"type":"%b","v":%d' % (each.type.encode(), each.v)) for each in entry.events]
    )
    cause = _tagged(entry.cause, b'{"type":"%b"' % entry.cause.type.encode())
    return b'{"v":%d,%b,"cause":%b,"events":[%b]}' % (entry.v, head[1:-1], cause, events)


def _tagged(model: Event | Observation, start: bytes) -> bytes:
    """`start`, which holds the tags, and the other fields behind it.

    Tags are defaults, which `exclude_defaults` drops. Writing them here puts them first, and costs a third of
    what a serializer in Python would.
    """
    rest = model.__pydantic_serializer__.to_json(model, exclude_defaults=True)
    return start + b"}" if rest == b"{}" else start + b"," + rest[1:]


def decode(body: bytes, *, upcasters: Registry = UPCASTERS) -> Entry:
    """The whole entry, lifted to the present versions.

    Raises:
        EntryUnreadable: it is none.
    """
    return _decoded(Entry, body, upcasters)


def decode_events(body: bytes, *, upcasters: Registry = UPCASTERS) -> EntryEvents:
    """What folding needs of an entry, lifted to the present versions; the cause is not looked at.

    Raises:
        EntryUnreadable: it is none.
    """
    return _decoded(EntryEvents, body, upcasters)


def decode_told(body: bytes, *, upcasters: Registry = UPCASTERS) -> EntryTold:
    """What views tell of an entry, lifted to the present versions; of a cause that is not known, its type.

    Raises:
        EntryUnreadable: it is none.
    """
    return _decoded(EntryTold, body, upcasters)


def _decoded(model: type[M], body: bytes, upcasters: Registry) -> M:
    """The entry, as far as `model` has it. Not `model_validate_json`, which costs more for the same."""
    try:
        entry: M = model.__pydantic_validator__.validate_json(body)
        return entry
    except ValidationError as error:
        return _lifted(body, model, error, upcasters)


def entry_hash(body: bytes) -> str:
    """The `prev` that the job's next entry has to name: SHA-256, hex, of the bytes as stored."""
    return hashlib.sha256(body).hexdigest()


def encode_observation(seen: Observation) -> bytes:
    """The bytes of an observation by itself, on its way to whoever decides it.

    As in an entry fields that hold their default are left out: an engine of an earlier release refuses fields that it
    does not know, and so is troubled only by what really says more.
    """
    return _tagged(seen, b'{"type":"%b"' % seen.type.encode())


def decode_observation(body: bytes) -> Observation:
    """The inverse of `encode_observation`.

    Raises:
        EntryUnreadable: it is none.
    """
    try:
        return _observations().validate_json(body)
    except ValidationError as error:
        return _lifted_observation(body, error)


def _lifted_observation(body: bytes, refused: ValidationError) -> Observation:
    """The observation that the models refused, if it is only old: a process of an earlier release has put it."""
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
        EntryUnreadable: it is none.
    """
    try:
        return _states().validate_json(body)
    except ValidationError as error:
        raise EntryUnreadable(f"the snapshot cannot be read: {_first(error)}", body) from error


def _lifted(body: bytes, model: type[M], refused: ValidationError, upcasters: Registry) -> M:
    """The entry that the models refused, if it is only old."""
    raw = _parsed(body)
    try:
        lifted = upcast(raw, ENTRY_VERSION, registry=upcasters)
    except NotLifted as error:
        raise EntryUnreadable(f"the entry cannot be read: {error}", body) from error
    if lifted == raw:  # it is of the present versions, and wrong
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
    """The first thing that is wrong, as `events.0.replica: Field required`."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
