"""Values in buckets."""

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from jobledger.telemetry.histogram import Spread

BOUNDS = (0.5, 1, 5)


def test_a_value_on_a_bound_is_within_it() -> None:
    spread = Spread(BOUNDS)
    for number in (0.5, 0.6, 1, 5, 5.1):
        spread.add(number)
    assert spread.cumulative() == [("0.5", 1), ("1.0", 3), ("5.0", 4), ("+Inf", 5)]
    assert spread.sum == 12.2


def test_time_that_runs_backwards_took_none() -> None:
    spread = Spread(BOUNDS)
    spread.add(-3)
    assert (spread.sum, spread.cumulative()[0]) == (0, ("0.5", 1))


@given(values=st.lists(st.floats(0, 10), max_size=30))
def test_each_bucket_holds_all_values_up_to_its_bound(values: list[float]) -> None:
    spread = Spread(BOUNDS)
    for value in values:
        spread.add(value)
    ordered = sorted(values)
    expected = [float(bisect_right(ordered, bound)) for bound in BOUNDS]
    assert [count for _, count in spread.cumulative()] == [*expected, float(len(values))]
