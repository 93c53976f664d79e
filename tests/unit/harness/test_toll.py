"""What fire and chaos have to have done, by size."""

import pytest

from tests.support.cluster_toll import KILLS_AT_WORK, RESTARTS, Toll, at_work


def test_what_happened_less_often_than_it_had_to_is_named() -> None:
    toll = Toll()
    toll.add(KILLS_AT_WORK, 2)
    toll.add(KILLS_AT_WORK)
    assert list(toll.short_of({KILLS_AT_WORK: 3, RESTARTS: 1})) == ["restarts: 0, and not 1"]
    assert list(toll.short_of({KILLS_AT_WORK: 4})) == ["kills of a process that worked: 3, and not 4"]


def test_it_says_all_that_happened() -> None:
    toll = Toll()
    toll.add(RESTARTS, 7)
    toll.add(KILLS_AT_WORK)
    assert str(toll) == "1 kills of a process that worked, 7 restarts"


@pytest.mark.parametrize(("kills", "least"), [(1, 1), (2, 1), (3, 2), (10, 6), (50, 32)])
def test_most_kills_have_to_hit_a_process_at_work(kills: int, least: int) -> None:
    assert at_work(kills) == least
