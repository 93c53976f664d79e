"""Which files the phases of the gate import: a folder without a test that is wanted costs nothing."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.conftest import INTEGRATION, PORTS
from tests.gate.changed import ROOT
from tests.gate.run import PHASES

UNIT = ROOT / "tests" / "unit"


def is_ignored(path: Any, markers: str) -> bool:
    config: Any = SimpleNamespace(option=SimpleNamespace(markexpr=markers))
    return conftest.pytest_ignore_collect(path, config) is True


def test_tests_without_servers_are_looked_for_everywhere_but_in_the_folder_of_those_with_them() -> None:
    folders = [path for path in (ROOT / "tests").iterdir() if path.is_dir()]
    assert [path for path in folders if is_ignored(path, PHASES["fast"])] == [INTEGRATION]
    assert not is_ignored(UNIT / "test_views.py", PHASES["fast"])


def test_tests_with_servers_are_looked_for_in_two_folders() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py")]
    read = {path for path in files if not is_ignored(path, PHASES["integration"])}
    assert read == {*INTEGRATION.rglob("test_*.py"), *PORTS.rglob("test_*.py")}
    assert not is_ignored(UNIT, PHASES["integration"]), "a folder may hold one of the two"


@pytest.mark.parametrize("markers", ["", "slow", "integration or slow"])
def test_any_other_choice_of_markers_imports_all(markers: str) -> None:
    assert not is_ignored(INTEGRATION, markers)
    assert not is_ignored(UNIT / "test_views.py", markers)


class Marked:
    """A test outside the two folders that has the marker of those with servers."""

    path, nodeid = UNIT / "test_views.py", "tests/unit/test_views.py::test_it"

    def get_closest_marker(self, name: str) -> bool:
        return name == "integration"


def test_a_test_with_servers_elsewhere_is_refused_and_not_left_out() -> None:
    item: Any = Marked()
    with pytest.raises(pytest.UsageError, match=r"test_views.py::test_it is an integration test: move it to"):
        conftest.pytest_collection_modifyitems([item])
