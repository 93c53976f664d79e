"""Cursors of public events as text, of the log and of the topic."""

import pytest

from jobledger.program.errors import CursorRefused
from jobledger.publishing.cursors import Cursor, LogPlace, TopicPlace, cursor_in, in_log

LEDGER = "0a1b2c3d"


@pytest.mark.parametrize(
    ("cursor", "text"),
    [
        (Cursor(LEDGER, (LogPlace(7), LogPlace(12, 3))), "1-0a1b2c3d-7_12.3"),
        (Cursor(LEDGER, (TopicPlace(7), TopicPlace(12, 3))), "2-0a1b2c3d-7_12.3"),
    ],
)
def test_a_cursor_is_read_back_as_what_it_was(cursor: Cursor, text: str) -> None:
    assert str(cursor) == text
    assert cursor_in(text) == cursor
    read = cursor_in(text)
    assert read is not None
    assert [type(place) for place in read.places] == [type(place) for place in cursor.places]


@pytest.mark.parametrize(
    "text", ["3-0a1b2c3d-7", "2-0a1b2c3d-", "2-0a1b2c3d-7.1.2", "2-0a1b2c3-7", "2-0a1b2c3d-7_"]
)
def test_other_texts_are_none(text: str) -> None:
    assert cursor_in(text) is None


def test_a_place_in_the_topic_is_before_the_entry_that_it_names() -> None:
    assert TopicPlace(40, 12).in_log == LogPlace(11)
    assert TopicPlace(0).in_log == LogPlace(0)
    assert TopicPlace(40).in_log is None


def test_a_cursor_of_the_topic_goes_on_in_the_log_where_it_names_an_entry() -> None:
    ends = [LogPlace(12), LogPlace(5)]
    assert in_log(Cursor(LEDGER, (TopicPlace(40, 12), TopicPlace())), LEDGER, ends) == [
        LogPlace(11),
        LogPlace(),
    ]
    for cursor, code in (
        (Cursor(LEDGER, (TopicPlace(40, 14), TopicPlace())), "cursor-of-another-ledger"),
        (Cursor(LEDGER, (TopicPlace(40), TopicPlace())), "cursor-of-a-topic"),
        (Cursor("ffffffff", (TopicPlace(40, 12), TopicPlace())), "cursor-of-another-ledger"),
        (Cursor(LEDGER, (TopicPlace(40, 12),)), "cursor-of-another-ledger"),
    ):
        with pytest.raises(CursorRefused) as refused:
            in_log(cursor, LEDGER, ends)
        assert refused.value.code == code
