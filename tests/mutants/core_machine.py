"""Mutants of what decides, folds and holds the phases."""

from typing import Final

from tests.mutants.model import Mutant

_FAST: Final = ("tests/scenarios/test_rules.py", "tests/scenarios/test_transitions.py")

MUTANTS: Final = (
    Mutant(
        "decide-closed-jobs",
        "statemachine.decide",
        "if state.closed or (",
        "if (",
        _FAST,
    ),
    Mutant(
        "decide-every-rule-sees-the-first-state",
        "statemachine.decide",
        "            state = evolve(state, event)\n",
        "",
        _FAST,
    ),
    Mutant(
        "backoff-third-in-a-row-waits-once-more",
        "statemachine.rules.backoff",
        "before - 2, 60",
        "before - 1, 60",
        ("tests/scenarios/test_backoff.py",),
    ),
    Mutant(
        "budget-one-more",
        "statemachine.rules.restart",
        "return _left(state) != 0",
        "return _left(state) != -1",
        _FAST,
    ),
    Mutant(
        "phases-paused-jobs-are-active",
        "statemachine.phases",
        "ACTIVE: Final = frozenset({",
        "ACTIVE: Final = frozenset({Phase.PAUSED, ",
        _FAST,
    ),
)
