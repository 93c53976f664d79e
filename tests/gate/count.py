"""How many tests and assertions there are, and where that differs from another revision.

Tests are what pytest collects, so that a parameter counts. Assertions are read from the source, helpers included:
`assert` statements, `pytest.raises` and `pytest.warns`, and calls of functions named `assert_…` or `check_…`.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from tests.gate.changed import ROOT
from tests.gate.checkout import NoRevision, checkout

_CHECKS: Final = re.compile(r"^(assert_|check_|raises$|warns$)")


class Count(NamedTuple):
    """Of one file: the tests that pytest collects from it, and the assertions in it."""

    tests: int
    assertions: int


def counts(root: Path) -> dict[str, Count]:
    """The counts of every module below `tests/` of a checkout."""
    tests = Counter(name.partition("::")[0] for name in _collected(root))
    files = sorted((root / "tests").rglob("*.py"))
    names = {str(file.relative_to(root)): assertions(file.read_text(encoding="utf-8")) for file in files}
    return {name: Count(tests[name], number) for name, number in names.items() if tests[name] or number}


def assertions(source: str) -> int:
    """How many places of a module check something."""
    return sum(_checks(node) for node in ast.walk(ast.parse(source)))


def compare(revision: str = "") -> int:
    """Prints the counts of this tree, and where they differ from `revision`; 0, or 2 if git does not know it."""
    now = counts(ROOT)
    _total("now", now)
    if not revision:
        return 0
    try:
        with checkout(revision) as tree:
            before = counts(tree)
    except NoRevision:
        return 2
    _total(revision, before)
    none = Count(0, 0)
    for name in sorted({*now, *before}):
        old, new = before.get(name, none), now.get(name, none)
        if old != new:
            print(
                f"{name}: tests {old.tests} -> {new.tests}, assertions {old.assertions} -> {new.assertions}"
            )
    return 0


def _checks(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return bool(_CHECKS.search(name))


def _collected(root: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def _total(name: str, modules: dict[str, Count]) -> None:
    tests, checks = (sum(column) for column in zip(*modules.values(), strict=True))
    print(f"{name}: {tests} tests, {checks} assertions in {len(modules)} modules")
