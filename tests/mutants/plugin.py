"""A plugin of pytest: the module that the mutant in JOBLEDGER_MUTANT changes is imported as changed.

Its file stays as it is, and nothing of it is cached. Without the variable nothing happens.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Final

import pytest

from tests.mutants import named
from tests.mutants.model import Mutant

VARIABLE: Final = "JOBLEDGER_MUTANT"

UNUSED: Final = 90
"""The exit code of a run of tests that never imported the module."""


class _Loader(SourceFileLoader):
    """Compiles the changed source under the name of the file that was to be changed."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """No cached code is read, and none is written."""
        source = self.get_data(self.path).decode()
        return compile(self._mutant.changed(source), self.path, "exec", dont_inherit=True)


class Finder(MetaPathFinder):
    """Finds the one module, before any other finder does."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self.used = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the mutant's module with another loader, nothing for other modules."""
        if fullname != self._mutant.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _Loader(self._mutant)
            self.used = True
        return spec


def install(name: str) -> Finder:
    """From now on the module of the mutant `name` is imported as changed; it must not have been imported before."""
    mutant = named(name)
    if mutant.module in sys.modules:
        raise ImportError(f"{mutant.module} was imported before the mutant {name} could change it")
    finder = Finder(mutant)
    sys.meta_path.insert(0, finder)
    return finder


_FINDER: Final = install(os.environ[VARIABLE]) if VARIABLE in os.environ else None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tests that pass without the module say nothing of the mutant."""
    if _FINDER is not None and not _FINDER.used:
        session.exitstatus = UNUSED
