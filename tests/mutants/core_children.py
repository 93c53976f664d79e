"""Mutants of how pods are made, and said to be absent, while their job goes on."""

from typing import Final

from tests.mutants.model import Mutant

_LATE: Final = ("tests/unit/projectors/test_late_children.py", "tests/unit/projectors/test_children.py")


def _of(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"late-{name}", "projectors.child_writer", old, new, _LATE)


MUTANTS: Final = (
    _of(
        "withdrawn-pod-is-made",
        "        if replica is None or replica.leaving:\n            return False\n",
        "        if replica is None:\n            return False\n",
    ),
    _of(
        "absent-without-asking",
        "        if live is not None and _is_controlled_by(live, state.uid) and attempt_of(live) >= attempt:",
        "        if False:",
    ),
)
