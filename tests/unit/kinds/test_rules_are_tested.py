"""Every rule of every kind has a test that bears its name."""

import re
from pathlib import Path

import pytest

from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.rulebook import Layer, Rule

TESTS = Path(__file__).parents[2]


def functions_of_tests() -> list[str]:
    """Names of all test functions under `tests/`."""
    sources = (path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.py")))
    return [name for source in sources for name in re.findall(r"def (test_\w+)", source)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_every_rule_is_named_by_a_test(kind: Kind) -> None:
    names = functions_of_tests()
    ids = dict.fromkeys(rule.id.lower() for rule in kind.rules)
    assert [id_ for id_ in ids if not any(name.startswith(f"test_{id_}_") for name in names)] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)
def test_every_rule_is_complete(kind: Kind) -> None:
    def incomplete(rule: Rule) -> bool:
        by_layer = {
            Layer.SCHEMA: bool(rule.fields),
            Layer.CEL: bool(rule.cel),
            Layer.CONTROLLER: rule.check is not None,
            Layer.WARNING: rule.check is not None,
        }
        return not (rule.says and rule.text and rule.source and by_layer[rule.layer])

    assert [rule.id for rule in kind.rules if incomplete(rule)] == []
