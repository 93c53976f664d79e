"""Which files a change touches, and whether a test depends on one of them."""

import ast
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

SETTLED: Final = 4 * 3600
"""Seconds. Without another base a commit that is so much older than the newest is no part of the change."""


def base(root: Path = ROOT) -> str:
    """The revision that a change begins after: JOBLEDGER_BASE, else where it left the branch it came from.

    In a clone that has nothing else than what was submitted, these are the commits of the last hours.
    """
    if given := os.environ.get("JOBLEDGER_BASE"):
        return given
    head = _git(root, "rev-parse", "HEAD")
    fork = _git(root, "merge-base", "HEAD", "@{upstream}")
    if fork and fork != head:
        return fork
    newest = int(_git(root, "show", "--no-patch", "--format=%ct", "HEAD") or 0)
    settled = _git(root, "rev-list", "-1", f"--before={newest - SETTLED}", "HEAD")
    return settled or _git(root, "rev-list", "--max-parents=0", "HEAD").split("\n")[-1]


def commit(root: Path = ROOT) -> str:
    """The commit of the tree, with a + if it was changed since."""
    return _git(root, "describe", "--always", "--dirty=+", "--exclude=*")


def changed_files(since: str, root: Path = ROOT) -> set[Path]:
    """The files that differ from `since`, committed or not, relative to `root`."""
    names = _git(root, "diff", "--name-only", since) + "\n"
    names += _git(root, "ls-files", "--others", "--exclude-standard")
    return {Path(name) for name in names.split("\n") if name}


def dependencies(test: Path, root: Path = ROOT) -> set[Path]:
    """The files that a test module depends on, relative to `root`: itself, what it imports, and its conftests.

    Modules of the tests are followed further, those of the product are not: nearly all of the product is behind any
    one of them, and no test would be left that a change does not touch.
    """
    conftests = {
        folder / "conftest.py" for folder in test.parents if (root / folder / "conftest.py").exists()
    }
    known, todo = set[Path](), {test, *conftests}
    while todo:
        module = todo.pop()
        known.add(module)
        if module.parts[0] == "tests":
            todo |= set(_imported(root, module)) - known
    return known


def _imported(root: Path, module: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse((root / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            path = Path(*name.split("."))
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if (root / file).is_file():
                    yield file


def _git(root: Path, *words: str) -> str:
    """What git prints, or nothing where it says no (no upstream, no repository)."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
