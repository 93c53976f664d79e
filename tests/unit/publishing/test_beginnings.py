"""Where readers of a log begin: what users say, and which place in the log that is."""

from datetime import UTC, datetime, timedelta

import pytest

from jobledger.publishing.beginnings import BEGINNING, Begin, begin_of, fixed_begin, places_behind
from jobledger.publishing.cursors import Cursor, LogPlace, TopicPlace
from jobledger.publishing.dating import DISORDER, position_since
from statemachine.errors import ConfigError
from statemachine.ids import JobUid
from statemachine.log.port import EntryDraft
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers

LEDGER = "0a1b2c3d"
CURSOR = Cursor(LEDGER, (LogPlace(7), LogPlace(12, 3)))


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("beginning", BEGINNING),
        ("", BEGINNING),
        ("end", Begin(at_end=True, moves=True)),
        ("2026-11-26T10:00:00+01:00", Begin(since=datetime(2026, 11, 26, 9, tzinfo=UTC))),
        (str(CURSOR), Begin(cursor=CURSOR)),
    ],
)
def test_a_text_says_where_to_begin(text: str, begin: Begin) -> None:
    assert begin_of("--from", text) == begin


def test_a_while_ago_is_a_time_that_moves() -> None:
    begin = begin_of("--from", "-1h")
    assert begin.since is not None
    assert abs(datetime.now(UTC) - timedelta(hours=1) - begin.since) < timedelta(minutes=5)
    assert begin.moves


@pytest.mark.parametrize("text", ["soon", "1-0a1b2c3d-", "-", "2026-13-01T00:00:00Z"])
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=f'--from "{text}" is no place to begin'):
        begin_of("--from", text)


@pytest.mark.parametrize("text", ["end", "-5m"])
def test_a_place_that_moves_is_refused_where_it_would_leave_something_out(text: str) -> None:
    with pytest.raises(ConfigError, match=f'--from "{text}" is another place whenever the command starts'):
        fixed_begin("--from", text)
    assert fixed_begin("--from", str(CURSOR)) == Begin(cursor=CURSOR)


def test_a_cursor_of_this_ledger_names_a_place_in_every_partition() -> None:
    assert places_behind(CURSOR, LEDGER, [7, 12]) == [LogPlace(7), LogPlace(12, 3)]
    for cursor, ledger in (
        (CURSOR, "ffffffff"),
        (Cursor(LEDGER, (LogPlace(7),)), LEDGER),
        (Cursor(LEDGER, (LogPlace(8), LogPlace(12))), LEDGER),
    ):
        with pytest.raises(ConfigError, match="the cursor is of another ledger than this one") as refused:
            places_behind(cursor, ledger, [7, 12])
        assert "after=" not in str(refused.value)


def test_a_cursor_of_the_topic_alone_names_no_place_in_the_log() -> None:
    with pytest.raises(ConfigError, match="names a place in the topic of events alone"):
        places_behind(Cursor(LEDGER, (TopicPlace(40), TopicPlace())), LEDGER, [7, 12])


async def test_a_time_is_before_the_first_entry_recorded_then_also_where_clocks_differ() -> None:
    """Entries at 0, 8, 3, 16, 11, 24 … minutes: two clocks, five minutes apart."""
    log = MemoryLog()
    minutes = [0, *(minute for pair in range(40) for minute in (8 * pair + 8, 8 * pair + 3))]
    for number, minute in enumerate(minutes):
        (body,) = Story(workers(1), uid=f"u-{number}").at(60 * minute).submit().bodies[:1]
        await log.append([EntryDraft(JobUid(f"u-{number}"), 1, body)])
    end = await log.end()
    for minute in range(-1, max(minutes) + 2):
        place = await position_since(log, end, START + timedelta(minutes=minute), DISORDER)
        first = next((at for at, recorded in enumerate(minutes) if recorded >= minute), len(minutes))
        assert place == first, minute
