"""Records of Kafka ↔ what the log speaks of, without a broker: nothing that a topic may hold stops a reader."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from aiokafka.structs import ConsumerRecord

from statemachine.ids import JobUid
from statemachine.log.kafka.layout import RECORD_LIMIT
from statemachine.log.kafka.records import (
    COVERED,
    Covered,
    Message,
    Row,
    covered_of,
    covered_row,
    entry_row,
    letter_of,
    letter_row,
    record_of,
    retry_of,
    retry_row,
    snapshot_of,
    snapshot_row,
    trace_of,
)
from statemachine.log.port import UNUSABLE, DeadLetter, EntryDraft, Record, Snapshot
from statemachine.log.reader import Reader
from tests.support.logs import JOB, history

WHEN = datetime(2024, 5, 17, 9, 30, tzinfo=UTC)


def arrived(row: Row, offset: int = 7) -> Message:
    """The record as a consumer finds it."""
    when = int(WHEN.timestamp() * 1000)
    message: Message = ConsumerRecord(
        "topic", 0, offset, when, 1, row.key, row.value, None, len(row.key), 0, tuple(row.headers)
    )
    return message


def foreign(key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]) -> Message:
    message: Message = ConsumerRecord("topic", 0, 7, -1, 1, key, value, None, -1, -1, headers)
    return message


# ---- entries ----


def test_an_entry_comes_back_at_the_position_behind_its_offset() -> None:
    draft = EntryDraft(JOB, 12, b'{"v":1}')
    assert record_of(arrived(entry_row(draft), 41)) == Record(42, JOB, 12, draft.body)


def test_an_entry_says_what_it_is_in_its_headers() -> None:
    assert entry_row(EntryDraft(JOB, 3, b"")).headers == [("type", b"entry"), ("v", b"1"), ("seq", b"3")]


ENTRY = ("type", b"entry")


@pytest.mark.parametrize(
    "message",
    [
        foreign(None, None),
        foreign(None, b"x", ENTRY, ("seq", b"1")),
        foreign(b"", b"x", ENTRY, ("seq", b"1")),
        foreign(b"job", b"x"),
        foreign(b"job", b"x", ("seq", b"1")),
        foreign(b"job", b"x", ("type", None), ("seq", b"1")),
        foreign(b"job", b"x", ENTRY),
        foreign(b"job", b"x", ENTRY, ("seq", None)),
        foreign(b"job", b"x", ENTRY, ("seq", b"")),
        foreign(b"job", b"x", ENTRY, ("seq", b"-1")),
        foreign(b"job", b"x", ENTRY, ("seq", b"1.5")),
        foreign(b"job", b"x", ENTRY, ("seq", "\u0661".encode())),
        foreign(b"job", b"x", ENTRY, ("seq", b"9" * 5000)),
        foreign(b"\xff\xfe", b"\x00\xff"),
    ],
)
def test_what_is_no_entry_has_no_number_and_is_skipped_and_counted(message: Message) -> None:
    record = record_of(message)
    assert (record.position, record.seq) == (8, 0)
    reader = Reader()
    assert reader.accept(record) is None
    assert (reader.skipped, reader.position, list(reader.quarantined)) == (1, 8, [])


def test_a_removal_among_the_entries_is_an_entry_without_bytes() -> None:
    assert record_of(foreign(b"job", None, ENTRY, ("seq", b"2"))) == Record(8, JobUid("job"), 2, b"")


def test_what_is_no_entry_casts_no_doubt_on_the_job_whose_key_it_has() -> None:
    reader = Reader()
    first, second = history(2)
    reader.accept(record_of(arrived(entry_row(first), 0)))
    reader.accept(record_of(foreign(JOB.encode(), b"\xff")))
    assert reader.accept(record_of(arrived(entry_row(second), 9))) is not None


# ---- snapshots ----


@pytest.mark.parametrize("body", [b"", b"{}", b"\n", b"a\nb\n", bytes(range(256))])
def test_a_snapshot_comes_back_whole(body: bytes) -> None:
    snapshot = Snapshot(JOB, 5, "ab" * 32, 2, body, 17)
    assert snapshot_of(arrived(snapshot_row(snapshot))) == snapshot


def test_a_snapshot_that_no_record_can_hold_is_of_no_use_and_says_so() -> None:
    snapshot = snapshot_of(arrived(snapshot_row(Snapshot(JOB, 5, "ab", 1, b"x" * RECORD_LIMIT, 17))))
    assert snapshot == Snapshot(JOB, 5, "ab", UNUSABLE, b"", 17)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\xff",
        b"{}\n",
        b"[]\n",
        b"7\n",
        b"[" * 100_000,
        b'{"seq":"x","head":"","version":1,"source":0}\n',
        b'{"seq":1e999,"head":"","version":1,"source":0}\n',
        b'{"seq":null,"head":"","version":1,"source":0}\n',
    ],
)
def test_what_is_no_snapshot_is_none(value: bytes | None) -> None:
    assert snapshot_of(foreign(b"job", value)) is None
    assert covered_of(foreign(COVERED, value)) == Covered()


def test_a_snapshot_needs_a_key_that_is_text() -> None:
    value = snapshot_row(Snapshot(JOB, 1, "", 1, b"")).value
    assert snapshot_of(foreign(None, value)) is None
    assert snapshot_of(foreign(b"\xff", value)) is None


def test_what_is_covered_comes_back() -> None:
    assert covered_of(arrived(covered_row(Covered(12, 3)))) == Covered(12, 3)


# ---- what else an entry may say of itself ----


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize("trace", ["", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"])
def test_an_entry_that_was_moved_or_traced_says_so(moved: bool, trace: str) -> None:
    row = entry_row(EntryDraft(JOB, 3, b"{}", moved, trace))
    record = record_of(arrived(row))
    assert (record.seq, record.moved, record.trace) == (3, moved, trace)
    assert ("traceparent" in dict(row.headers)) == bool(trace)


def test_a_trace_that_can_be_none_is_left_out() -> None:
    assert trace_of([("traceparent", b"x" * 300)]) == ""
    assert trace_of([("traceparent", None)]) == ""


# ---- dead letters ----


def test_a_dead_letter_comes_back_whole_with_its_offset_as_id() -> None:
    when = datetime(2024, 1, 1, 10, 0, 0, 123, tzinfo=timezone(timedelta(hours=2)))
    letter = DeadLetter(when, JOB, b"\x00\xff", "nicht lesbar: ä")
    read_again = letter_of(arrived(letter_row(letter), 3), 2)
    assert read_again == DeadLetter(when, JOB, b"\x00\xff", "nicht lesbar: ä", 4, 2)
    assert read_again.name == "2-4"


def test_a_dead_letter_that_was_retried_elsewhere_says_so() -> None:
    letter = DeadLetter(WHEN, JOB, b"{}", "no", retried_at=WHEN)
    assert letter_of(arrived(letter_row(letter)), 0).retried_at == WHEN


def test_a_retry_is_a_record_of_its_own_and_no_letter_is_one() -> None:
    letter = DeadLetter(WHEN, JOB, b"{}", "no", 7, 2)
    assert retry_of(arrived(retry_row(letter, WHEN))) == (7, WHEN)
    assert retry_of(arrived(letter_row(letter))) is None
    for headers in ([], [("retried", b"7")], [("retried", b"x"), ("retried-at", b"2024-01-01T00:00:00Z")]):
        assert retry_of(arrived(Row(b"job", None, headers))) is None
    row = retry_row(letter, WHEN)
    assert retry_of(arrived(row._replace(value=b"{}"))) is None, "whatever has a body is a letter"


def test_a_dead_letter_that_no_record_can_hold_is_cut_off_and_says_so() -> None:
    row = letter_row(DeadLetter(WHEN, JOB, b"x" * (RECORD_LIMIT + 1), "e" * 100_000))
    assert row.fits
    letter = letter_of(arrived(row), 0)
    assert letter.error.endswith("larger than a record can be)")
    assert len(letter.observation) > RECORD_LIMIT * 0.9


@pytest.mark.parametrize("at", [b"", b"yesterday", b"2024-01-01T00:00:00", b"\xff"])
def test_a_dead_letter_without_a_time_has_the_one_of_the_broker(at: bytes) -> None:
    message = arrived(Row(b"job", b"{}", [("at", at)]))
    assert letter_of(message, 0).at == WHEN


def test_a_dead_letter_of_somebody_else_is_read_as_far_as_it_goes() -> None:
    letter = letter_of(foreign(None, None), 0)
    assert (letter.job, letter.observation, letter.id) == ("", b"", 8)
    assert letter.error == "it does not say what was wrong with it"
