"""Entries and snapshots ↔ bytes."""

import hashlib
import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachine.errors import EntryUnreadable, Problem
from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    ChildChanged,
    Condition,
    ConditionsChanged,
    Event,
    JobClosed,
    PhaseEntered,
    ReplicaFailed,
    ReplicaRequested,
    ReplicaStarted,
    RestartScheduled,
    TimerSet,
    UpdateIgnored,
)
from statemachine.evolve import fold
from statemachine.ids import PodUid, replica_name
from statemachine.log.codec import (
    decode,
    decode_events,
    decode_observation,
    decode_state,
    encode,
    encode_observation,
    encode_state,
    entry_hash,
)
from statemachine.log.entry import GENESIS, Entry
from statemachine.observations import Container, ContainerStatus, JobObserved, Observation
from statemachine.phases import Phase, Trigger
from statemachine.state import JobState
from tests.support.arbitrary import ENTRIES, OBSERVATIONS, arbitrary
from tests.support.logs import JOB, START, accepted, admitted, entry, history

WORKER = replica_name("worker", 1)


def raw(body: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def changed_body(**fields: Any) -> bytes:
    return json.dumps(raw(encode(entry(JOB, 1, GENESIS, admitted()))) | fields).encode()


# ---- writing ----


@given(ENTRIES)
def test_a_decoded_entry_is_the_encoded_one(any_entry: Entry) -> None:
    assert decode(encode(any_entry)) == any_entry


@given(ENTRIES)
def test_the_same_entry_gives_the_same_bytes_also_after_a_round_trip(any_entry: Entry) -> None:
    body = encode(any_entry)
    assert encode(deepcopy(any_entry)) == body
    assert encode(decode(body)) == body


@given(ENTRIES)
def test_the_bytes_hold_no_more_than_an_entry_and_are_compact_json(any_entry: Entry) -> None:
    body = encode(any_entry)
    assert b"\n" not in body
    assert list(raw(body))[:4] == ["v", "job", "seq", "prev"]


@given(st.sampled_from(get_args(Event)).flatmap(arbitrary))
def test_type_and_version_of_an_event_are_always_written_and_first(event: Event) -> None:
    written = raw(encode(entry(JOB, 2, "x", [event])))["events"][0]
    assert list(written.items())[:2] == [("type", event.type), ("v", event.v)]


@given(ENTRIES)
def test_the_type_of_the_cause_is_always_written_and_first(any_entry: Entry) -> None:
    cause = raw(encode(any_entry))["cause"]
    assert next(iter(cause.items())) == ("type", any_entry.cause.type)


def test_an_event_without_other_fields_is_its_tags() -> None:
    assert b'"events":[{"type":"JobClosed","v":1}]' in encode(entry(JOB, 2, "x", [JobClosed()]))


def test_fields_that_hold_their_default_are_not_written() -> None:
    container = Container(name="main", state=ContainerStatus.RUNNING)
    started = ReplicaStarted(replica=WORKER, uid=PodUid("u"), containers=(container,))
    written = raw(encode(entry(JOB, 2, "x", [started])))
    assert set(written["events"][0]) == {"type", "v", "replica", "uid", "containers"}
    assert set(written["events"][0]["containers"][0]) == {"name", "state"}
    assert {"actor", "source", "happened_at"}.isdisjoint(written)


def test_zero_and_false_that_are_no_defaults_are_written() -> None:
    container = Container(name="main", state=ContainerStatus.TERMINATED, exit_code=0)
    started = ReplicaStarted(replica=WORKER, uid=PodUid("u"), containers=(container,))
    assert raw(encode(entry(JOB, 2, "x", [started])))["events"][0]["containers"][0]["exit_code"] == 0


def test_an_entry_without_events_can_be_written_and_read() -> None:
    empty = entry(JOB, 2, "x", [])
    assert decode(encode(empty)) == empty


def test_a_text_that_is_no_unicode_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        encode(entry(JOB, 2, "x", [Announced(reason="Said", message="\ud800")]))


def test_the_order_of_the_users_fields_is_kept() -> None:
    body = encode(entry(JOB, 1, GENESIS, admitted()))
    first = decode(body).events[0]
    assert first.type == "JobAdmitted"
    assert list(first.spec) == ["replicaSpecs"]
    assert list(first.spec["replicaSpecs"][0]) == ["type", "replicas"]


@given(OBSERVATIONS)
def test_an_observation_by_itself_is_read_as_it_was_written(observation: Observation) -> None:
    assert decode_observation(encode_observation(observation)) == observation


def test_an_observation_without_labels_does_not_speak_of_them() -> None:
    observation = entry(JOB, 1, GENESIS, admitted()).cause
    assert isinstance(observation, JobObserved)
    assert b"labels" not in encode_observation(observation)
    some = observation.changed(labels={"team": "a"})
    assert b'"labels":{"team":"a"}' in encode_observation(some)


# ---- reading ----


def test_reading_for_folding_gives_the_same_events_as_reading_whole() -> None:
    for draft in history(5):
        whole, part = decode(draft.body), decode_events(draft.body)
        assert (part.job, part.seq, part.prev, part.events) == (
            whole.job,
            whole.seq,
            whole.prev,
            whole.events,
        )


def test_reading_for_folding_does_not_look_at_the_cause() -> None:
    body = changed_body(cause={"type": "SomethingUnheardOf"})
    assert decode_events(body).seq == 1
    with pytest.raises(EntryUnreadable):
        decode(body)


def test_instants_keep_their_moment_whatever_their_zone() -> None:
    there = datetime(2024, 1, 1, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert decode(encode(entry(JOB, 2, "x", [TimerSet(timer="t", due_at=there)]))).events[0] == TimerSet(
        timer="t", due_at=there.astimezone(UTC)
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"v":1', "not JSON"),
        (b"[" * 50_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "its version"),
        (changed_body(seq="first"), "`$.seq`"),
        (changed_body(events={}), "events"),
        (changed_body(events=[1]), "events"),
        (changed_body(events=[{"v": 1}]), "its type"),
        (changed_body(events=[{"type": "JobClosed", "v": "one"}]), "its version"),
        (changed_body(events=[{"type": "JobClosed", "v": 1, "surprise": 1}]), "surprise"),
        (changed_body(events=[{"type": "TimerSet", "v": 1, "timer": "t", "due_at": "soon"}]), "due_at"),
    ],
)
def test_what_is_no_entry_is_unreadable_with_a_reason_and_its_bytes(body: bytes, reason: str) -> None:
    for read in (decode, decode_events):
        with pytest.raises(EntryUnreadable) as refused:
            read(body)
        assert reason in refused.value.reason
        assert "lifted" not in refused.value.reason, "it has the present version"
        assert refused.value.body == body


@pytest.mark.parametrize(
    "body",
    [
        changed_body(v=3),
        changed_body(events=[{"type": "JobClosed", "v": 2}]),
        changed_body(events=[{"type": "JobTeleported", "v": 1}]),
    ],
)
def test_an_entry_of_the_future_says_that_a_newer_jobledger_wrote_it(body: bytes) -> None:
    with pytest.raises(EntryUnreadable, match="written by a newer jobledger"):
        decode_events(body)


def test_an_old_event_is_read_through_its_upcaster() -> None:
    body = changed_body(events=[{"type": "ChildrenAccepted", "v": 0, "number": 3}])
    upcasters = {("ChildrenAccepted", 0): lambda old: {"type": old["type"], "v": 1, "start": old["number"]}}
    assert decode(body, upcasters=upcasters).events == accepted(3)
    assert decode_events(body, upcasters=upcasters).events == accepted(3)


def test_an_upcaster_that_gives_nonsense_makes_the_entry_unreadable() -> None:
    body = changed_body(events=[{"type": "ChildrenAccepted", "v": 0}])
    upcasters = {("ChildrenAccepted", 0): lambda old: {**old, "v": 1}}
    with pytest.raises(EntryUnreadable, match=r"lifted.*start"):
        decode(body, upcasters=upcasters)


def test_an_entry_of_the_present_never_meets_an_upcaster() -> None:
    def never(_: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError

    assert decode_events(history(1)[0].body, upcasters={("JobAdmitted", 1): never}).seq == 1


def test_the_hash_is_the_sha256_of_all_bytes() -> None:
    assert entry_hash(b"abc") == hashlib.sha256(b"abc").hexdigest()


# ---- snapshots ----


def full_state() -> JobState:
    cause = Cause(kind=CauseClass.APPLICATION_EXIT, rule="T11", exit_code=3, budget_before=2, budget_after=1)
    container = Container(name="main", state=ContainerStatus.TERMINATED, exit_code=3)
    condition = Condition(type="Initialized", status="True", reason="r", message="m")
    events: tuple[Event, ...] = (
        *admitted(),
        ReplicaRequested(replica=WORKER, attempt=1),
        ConditionsChanged(at=START, conditions=(condition,)),
        ReplicaFailed(replica=WORKER, uid=PodUid("u"), containers=(container,), cause=cause),
        RestartScheduled(replica=WORKER, spent=1, limit=2, cause=cause),
        TimerSet(timer="deadline", due_at=START + timedelta(microseconds=1)),
        TimerSet(timer="again", due_at=START),
        ChildChanged(kind="TensorBoard", name="board", uid="b", facts={"running": "true"}),
        UpdateIgnored(generation=2, problems=(Problem("V7", "spec.x", "may not change"),)),
        PhaseEntered(phase=Phase.FAILED, trigger=Trigger.FAILURE_MET, rule="T9", at=START, cause=cause),
        TimerSet(timer="z", due_at=START),
        TimerSet(timer="a", due_at=START),
    )
    return fold(JobState(JOB), events)


@pytest.mark.parametrize("state", [JobState(JOB), full_state(), fold(full_state(), [JobClosed()])])
def test_a_decoded_state_equals_the_encoded_one(state: JobState) -> None:
    assert decode_state(encode_state(state)) == state


def test_a_decoded_state_has_its_mappings_in_the_same_order() -> None:
    state = full_state()
    again = decode_state(encode_state(state))
    assert list(again.replicas) == list(state.replicas)
    assert list(again.timers) == list(state.timers) == ["z", "a"]


def test_a_decoded_state_folds_on_as_the_encoded_one() -> None:
    state = full_state()
    again = decode_state(encode_state(state))
    assert fold(again, accepted(4)) == fold(state, accepted(4))


def test_a_state_is_written_the_same_again() -> None:
    body = encode_state(full_state())
    assert encode_state(decode_state(body)) == body


@pytest.mark.parametrize("body", [b"", b"{}", b'{"uid":"x","phase":"Nowhere"}'])
def test_what_is_no_state_is_unreadable(body: bytes) -> None:
    with pytest.raises(EntryUnreadable, match="snapshot"):
        decode_state(body)
