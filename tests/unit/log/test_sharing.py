"""A spec that cause and event share stands in the event, and the cause refers to it."""

import json
from typing import Any

import pytest

from statemachine.errors import EntryUnreadable
from statemachine.events import JobAdmitted, SpecChanged
from statemachine.log.codec import decode, decode_brief, decode_events, encode, version_in
from statemachine.log.entry import GENESIS, REFERRING, WHOLE, Entry
from statemachine.log.kafka.records import entry_row
from statemachine.log.port import EntryDraft
from statemachine.log.sharing import spelled_out, version
from statemachine.observations import JobObserved
from tests.support.logs import JOB, START, admitted, entry, said
from tests.support.scenario import Story, workers

SORTED = {"replicaSpecs": [{"replicas": 2, "type": "worker"}]}
"""The spec of `admitted()`, with its keys as an API server sorts them."""


def observed(spec: dict[str, Any]) -> JobObserved:
    first = entry(JOB, 1, GENESIS, admitted()).cause
    assert isinstance(first, JobObserved)
    return first.changed(spec=spec)


def shared() -> Entry:
    """The first entry of a job, in version 2."""
    events = admitted()
    cause = observed(SORTED)
    assert version(cause, events) == REFERRING
    return entry(JOB, 1, GENESIS, events).changed(v=REFERRING, cause=cause)


def raw(body: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def changed_body(change: dict[str, Any]) -> bytes:
    written = raw(encode(shared()))
    return json.dumps({**written, "cause": {**written["cause"], **change}}).encode()


# ---- what is shared ----


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicaSpecs": [{"type": "worker", "replicas": 2}]}, REFERRING),
        (SORTED, REFERRING),
        ({"replicaSpecs": [{"type": "worker", "replicas": 3}]}, WHOLE),
        ({"replicaSpecs": [{"type": "worker", "replicas": 2.0}]}, WHOLE),
        ({"replicaSpecs": [{"type": "worker", "replicas": 2}], "runMode": {}}, WHOLE),
        ({}, WHOLE),
    ],
)
def test_a_spec_is_shared_if_it_has_the_same_json_in_any_order(spec: dict[str, Any], expected: int) -> None:
    assert version(observed(spec), admitted()) == expected


def test_an_observation_that_changes_no_spec_is_written_whole() -> None:
    assert version(observed(SORTED), said("labels")) == WHOLE
    assert version(entry(JOB, 2, "x", admitted()).cause, admitted()) == WHOLE


def test_what_the_rules_decide_of_a_job_is_written_once_and_of_its_edit_too() -> None:
    story = Story(workers(2)).submit().edit(runPolicy={"backoffLimit": 7})
    bodies = [body for body in story.bodies if version_in(body) == REFERRING]
    assert [type(decode(body).events[0]) for body in bodies] == [JobAdmitted, SpecChanged]
    assert all(body.count(b'"replicaSpecs":') == 1 for body in bodies)


# ---- writing and reading ----


def test_the_event_keeps_the_spec_and_the_cause_names_its_place() -> None:
    written = raw(encode(shared().changed(events=(*said("before"), *admitted()))))
    assert written["v"] == REFERRING
    assert written["cause"]["spec"] == {"$ref": "#/events/1/spec"}
    assert written["events"][1]["spec"] == SORTED


def test_the_entry_is_read_as_it_was_and_written_the_same_again() -> None:
    body = encode(shared())
    again = decode(body)
    assert again == shared()
    assert encode(again) == body
    assert isinstance(again.cause, JobObserved)
    assert list(again.cause.spec["replicaSpecs"][0]) == ["type", "replicas"], "in the order of the event"


def test_readers_that_skip_the_cause_read_it_as_any_other() -> None:
    whole = entry(JOB, 1, GENESIS, admitted())
    for read in (decode_events, decode_brief):
        assert read(encode(shared())).changed(v=WHOLE) == read(encode(whole))


def test_an_older_form_of_an_event_is_lifted_beside_a_reference() -> None:
    written = raw(encode(shared()))
    written["events"][0]["v"] = 1
    written["events"][0]["plan"]["tensorboard"] = "board"
    lifted = decode(json.dumps(written).encode())
    assert isinstance(lifted.cause, JobObserved)
    assert lifted.cause.spec == SORTED
    assert isinstance(lifted.events[0], JobAdmitted)
    assert lifted.events[0].plan is not None
    assert [child.name for child in lifted.events[0].plan.children] == ["board"]


@pytest.mark.parametrize("text", ["#/events/0/spec", "#/events/1/spec", ""])
def test_a_users_spec_that_looks_like_a_reference_is_none(text: str) -> None:
    spec = {"$ref": text}
    refused = JobAdmitted(
        api_version="v1", kind="K", namespace="n", name="j", generation=1, at=START, spec={"$ref": text}
    )
    for events in ((refused,), said("of another spec")):
        cause = observed(spec)
        made = entry(JOB, 1, GENESIS, events).changed(v=version(cause, events), cause=cause)
        read = decode(encode(made))
        assert isinstance(read.cause, JobObserved)
        assert read.cause.spec == spec


def test_an_entry_whose_specs_differ_cannot_be_written_in_version_2() -> None:
    with pytest.raises(ValueError, match="another spec than the events: write the entry in version 1"):
        encode(shared().changed(cause=observed({})))
    with pytest.raises(ValueError, match="write the entry in version 1"):
        encode(shared().changed(events=said("no spec")))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spec": {"$ref": "#/events/1/spec"}}, "does not refer to the spec of event 1"),
        ({"spec": {"$ref": "#/events/0"}}, "does not refer to the spec of event 1"),
        ({"spec": {"$ref": "#/events/0/spec", "more": 1}}, "does not refer to the spec of event 1"),
        ({"spec": SORTED}, "does not refer to the spec of event 1"),
        ({"spec": "#/events/0/spec"}, "Expected `object`"),
    ],
)
def test_a_damaged_reference_is_unreadable_in_a_sentence_with_its_bytes(
    change: dict[str, Any], says: str
) -> None:
    body = changed_body(change)
    with pytest.raises(EntryUnreadable, match=says) as refused:
        decode(body)
    assert refused.value.body == body
    assert "\n" not in refused.value.reason


# ---- beside the codec ----


def test_the_header_in_kafka_says_the_version_of_the_bytes() -> None:
    versions = [
        dict(entry_row(EntryDraft(JOB, 1, encode(made))).headers)["v"]
        for made in (shared(), entry(JOB, 1, GENESIS, admitted()))
    ]
    assert versions == [b"2", b"1"]


def test_what_is_shown_as_data_has_the_spec_in_both_places_and_nothing_else_changed() -> None:
    written = raw(encode(shared()))
    shown = spelled_out(written)
    assert shown == {**written, "cause": {**written["cause"], "spec": SORTED}}
    assert spelled_out(shown) == shown


def test_a_damaged_reference_is_shown_as_it_is() -> None:
    for text in ("#/events/7/spec", "#/events/1/spec"):
        damaged = raw(changed_body({"spec": {"$ref": text}}))
        assert spelled_out(damaged) == damaged
