"""The damaged histories: what was done to which life, and what verification and folding have to say of it."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from statemachine.decide import POLICY
from tests.histories.damaged import mutations as m

Raw = dict[str, Any]
NEWEST: Final = f"0.1.0-policy.{POLICY}"
"""The folder with lives of today's policy."""

OTHER: Final = "00000000-0000-0000-0000-000000000002"


@dataclass(frozen=True, slots=True)
class Case:
    """`verdict` with its finding at entry `at`, which says `says`; a reader accepts `folds` entries of the history.

    Of the `invalid` the first finding counts. `life` is one of the folder `release`: 10 entries, 15 with `succeeded`,
    13 with `elastic`, 9 with `labelled`.
    """

    name: str
    damage: m.Mutation
    verdict: Literal["valid", "warning", "invalid"]
    folds: int
    at: int = 0
    says: str = ""
    life: str = "restarted"
    release: str = NEWEST


def put(**values: object) -> Any:
    """These fields of the entry have other values."""
    return lambda raw: raw.update(values)


def cause(**values: object) -> Any:
    """These fields of the cause have other values."""
    return lambda raw: raw["cause"].update(values)


def event(number: int, **values: object) -> Any:
    """These fields of one of the events have other values."""
    return lambda raw: raw["events"][number].update(values)


def without(*path: str | int) -> Any:
    """The field is missing."""

    def take(raw: Any) -> None:
        for step in path[:-1]:
            raw = raw[step]
        del raw[path[-1]]

    return take


def more(**fields: object) -> Any:
    """One more event stands at the end."""
    return lambda raw: raw["events"].append(fields)


def observed_at(at: str) -> Any:
    """The entry and its cause say another time."""

    def change(raw: Raw) -> None:
        raw["seen_at"] = raw["cause"]["at"] = at

    return change


def all_of(*changes: Any) -> Any:
    """One change after the other."""
    return lambda raw: [change(raw) for change in changes]


SAID: Final = {"type": "Announced", "v": 1, "reason": "Noted", "message": "m"}
TWO_MINUTES_BEFORE: Final = "2024-01-09T14:58:00Z"
GAP = "what lies between is missing or was refused"
LINK = "it does not name entry"

VALID: Final = (
    Case("whole", m.whole, "valid", 10),
    Case("whole_and_closed", m.whole, "valid", 15, life="succeeded"),
    Case("empty", m.cut(0), "valid", 0),
    Case("last_entry_cut_off", m.cut(9), "valid", 9),
    Case("only_the_first_entry_left", m.cut(1), "valid", 1),
    Case("positions_with_holes", m.apart, "valid", 10),
    Case(
        "last_entry_written_with_spaces",
        m.bytes_of(10, lambda body: body.replace(b",", b", ", 3)),
        "valid",
        10,
    ),
    Case("events_of_no_policy", m.forged(10, all_of(put(policy=0), more(**SAID))), "valid", 10),
    Case("a_minute_out_of_order", m.forged(5, observed_at("2024-01-09T14:59:20Z")), "valid", 10),
    Case("event_without_version", m.forged(4, without("events", 0, "v")), "valid", 10),
    Case("another_message_of_the_same_cause", m.forged(2, cause(message="Started")), "valid", 10),
)

WARNED_OF: Final = (
    Case(
        "clock_put_back",
        m.forged(5, observed_at(TWO_MINUTES_BEFORE)),
        "warning",
        10,
        5,
        "140 s before the entry",
    ),
    Case(
        "last_entry_of_a_newer_policy",
        m.forged(10, put(policy=99)),
        "warning",
        10,
        10,
        "of a newer jobledger",
    ),
    Case(
        "release_put_back",
        m.forged(8, put(policy=5)),
        "warning",
        10,
        8,
        f"by policy 5, and the entry before it by {POLICY}",
    ),
    Case(
        "newer_policy",
        m.forged(4, all_of(put(policy=99), more(**SAID))),
        "warning",
        10,
        4,
        "of a newer jobledger",
    ),
)

MISSING: Final = (
    Case("first_entry_removed", m.removed(1), "invalid", 0, 2, GAP),
    Case("entry_removed", m.removed(5), "invalid", 4, 6, GAP),
    Case("two_entries_removed", m.removed(5, 6), "invalid", 4, 7, GAP),
    Case("all_but_the_last_removed", m.removed(*range(1, 10)), "invalid", 0, 10, GAP),
    Case("entry_repeated", m.repeated(4, behind=4), "invalid", 10, 4, "has its entry 4 already"),
    Case(
        "first_entry_repeated_at_the_end",
        m.repeated(1, behind=10),
        "invalid",
        10,
        1,
        "has its entry 1 already",
    ),
    Case("whole_history_twice", m.twice, "invalid", 10, 1, "has its entry 1 already"),
    Case("closed_history_twice", m.twice, "invalid", 15, 1, "has its entry 1 already", life="succeeded"),
    Case("two_entries_swapped", m.swapped(6, 7), "invalid", 6, 7, GAP),
    Case("first_and_last_swapped", m.swapped(1, 10), "invalid", 1, 10, GAP),
    Case("last_entry_first", m.reversed_, "invalid", 1, 10, GAP),
    Case("number_skipped", m.renumbered(6, 7), "invalid", 5, 7, "it says that it is entry 6"),
    Case("late_writer", m.branch(4, event(2, message="late")), "invalid", 10, 4, "has its entry 4 already"),
)

CHANGED: Final = (
    Case(
        "bit_of_an_event",
        m.bytes_of(3, m.flipped(b'"uid":"worker-1.')),
        "invalid",
        3,
        3,
        "decided otherwise now",
    ),
    Case("bit_of_a_name", m.bytes_of(6, m.flipped(b'"pod":"')), "invalid", 6, 7, LINK),
    Case("bit_of_a_prev", m.bytes_of(6, m.flipped(b'"prev":"')), "invalid", 5, 6, LINK),
    Case("bit_of_a_brace", m.bytes_of(6, m.flipped(b'"cause":')), "invalid", 5, 6, "not JSON"),
    Case("bit_of_a_field_name", m.bytes_of(6, m.flipped(b',"')), "invalid", 5, 6, "cannot be read"),
    Case(
        "bit_of_the_last_event",
        m.bytes_of(10, m.flipped(b'"limit":')),
        "invalid",
        10,
        10,
        "decided otherwise now",
    ),
    Case(
        "last_entry_torn", m.bytes_of(10, lambda body: body[: len(body) // 2]), "invalid", 9, 10, "not JSON"
    ),
    Case("entry_torn", m.bytes_of(4, lambda body: body[:-1]), "invalid", 3, 4, "not JSON"),
    Case("entry_empty", m.bytes_of(4, lambda body: b""), "invalid", 3, 4, "not JSON"),
    Case("entry_of_zeros", m.bytes_of(4, lambda body: bytes(len(body))), "invalid", 3, 4, "not JSON"),
    Case("entry_of_no_text", m.bytes_of(4, lambda body: b"\xff\xfe" + body), "invalid", 3, 4, "not JSON"),
    Case("entry_is_a_list", m.bytes_of(4, lambda body: b"[%b]" % body), "invalid", 3, 4, "not a JSON object"),
    Case("entry_is_deep", m.bytes_of(4, lambda body: b"[" * 100_000), "invalid", 3, 4, "not JSON"),
    Case("entry_twice_in_one_record", m.bytes_of(4, lambda body: body + body), "invalid", 3, 4, "not JSON"),
    Case(
        "first_names_a_prev", m.unchained(1, put(prev="0" * 64)), "invalid", 0, 1, "names an entry before it"
    ),
    Case("prev_is_empty", m.unchained(5, put(prev="")), "invalid", 4, 5, LINK),
    Case("number_in_the_bytes", m.unchained(5, put(seq=6)), "invalid", 4, 5, "it says that it is entry 6"),
    Case("job_in_the_bytes", m.unchained(5, put(job=OTHER)), "invalid", 4, 5, f"entry 5 of job {OTHER}"),
    Case("whitespace_in_the_middle", m.bytes_of(4, lambda body: body + b" "), "invalid", 4, 5, LINK),
)

UNKNOWN: Final = (
    Case("newer_entry_version", m.forged(4, put(v=3)), "invalid", 3, 4, "newer jobledger"),
    Case("newer_event_version", m.forged(4, event(0, v=2)), "invalid", 3, 4, "ReplicaFailed has version 2"),
    Case(
        "older_event_version",
        m.forged(4, event(0, v=0)),
        "invalid",
        3,
        4,
        "no upcaster leads from there to 1",
    ),
    Case(
        "unknown_event", m.forged(4, event(0, type="ReplicaSlept")), "invalid", 3, 4, "no event ReplicaSlept"
    ),
    Case("event_without_type", m.forged(4, without("events", 0, "type")), "invalid", 3, 4, "lacks its type"),
    Case("event_without_replica", m.forged(4, without("events", 0, "replica")), "invalid", 3, 4, "replica"),
    Case("event_with_another_field", m.forged(4, event(0, colour="red")), "invalid", 3, 4, "colour"),
    Case("events_are_no_list", m.forged(4, put(events={})), "invalid", 3, 4, "not a list"),
    Case("no_cause", m.forged(4, without("cause")), "invalid", 10, 4, "missing required field `cause`"),
    Case("unknown_cause", m.forged(4, cause(type="WeatherObserved")), "invalid", 10, 4, "cause"),
    Case("cause_with_another_field", m.forged(4, cause(colour="red")), "invalid", 10, 4, "colour"),
    Case("time_is_no_time", m.forged(4, put(seen_at="yesterday")), "invalid", 10, 4, "seen_at"),
    Case("policy_is_no_number", m.forged(4, put(policy="six")), "invalid", 10, 4, "policy"),
    Case("text_is_no_unicode", m.forged(4, event(2, message="\ud800")), "invalid", 3, 4, "cannot be read"),
)

FORGED: Final = (
    Case("cause_forged", m.forged(4, cause(node="n2")), "invalid", 10, 4, "decided otherwise now"),
    Case("phase_of_a_pod_forged", m.forged(4, cause(phase="Succeeded")), "invalid", 10, 4, "otherwise now"),
    Case("cause_of_another_job", m.forged(4, cause(job=OTHER)), "invalid", 10, 4, "not those of its cause"),
    Case(
        "time_forged",
        m.forged(4, put(seen_at="2024-01-09T15:00:19Z")),
        "invalid",
        10,
        4,
        "not those of its cause",
    ),
    Case("actor_forged", m.forged(1, put(actor="mallory")), "invalid", 10, 1, "not those of its cause"),
    Case("actor_of_a_pod", m.forged(4, put(actor="mallory")), "invalid", 10, 4, "not those of its cause"),
    Case("event_taken_out", m.forged(4, without("events", 2)), "invalid", 10, 4, "decided otherwise now"),
    Case(
        "last_event_taken_out",
        m.forged(4, without("events", 3)),
        "invalid",
        10,
        4,
        "more events are decided now",
    ),
    Case("event_put_in", m.forged(4, more(**SAID)), "invalid", 10, 4, "fewer events are decided now"),
    Case("no_events", m.forged(10, put(events=[])), "invalid", 10, 10, "more events are decided now"),
    Case(
        "budget_forged", m.forged(4, event(1, spent=0)), "invalid", 10, 4, "event 2 is decided otherwise now"
    ),
    Case(
        "end_forged",
        m.forged(10, event(4, phase="Succeeded")),
        "invalid",
        10,
        10,
        "event 5 is decided otherwise",
    ),
    Case(
        "spec_forged", m.forged(1, event(0, generation=2)), "invalid", 10, 1, "event 1 is decided otherwise"
    ),
    Case("entry_behind_the_end", m.added(put(), of=12), "invalid", 15, 16, "job is closed", life="succeeded"),
    Case(
        "observation_of_nothing_new", m.added(put(), of=9), "invalid", 11, 11, "fewer events are decided now"
    ),
    Case(
        "two_damages",
        m.both(m.removed(8), m.bytes_of(4, m.flipped(b'"node":"n'))),
        "invalid",
        4,
        4,
        "otherwise",
    ),
)

_OTHER_EVENT: Final = "does not refer to the spec of event 1"
_OWN_SPEC: Final = {"replicaSpecs": [{"type": "worker", "replicas": 1}]}

REFERENCES: Final = tuple(
    Case(name, m.forged(at, change), "invalid", 13, at, says, "elastic")
    for name, at, change, says in (
        ("reference_to_another_event", 1, cause(spec={"$ref": "#/events/1/spec"}), _OTHER_EVENT),
        ("reference_that_is_none", 1, cause(spec={"$ref": 0}), _OTHER_EVENT),
        ("spec_in_full_in_version_2", 1, cause(spec=_OWN_SPEC), _OTHER_EVENT),
        ("no_spec_in_version_2", 1, without("cause", "spec"), "missing required field `spec`"),
        ("reference_in_version_1", 1, put(v=1), "event 1 is decided otherwise now"),
        ("pod_in_version_2", 4, put(v=2), "its cause is no JobObserved but a PodObserved"),
    )
)
REFERENCE_TO_NOTHING: Final = Case(
    "reference_to_a_missing_event",
    m.forged(4, without("events", 0)),
    "invalid",
    9,
    4,
    "no event has one",
    "labelled",
)

CASES: Final = (*VALID, *WARNED_OF, *MISSING, *CHANGED, *UNKNOWN, *FORGED, *REFERENCES, REFERENCE_TO_NOTHING)
