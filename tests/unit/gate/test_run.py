"""The verdict of a phase, over a pytest that says what a test wants it to."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.gate import run as module
from tests.gate.changed import ROOT
from tests.gate.flaky import kept
from tests.gate.run import MOST, REPEATS, run

FILE = "tests/unit/test_views.py"


class Pytest:
    """The phase fails with these tests; their repeats end as `repeats` says, by their id."""

    def __init__(
        self, failed: Sequence[str], code: int = 1, repeats: dict[str, Sequence[int]] | None = None
    ) -> None:
        self.failed, self.code = failed, code
        self.calls: list[list[str]] = []
        self._repeats = {name: list(codes) for name, codes in (repeats or {}).items()}

    def __call__(self, arguments: Sequence[str]) -> int:
        self.calls.append(list(arguments))
        report = next((word for word in arguments if word.startswith("--gate-report=")), "")
        if not report:
            return self._repeats.get(arguments[-1], [0] * REPEATS).pop(0)
        failed = [{"id": name, "outcome": "failed", "text": "because"} for name in self.failed]
        tests = [{"id": "a::passes"}, {"id": "a::skipped", "outcome": "skipped"}, *failed]
        Path(report.partition("=")[2]).write_text(
            json.dumps({"code": self.code, "seconds": 1.0, "tests": tests})
        )
        return self.code


@pytest.fixture(autouse=True)
def touched(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The files that the change touches; none unless a test adds one."""
    files = set[Path]()
    monkeypatch.setattr(module, "changed_files", lambda _: files)
    return files


def test_a_phase_without_failures_is_green_and_repeats_nothing(tmp_path: Path) -> None:
    answers = Pytest([], code=0)
    assert run("fast", ["-k", "x"], answers, tmp_path) == 0
    (call,) = answers.calls
    assert call[-2:] == ["-k", "x"]
    assert call[call.index("-m") + 1] == "not integration"


def test_a_failure_that_does_not_come_back_is_flaky_and_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = Pytest([f"{FILE}::one"])
    assert run("fast", [], answers, tmp_path) == 0
    assert answers.calls[1:] == [["-q", f"{FILE}::one"]] * REPEATS
    (flake,) = kept(tmp_path)
    assert (flake.test, flake.failure) == (f"{FILE}::one", "because")
    before, name, last = capsys.readouterr().out.rstrip().rsplit("\n", 3)[-3:]
    assert (before, last) == (f"   {FILE}::one", "2 passed, 0 failed, 1 skipped")
    assert name == ""


@pytest.mark.parametrize("codes", [(1,), (0, 1), (0, 0, 1)])
def test_a_failure_that_comes_back_stays(tmp_path: Path, codes: Sequence[int]) -> None:
    answers = Pytest([f"{FILE}::one"], repeats={f"{FILE}::one": codes})
    assert run("fast", [], answers, tmp_path) == 1
    assert len(answers.calls) == 1 + len(codes)
    assert kept(tmp_path) == []


@pytest.mark.parametrize("name", [FILE, "tests/conftest.py", "jobledger/jobs/views.py"])
def test_a_failure_stays_when_the_change_touches_what_the_test_depends_on(
    tmp_path: Path, touched: set[Path], name: str
) -> None:
    assert (ROOT / name).exists()
    touched.add(Path(name))
    assert run("fast", [], Pytest([f"{FILE}::one"]), tmp_path) == 1
    assert kept(tmp_path) == []


def test_one_failure_that_stays_makes_the_phase_red_and_the_flaky_one_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = Pytest([f"{FILE}::one", f"{FILE}::two"], repeats={f"{FILE}::two": (1,)})
    assert run("fast", [], answers, tmp_path) == 1
    assert [flake.test for flake in kept(tmp_path)] == [f"{FILE}::one"]
    assert capsys.readouterr().out.rstrip().endswith("2 passed, 1 failed, 1 skipped")


def test_many_failures_are_not_repeated(tmp_path: Path) -> None:
    answers = Pytest([f"{FILE}::{number}" for number in range(MOST)])
    assert run("fast", [], answers, tmp_path) == 1
    assert len(answers.calls) == 1


@pytest.mark.parametrize("code", [2, 3, 4, 5])
def test_a_run_that_did_not_come_to_its_end_has_pytest_s_exit_code(tmp_path: Path, code: int) -> None:
    answers = Pytest([f"{FILE}::one"], code=code)
    assert run("integration", [], answers, tmp_path) == code
    assert len(answers.calls) == 1


def test_a_report_of_an_earlier_run_is_not_taken_for_this_one(tmp_path: Path) -> None:
    (tmp_path / "fast.json").write_text(json.dumps({"code": 1, "seconds": 1, "tests": [{"id": "x"}]}))
    assert run("fast", [], lambda _: 1, tmp_path) == 1
    assert not (tmp_path / "fast.json").exists()
