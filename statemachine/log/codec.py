"""Entries and snapshots ↔ bytes.

The log stores, hashes and chains these bytes, so there is one way to write an entry: compact JSON, fields
in the order of their models, tags (`v`, `type`) first, fields with their default omitted. Bytes that are not wholly
an entry of a known version raise `EntryUnreadable`, which keeps them.
"""

import hashlib
import json
from typing import Any, Final, TypeVar

from msgspec import ValidationError, convert
from msgspec.json import Decoder, Encoder

from statemachine.errors import EntryUnreadable
from statemachine.log.entry import REFERRING, WHOLE, Entry, EntryBrief, EntryEvents
from statemachine.log.sharing import NoReference, referring, resolved
from statemachine.observations import Observation
from statemachine.state import JobState
from statemachine.upcasters import UPCASTERS, NotLifted, Registry, lift_observation, upcast

ENTRY_VERSION: Final = REFERRING
"""The newest that is known here. Entries of version 1 are not lifted to it: both are written."""

_JSON: Final = Encoder()
_ENTRIES: Final = Decoder(Entry)
_EVENTS: Final = Decoder(EntryEvents)
_BRIEFS: Final = Decoder(EntryBrief)
_OBSERVATIONS: Final[Decoder[Observation]] = Decoder(Observation)
_STATES: Final = Decoder(JobState)

_REFERRING: Final = b'{"v":%d,' % REFERRING

_UNREADABLE: Final = (ValueError, RecursionError)
"""What a decoder raises: not JSON, not UTF-8, not of the type, or nested too deep."""

M = TypeVar("M")


def encode(entry: Entry) -> bytes:
    """The bytes of `entry`; equal entries (dicts in the same order) give equal bytes.

    Raises:
        ValueError: a text in it is not Unicode (a lone surrogate), so JSON cannot hold it; or it is of version 2, and
            its cause has another spec than its events.
    """
    return _JSON.encode(referring(entry) if entry.v == REFERRING else entry)


def decode(body: bytes, *, upcasters: Registry = UPCASTERS) -> Entry:
    """The whole entry, lifted to the present versions.

    Raises:
        EntryUnreadable: the bytes are no such entry.
    """
    entry = _decoded(_ENTRIES, body, upcasters)
    try:
        return resolved(entry) if entry.v == REFERRING else entry
    except NoReference as error:
        raise EntryUnreadable(f"the entry cannot be read: {error}", body) from error


def decode_events(body: bytes, *, upcasters: Registry = UPCASTERS) -> EntryEvents:
    """The part of an entry that folding needs, lifted to the present versions; the cause is skipped.

    Raises:
        EntryUnreadable: the bytes are no such entry.
    """
    return _decoded(_EVENTS, body, upcasters)


def decode_brief(body: bytes, *, upcasters: Registry = UPCASTERS) -> EntryBrief:
    """The part of an entry that views show, lifted to the present versions; of any cause only its type.

    Raises:
        EntryUnreadable: the bytes are no such entry.
    """
    return _decoded(_BRIEFS, body, upcasters)


def _decoded(decoder: Decoder[M], body: bytes, upcasters: Registry) -> M:
    """The part of the entry that the decoder reads."""
    try:
        return decoder.decode(body)
    except _UNREADABLE as error:
        return _lifted(body, decoder, error, upcasters)


def version_in(body: bytes) -> int:
    """The version that an entry of this release says at its beginning; 1 of bytes that are no such entry."""
    return REFERRING if body.startswith(_REFERRING) else WHOLE


def entry_hash(body: bytes) -> str:
    """The `prev` that the job's next entry has to name: SHA-256, hex, of the bytes as stored."""
    return hashlib.sha256(body).hexdigest()


def encode_observation(observation: Observation) -> bytes:
    """The bytes of an observation by itself, on its way to an engine.

    As in an entry, fields with their default are omitted: an engine of an earlier release refuses unknown fields, and
    so meets only those that are really set.
    """
    return _JSON.encode(observation)


def decode_observation(body: bytes) -> Observation:
    """The inverse of `encode_observation`.

    Raises:
        EntryUnreadable: the bytes are no observation.
    """
    try:
        return _OBSERVATIONS.decode(body)
    except _UNREADABLE as error:
        return _lifted_observation(body, error)


def _lifted_observation(body: bytes, refused: Exception) -> Observation:
    """The observation that the models refused, if only its shape is old: an earlier release has put it."""
    try:
        raw = json.loads(body)
        lifted = lift_observation(raw)
        if lifted is not raw:
            observation: Observation = convert(lifted, Observation)
            return observation
    except _UNREADABLE:
        pass
    raise EntryUnreadable(f"the observation cannot be read: {refused}", body) from refused


def encode_state(state: JobState) -> bytes:
    """The bytes of a snapshot."""
    return _JSON.encode(state)


def decode_state(body: bytes) -> JobState:
    """The state of a snapshot that was written under the present `STATE_VERSION`.

    Raises:
        EntryUnreadable: the bytes are no such state.
    """
    try:
        return _STATES.decode(body)
    except _UNREADABLE as error:
        raise EntryUnreadable(f"the snapshot cannot be read: {error}", body) from error


def _lifted(body: bytes, decoder: Decoder[M], refused: Exception, upcasters: Registry) -> M:
    """The entry that the models refused, if only its shape is old."""
    raw = _parsed(body)
    version = WHOLE if raw.get("v") == WHOLE else ENTRY_VERSION
    try:
        lifted = upcast(raw, version, registry=upcasters)
    except NotLifted as error:
        raise EntryUnreadable(f"the entry cannot be read: {error}", body) from error
    if lifted == raw:  # the entry has the present versions, and is wrong
        raise EntryUnreadable(f"the entry cannot be read: {refused}", body) from refused
    try:
        return convert(lifted, decoder.type)
    except ValidationError as error:
        raise EntryUnreadable(f"the entry was lifted and cannot be read: {error}", body) from error


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(body)
    except _UNREADABLE as error:
        raise EntryUnreadable(f"the entry is not JSON: {error}", body) from error
    if not isinstance(raw, dict):
        raise EntryUnreadable("the entry is not a JSON object", body)
    return raw
