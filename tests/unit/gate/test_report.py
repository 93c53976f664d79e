"""What a run of pytest writes down, seen on real runs of small files."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.changed import ROOT
from tests.gate.report import SLOWEST, Outcome, Run, shares, slowest, split

TESTS = """
import pytest

@pytest.fixture
def broken():
    raise ValueError("no fixture")

def test_passes(): pass
def test_fails(): assert False, "just so"
def test_cannot_be_set_up(broken): pass
@pytest.mark.skip(reason="not here")
def test_is_skipped(): pass
@pytest.mark.slow
@pytest.mark.xdist_group("brokers")
@pytest.mark.parametrize("address", ["a@b"])
def test_in_a_group(address): pass
"""


def written(folder: Path, text: str, *options: str) -> Run:
    """What a run of one file wrote."""
    (folder / "test_small.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: x\n")
    report = folder / "out" / "report.json"
    command = [sys.executable, "-m", "pytest", "-p", "tests.gate.report", f"--gate-report={report}", *options]
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False, timeout=240)
    run = Run.read(report)
    assert run is not None
    return run


@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist", "loadgroup")], ids=["alone", "shared out"])
def test_every_test_of_a_run_is_written_down_once(tmp_path: Path, options: tuple[str, ...]) -> None:
    run = written(tmp_path, TESTS, *options)
    assert run.code == 1
    outcomes = {test.id.removeprefix("test_small.py::test_"): test.outcome for test in run.tests}
    assert outcomes == {
        "passes": "passed",
        "fails": "failed",
        "cannot_be_set_up": "failed",
        "is_skipped": "skipped",
        "in_a_group[a@b]": "passed",
    }
    assert [("just so" in test.text, "no fixture" in test.text) for test in run.failed] in (
        [(True, False), (False, True)],
        [(False, True), (True, False)],
    )
    assert [test.id for test in run.tests if test.slow] == ["test_small.py::test_in_a_group[a@b]"]
    if options:
        assert {test.group for test in run.tests} == {"", "brokers"}
        assert {test.worker for test in run.tests} <= {"gw0", "gw1"}


def test_a_module_that_cannot_be_imported_is_a_failure(tmp_path: Path) -> None:
    run = written(tmp_path, "import nothing_of_this_name")
    assert run.code == 2
    (failed,) = run.failed
    assert "nothing_of_this_name" in failed.text


def test_a_run_that_was_killed_has_no_report(tmp_path: Path) -> None:
    assert Run.read(tmp_path / "none.json") is None


def test_the_group_of_a_test_stands_behind_its_id() -> None:
    assert split("a.py::b[x@y]") == ("a.py::b[x@y]", "")
    assert split("a.py::b[x@y]@brokers") == ("a.py::b[x@y]", "brokers")
    assert split("a.py::b[x@y]@brokers+kafka") == ("a.py::b[x@y]", "brokers")
    assert split("a.py::b@+kafka") == ("a.py::b", "")


def test_the_slowest_come_first_and_are_few() -> None:
    tests = [Outcome(str(number), seconds=number) for number in range(SLOWEST + 5)]
    assert [test.seconds for test in slowest(tests)] == list(range(SLOWEST + 4, 4, -1))


def test_shares_add_up_by_worker_then_by_group() -> None:
    tests = [
        Outcome("a", seconds=3, worker="gw0", group="kafka"),
        Outcome("b", seconds=1, worker="gw1"),
        Outcome("c", seconds=2, worker="gw0", group="kafka"),
    ]
    assert [line.split() for line in shares(tests)] == [
        ["5", "s", "2", "tests", "worker", "gw0"],
        ["1", "s", "1", "tests", "worker", "gw1"],
        ["5", "s", "2", "tests", "group", "kafka"],
    ]
