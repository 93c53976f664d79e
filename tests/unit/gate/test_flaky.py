"""Kept reports, and the page that has to explain each test that they list."""

from pathlib import Path

import pytest

from tests.gate.flaky import PAGE, Flake, keep, kept, unexplained

HEAD = "| test | what fails | since | suspected cause |\n|---|---|---|---|\n"


def flake(test: str) -> Flake:
    return Flake(test, "2026-11-23T08:00:00+00:00", "abc", "AssertionError")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "flaky.md"
    page.write_text(HEAD)
    return page


def test_a_test_of_a_kept_report_needs_a_row(tmp_path: Path, page: Path) -> None:
    keep([flake("a.py::b[1]")], tmp_path)
    assert unexplained(tmp_path, page) == ["a.py::b[1]"]
    page.write_text(HEAD + "| `a.py::b[1]` | the page stays empty | 2026-11-23 | a race with the reload |\n")
    assert unexplained(tmp_path, page) == []


@pytest.mark.parametrize(
    "row", ["| `a.py::b` | | | |", "| `a.py::b` | x | y |", "a.py::b", "| `a.py::bc` | x | y | z |"]
)
def test_a_row_that_does_not_say_everything_is_none(tmp_path: Path, page: Path, row: str) -> None:
    keep([flake("a.py::b")], tmp_path)
    page.write_text(HEAD + row + "\n")
    assert unexplained(tmp_path, page) == ["a.py::b"]


def test_later_runs_add_to_the_report(tmp_path: Path) -> None:
    keep([flake("a")], tmp_path)
    keep([], tmp_path)
    keep([flake("b")], tmp_path)
    assert [one.test for one in kept(tmp_path)] == ["a", "b"]


def test_without_a_report_nothing_is_missing(tmp_path: Path) -> None:
    assert unexplained(tmp_path / "none", PAGE) == []
