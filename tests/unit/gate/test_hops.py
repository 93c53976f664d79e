"""The count of what a change passes through."""

import pytest

from tests.gate.__main__ import main
from tests.gate.hops import WALKS, walked


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_passes_through_the_same_functions_again(walk: str) -> None:
    first, second = walked(WALKS[walk]), walked(WALKS[walk])
    assert first[1:] == second[1:]
    assert first.calls > first.functions > first.modules > 20


def test_the_walks_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hops"]) == 0
    assert [
        line.startswith(walk)
        for line, walk in zip(capsys.readouterr().out.splitlines()[1:], WALKS, strict=True)
    ]
