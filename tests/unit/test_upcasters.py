"""Old events made new."""

import pytest

from statemachine.upcasters import ENTRY, UPCASTERS, VERSIONS, NotLifted, Raw, upcast


def raw_entry(*events: Raw, v: int = 1) -> Raw:
    return {"v": v, "job": "j", "seq": 1, "events": list(events)}


def test_every_event_has_a_version() -> None:
    assert VERSIONS["JobAdmitted"] == 2
    assert all(version >= 1 for version in VERSIONS.values())


def test_every_upcaster_lifts_to_a_version_that_is_known_or_lifted_further() -> None:
    for type_, version in UPCASTERS:
        assert type_ == ENTRY or version < VERSIONS.get(type_, version + 1)


def test_an_entry_of_the_present_stays_as_it_is() -> None:
    entry = raw_entry({"type": "JobClosed", "v": 1})
    assert upcast(entry, 1, registry={}) == entry


def test_an_event_climbs_one_version_after_the_other() -> None:
    steps = {
        ("Spoken", 1): lambda old: {"type": "Spoken", "v": 2, "words": [old["word"]]},
        ("Spoken", 2): lambda old: {"type": "Spoken", "v": 3, "text": " ".join(old["words"])},
    }
    lifted = upcast(
        raw_entry({"type": "Spoken", "v": 1, "word": "yes"}), 1, registry=steps, versions={"Spoken": 3}
    )
    assert lifted["events"] == [{"type": "Spoken", "v": 3, "text": "yes"}]


def test_an_event_may_be_given_another_name() -> None:
    steps = {("Said", 2): lambda old: {**old, "type": "Spoken", "v": 1}}
    lifted = upcast(raw_entry({"type": "Said", "v": 2, "x": 1}), 1, registry=steps, versions={"Spoken": 1})
    assert lifted["events"] == [{"type": "Spoken", "v": 1, "x": 1}]


def test_the_entry_itself_is_lifted_before_its_events() -> None:
    steps = {
        (ENTRY, 1): lambda old: {"type": ENTRY, "v": 2, "events": old["decided"]},
        ("Spoken", 1): lambda old: {**old, "v": 2},
    }
    entry = {"v": 1, "decided": [{"type": "Spoken", "v": 1}]}
    assert upcast(entry, 2, registry=steps, versions={"Spoken": 2}) == {
        "v": 2,
        "events": [{"type": "Spoken", "v": 2}],
    }


def test_what_is_given_is_not_changed() -> None:
    event = {"type": "Spoken", "v": 1}
    entry = raw_entry(event)
    upcast(entry, 1, registry={("Spoken", 1): lambda old: {**old, "v": 2}}, versions={"Spoken": 2})
    assert entry == raw_entry({"type": "Spoken", "v": 1})


def test_a_version_without_an_upcaster_is_named() -> None:
    with pytest.raises(NotLifted, match="Spoken has version 1, and no upcaster leads from there to 3"):
        upcast(raw_entry({"type": "Spoken", "v": 1}), 1, registry={}, versions={"Spoken": 3})


@pytest.mark.parametrize(
    "entry", [raw_entry({"type": "Spoken", "v": 4}), raw_entry({"type": "Sung", "v": 1}), raw_entry(v=2)]
)
def test_what_is_newer_than_what_is_known_was_written_by_a_newer_jobledger(entry: Raw) -> None:
    with pytest.raises(NotLifted, match="newer jobledger"):
        upcast(entry, 1, registry={}, versions={"Spoken": 3})


def test_an_upcaster_that_does_not_climb_ends() -> None:
    with pytest.raises(NotLifted):
        upcast(
            raw_entry({"type": "Spoken", "v": 1}),
            1,
            registry={("Spoken", 1): lambda old: old},
            versions={"Spoken": 2},
        )
