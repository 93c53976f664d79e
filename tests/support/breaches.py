"""Wrong variants of the product, which tests must fail on, and a plugin of pytest that runs tests on them.

`pytest -p tests.support.breaches TEST …` runs the tests of `tests.support.promises.BREACHES` on their variants: the
body of one function is another while such a test runs. No file is changed.
"""

import inspect
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

_SHOWN: Final[set["Breach"]] = set()
"""Those on which a test has failed: one of its parameters will do."""


@dataclass(frozen=True)
class Breach:
    """A variant in which `old`, which stands once in `function` (`module:Class.method`), is replaced by `new`."""

    promise: str
    """The heading in docs/guarantees.md."""
    wrong: str
    """What the variant does, in a sentence."""
    test: str
    """The test that must fail on it: a node id without parameters, which stands below that heading."""
    function: str
    old: str
    new: str

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The product is this variant."""
        function = self._function()
        right = function.__code__
        function.__code__ = self._variant(function)
        try:
            yield
        finally:
            function.__code__ = right

    def _function(self) -> FunctionType:
        module, _, path = self.function.partition(":")
        value: Any = import_module(module)
        for name in path.split("."):
            value = getattr(value, name, None)
        return _plain(value)

    def _variant(self, function: FunctionType) -> CodeType:
        source = dedent(inspect.getsource(function))
        count = source.count(self.old)
        if count != 1:
            raise pytest.UsageError(f"{self.function} has {self.old!r} {count} times: the breach is stale")
        place = dict(function.__globals__)
        changed = compile(source.replace(self.old, self.new), function.__code__.co_filename, "exec")
        exec(changed, place)  # noqa: S102 - it is our own source but for one change
        return _plain(place[function.__name__]).__code__


def _plain(value: Any) -> FunctionType:
    """The function that a method, or a class method, is made of."""
    value = getattr(value, "__func__", value)
    if not isinstance(value, FunctionType):
        raise pytest.UsageError(f"{value} is no function: the breach is stale")
    return value


def node(nodeid: str) -> str:
    """A test's id without its parameters and without the group that xdist writes behind it."""
    return nodeid.partition("[")[0].partition("@")[0]


def _of(nodeid: str) -> Breach | None:
    from tests.support.promises import BREACHES

    return next((breach for breach in BREACHES if breach.test == node(nodeid)), None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test runs on its variant, and so do its fixtures."""
    breach = _of(item.nodeid)
    if breach is None:
        return (yield)
    with breach.applied():
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Once a test has failed its other parameters have nothing to add."""
    if _of(item.nodeid) in _SHOWN:
        pytest.skip("it has failed with other parameters")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that fails shows its breach."""
    if report.failed and (breach := _of(report.nodeid)):
        _SHOWN.add(breach)
