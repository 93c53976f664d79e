"""A mutant: one small change of one module, and the tests that have to fail because of it."""

import ast
import builtins
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


class Stale(Exception):
    """A mutant says something of the source, or of a test, that is no longer so."""


@dataclass(frozen=True)
class Mutant:
    """`old`, which stands exactly once in the source of `module`, replaced by `new`; one of `tests` must fail.

    `tests` are folders, files or node ids of fast tests, the likeliest to fail first. `equivalent` is the reason why
    no test can tell the mutant from the product; then none of `tests` may fail.
    """

    name: str
    module: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""

    @property
    def area(self) -> str:
        """The package that a table lists it under."""
        parts = self.module.split(".")
        return ".".join(parts[: 2 if len(parts) > 2 else 1])

    @property
    def path(self) -> Path:
        """The file of `module`."""
        base = ROOT.joinpath(*self.module.split("."))
        return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")

    def changed(self, source: str) -> str:
        """The source of the mutant.

        Raises:
            Stale: `old` does not stand in `source`, or more than once, or the result is no other program, or it fails
                in any test because it reads a name that nothing binds.
        """
        count = source.count(self.old)
        if count != 1:
            raise Stale(f"{self.name}: {self.module} has its old text {count} times, not once")
        result = source.replace(self.old, self.new)
        try:
            same = _program(result) == _program(source)
        except SyntaxError as error:
            raise Stale(f"{self.name}: the mutant is not Python: {error}") from error
        if same:
            raise Stale(f"{self.name}: the mutant is the same program")
        if unbound := _unbound(result) - _unbound(source):
            raise Stale(f"{self.name}: the mutant reads {', '.join(sorted(unbound))}, which nothing binds")
        return result

    def check(self) -> None:
        """It can be applied, and its tests exist.

        Raises:
            Stale: something of that is not so.
        """
        if not self.path.is_file():
            raise Stale(f"{self.name}: there is no module {self.module}")
        self.changed(self.path.read_text(encoding="utf-8"))
        if not self.tests:
            raise Stale(f"{self.name}: no test is named that would fail")
        for test in self.tests:
            _exists(self.name, test)


@lru_cache(maxsize=4)  # mutants of a module follow one another, so what it was before them stays
def _program(source: str) -> str:
    return ast.dump(ast.parse(source))


@lru_cache(maxsize=4)
def _unbound(source: str) -> set[str]:
    """Names that a module reads and neither binds nor has of Python."""
    module = symtable.symtable(source, "<mutant>", "exec")
    symbols = [symbol for scope in _scopes(module) for symbol in scope.get_symbols()]
    bound = {
        symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()
    }
    read = {symbol.get_name() for symbol in symbols if symbol.is_referenced() and symbol.is_global()}
    return read - bound - set(dir(builtins))


def _scopes(scope: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield scope
    for inner in scope.get_children():
        yield from _scopes(inner)


def _exists(name: str, test: str) -> None:
    """`test` is a folder or a file, or a function or class in it, whatever parametrization makes of that."""
    file, *inside = test.partition("[")[0].split("::")
    path = ROOT / file
    if not path.exists():
        raise Stale(f"{name}: there is no test file {file}")
    if inside and f" {inside[-1]}(" not in path.read_text(encoding="utf-8"):
        raise Stale(f"{name}: {file} has no test {inside[-1]}")
