"""The verdict of a comparison, with times that are made up."""

from collections.abc import Callable, Iterator

import pytest

from tests.bench.compare import LIMIT, ROUNDS, TREE, Answer, Measure, compared
from tests.bench.once import WORK

Times = Callable[[str], float]


class Machine:
    """Measures what it is given, and knows in which order it was asked."""

    def __init__(self, **seconds: Iterator[float] | float) -> None:
        self.asked: list[tuple[str, str]] = []
        self._seconds = seconds

    def measure(self, side: str, name: str) -> Answer:
        self.asked.append((side, name))
        given = self._seconds.get(side, 1.0)
        return {"seconds": [9.0, given if isinstance(given, float) else next(given)]}


def sides(machine: Machine, name: str = "fold") -> str:
    return "".join("A" if side == TREE else "B" for side, asked in machine.asked if asked == name)


def test_rounds_alternate_and_both_sides_begin_as_often() -> None:
    machine = Machine()
    compared(machine.measure, "base")
    assert sides(machine) == "ABBA" * (ROUNDS // 2)
    assert ROUNDS >= 5


def test_a_tree_that_takes_longer_than_the_limit_is_slower_after_it_was_measured_again() -> None:
    machine = Machine(tree=LIMIT + 0.01)
    done = compared(machine.measure, "base")
    assert [one.is_slower for one in done] == [True] * len(WORK)
    assert len(sides(machine)) == 4 * ROUNDS


def test_a_tree_within_the_limit_is_measured_once_and_fine() -> None:
    machine = Machine(tree=LIMIT - 0.01)
    assert not any(one.is_slower for one in compared(machine.measure, "base"))
    assert len(sides(machine)) == 2 * ROUNDS


def test_a_round_that_something_else_disturbed_does_not_count() -> None:
    times = iter([1.0] + [1.5] * (len(WORK) * ROUNDS * 2))
    (fold, *_) = compared(Machine(tree=times).measure, "base")
    assert fold.verdict == "fine"


def test_a_suspicion_that_is_not_confirmed_is_none() -> None:
    times = iter([1.5] * ROUNDS + [1.0] * (len(WORK) * ROUNDS * 2))
    machine = Machine(tree=times)
    (fold, *_) = compared(machine.measure, "base")
    assert len(fold.tree) == 2 * ROUNDS
    assert not fold.is_slower


def differs(of: str) -> Measure:
    return lambda side, _: {"differs": "ImportError: no Reader"} if side == of else {"seconds": [1.0]}


def test_a_revision_with_another_api_is_not_compared_and_says_what_it_lacks() -> None:
    (fold, *_) = compared(differs("base"), "base")
    assert fold.verdict == "not compared: the other revision has another API: ImportError: no Reader"
    assert not fold.is_slower


def test_benchmarks_that_do_not_fit_their_own_tree_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="does not fit its own tree: ImportError: no Reader"):
        compared(differs(TREE), "base")
