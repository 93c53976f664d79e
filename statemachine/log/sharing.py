"""A spec that an entry's cause and one of its events share is written once: the cause refers to the event.

In an entry of version 2 the cause's spec is a reference, `{"$ref": "#/events/0/spec"}`; in one of version 1 it never
is, so no spec of a user's is taken for one. The event keeps the spec, since folding reads events and skips causes.
Specs are shared if their JSON is the same apart from the order of keys: an API server sorts them, and a kind writes
them in the order of its model. Who reads an entry whole gets both in the event's order. Source: ADR 0043.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec.json import Encoder

from statemachine.events import Event, JobAdmitted, SpecChanged
from statemachine.log.entry import REFERRING, WHOLE, Entry
from statemachine.observations import JobObserved, Observation

_SORTED: Final = Encoder(order="sorted")


class NoReference(ValueError):
    """An entry of version 2 whose cause does not refer to the spec of an event; the message says what is wrong."""


def version(cause: Observation, events: Sequence[Event]) -> Literal[1, 2]:
    """The version that an entry of this decision is written in: 2 if cause and event have the same spec.

    Raises:
        ValueError: a text in a spec is not Unicode (a lone surrogate), so JSON cannot hold it.
    """
    if not isinstance(cause, JobObserved):
        return WHOLE
    stated = _stated(events)
    if stated is None or _SORTED.encode(stated[1]) != _SORTED.encode(cause.spec):
        return WHOLE
    return REFERRING


def referring(entry: Entry) -> Entry:
    """An entry of version 2 as it is written.

    Raises:
        ValueError: its cause has another spec than its events, so that version 2 cannot hold it.
    """
    stated = _stated(entry.events)
    if stated is None or not isinstance(entry.cause, JobObserved) or entry.cause.spec != stated[1]:
        raise ValueError("the cause has another spec than the events: write the entry in version 1")
    return entry.changed(cause=entry.cause.changed(spec=_reference(stated[0])))


def resolved(entry: Entry) -> Entry:
    """An entry of version 2, read as it is written, with the spec in its cause.

    Raises:
        NoReference: its cause does not refer to an event's spec.
    """
    stated = _stated(entry.events)
    if not isinstance(entry.cause, JobObserved):
        raise NoReference(f"it has version 2, and its cause is no JobObserved but a {entry.cause.type}")
    if stated is None:
        raise NoReference("its cause refers to the spec of an event, and no event has one")
    if entry.cause.spec != _reference(stated[0]):
        raise NoReference(f"its cause does not refer to the spec of event {stated[0] + 1}, as version 2 does")
    return entry.changed(cause=entry.cause.changed(spec=stated[1]))


def spelled_out(raw: dict[str, Any]) -> dict[str, Any]:
    """The JSON of an entry with the spec where its cause refers to one; as it is where it has no reference."""
    match raw:
        case {"v": 2, "cause": {"spec": {"$ref": str()} as reference} as cause, "events": [*events]}:
            for place, event in enumerate(events):
                if reference == _reference(place) and isinstance(event, dict) and "spec" in event:
                    return {**raw, "cause": {**cause, "spec": event["spec"]}}
            return raw
        case _:
            return raw


def _stated(events: Sequence[Event]) -> tuple[int, dict[str, Any]] | None:
    """The place of the event that has the job's spec, and the spec; no decision has two."""
    for place, event in enumerate(events):
        if isinstance(event, JobAdmitted | SpecChanged):
            return place, event.spec
    return None


def _reference(place: int) -> dict[str, Any]:
    return {"$ref": f"#/events/{place}/spec"}
