"""Rules that a decision does not ask would have said nothing: in recorded lives, and of every report once more."""

from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from statemachine.decide import decided
from statemachine.evolve import fold
from statemachine.log.codec import decode
from statemachine.observations import TimerFired
from statemachine.rules import creation
from statemachine.rules.asking import Interest
from statemachine.state import JobState
from tests.histories.archive import archives, read
from tests.support.all_asked import all_asked
from tests.support.repetition import sized

_EVERY: Final = sized(3, 1)
"""Of so many lives of an archive, one is decided again."""


@pytest.mark.parametrize("path", archives(), ids=lambda path: path.name)
def test_asking_all_rules_says_the_same(path: Path) -> None:
    with all_asked() as surprises:
        everybody = _decisions(path)
    assert surprises == []
    assert _decisions(path) == everybody


def _decisions(path: Path) -> list[object]:
    """What causes of the archive lead to: at their time, and a second time behind their entries."""
    decisions: list[object] = []
    for life in islice(read(path), 0, None, _EVERY):
        entries = [decode(body) for body in life.bodies]
        state = JobState(entries[0].job)
        for entry in entries:
            decisions.append(decided(state, entry.cause))
            state = fold(state, entry.events)
            decisions.append(decided(state, entry.cause))
    return decisions


def test_a_rule_that_declares_too_little_surprises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation.refusals, "interest", Interest(frozenset({TimerFired})))
    with all_asked() as surprises:
        for path in archives():
            _decisions(path)
            if surprises:
                break
    assert surprises[0].startswith("refusals to WriteRefused")
