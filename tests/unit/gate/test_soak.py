"""How a soak takes turns, goes on after it was stopped, and what it makes of what its parts say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.changed import ROOT
from tests.gate.report import Outcome
from tests.soak.__main__ import soak, unmarked
from tests.soak.parts import PARTS, Part, named
from tests.soak.rounds import Round, Rounds, begin, forget, keep, table


def part(name: str, code: str) -> Part:
    return Part(name, "a test", (sys.executable, "-c", code))


def test_every_part_has_one_round_when_there_is_no_time(tmp_path: Path) -> None:
    rounds = soak([part("a", ""), part("b", "")], 0.0, tmp_path)
    assert [(one.count, one.findings) for one in rounds] == [(1, []), (1, [])]


def test_parts_take_turns_until_the_time_is_over(tmp_path: Path) -> None:
    turns = tmp_path / "turns"
    code = f"open({str(turns)!r}, 'a').write('{{}}')"
    rounds = soak([part("a", code.format("a")), part("b", code.format("b"))], 1.0 / 3600, tmp_path)
    assert all(one.count > 1 for one in rounds)
    assert turns.read_text().startswith("abab")


def test_what_a_part_says_is_kept_and_how_to_repeat_it_is_shown(tmp_path: Path) -> None:
    said = "print('E   again: make sim SEED=4711'); raise SystemExit(3)"
    (one,) = soak([part("sim", said)], 0.0, tmp_path)
    (finding,) = one.findings
    assert one.verdict == finding
    assert finding.split("\n") == [
        "exit code 3",
        "again: make sim SEED=4711",
        f"see {tmp_path / 'sim-1.log'}",
    ]


def test_a_long_test_has_to_say_that_it_is_slow() -> None:
    quick, marked, long = (
        Outcome("a", seconds=19.9),
        Outcome("b", seconds=60, slow=True),
        Outcome("c", seconds=20.1),
    )
    assert unmarked([quick, marked, long]) == [long]


def test_the_parts_of_a_soak_have_names_of_their_own() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_parts_are_named_by_their_names_or_by_what_several_begin_with() -> None:
    assert [part.name for part in named("memory")] == ["memory"]
    assert all(part.name.startswith("events-") for part in named("events"))
    assert len(named("events")) > 5
    assert not named("event")


def test_the_tests_that_a_part_names_are_there() -> None:
    words = [word for part in PARTS for word in part.command if word.startswith("tests/")]
    for path, _, function in (word.partition("::") for word in words):
        assert (ROOT / path).exists()
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


def test_long_runs_that_no_gate_collects_can_be_collected() -> None:
    """They need no marker, and were refused for a while as tests with servers in the wrong folder."""
    files = {word for part in PARTS for word in part.command if word.startswith("tests/soak/")}
    assert len(files) >= 2
    options = ("-p", "no:cacheprovider", "-q", "--collect-only")
    command = (sys.executable, "-m", "pytest", *options, *sorted(files))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(file in done.stdout for file in files)


STOP = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"


def counting(name: str, folder: Path, then: str = "") -> Part:
    """A part that writes down how often it was begun."""
    return part(name, f"open({str(folder / name)!r}, 'a').write('.')\n{then}")


def stopped(parts: list[Part], folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        soak(parts, 0.0, folder)


def test_a_soak_that_was_stopped_goes_on_with_the_part_that_did_not_end(tmp_path: Path) -> None:
    stopped([counting("a", tmp_path), counting("b", tmp_path, STOP), counting("c", tmp_path)], tmp_path)
    assert [one.count for one in begin([part("a", ""), part("b", "")], tmp_path)] == [1, 0]
    again = soak([counting(name, tmp_path) for name in "abc"], 0.0, tmp_path)
    assert [one.count for one in again] == [1, 1, 1]
    assert [(tmp_path / name).read_text() for name in "abc"] == [".", "..", "."]


def test_what_was_discovered_before_it_was_stopped_is_kept(tmp_path: Path) -> None:
    stopped([part("a", "raise SystemExit(3)"), part("b", STOP)], tmp_path)
    first, second = soak([part("a", ""), part("b", "")], 0.0, tmp_path)
    assert first.verdict.startswith("exit code 3\n")
    assert second.verdict == "fine"


def test_rounds_before_a_stop_count_for_the_time(tmp_path: Path) -> None:
    keep([Rounds(part("a", ""), [Round(3600.0, 1, "c0ffee")])], tmp_path, ended=False)
    (one,) = soak([part("a", "")], 1.0, tmp_path)
    assert one.count == 1


@pytest.mark.parametrize("end", ["it came to its end", "it is forgotten"])
def test_it_begins_anew_when(end: str, tmp_path: Path) -> None:
    keep([Rounds(part("a", ""), [Round(1.0, 1, "c0ffee")])], tmp_path, ended=end == "it came to its end")
    if end == "it is forgotten":
        forget(tmp_path)
    assert begin([part("a", "")], tmp_path) == [Rounds(part("a", ""))]


def test_a_part_hears_the_seed_that_repeats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBLEDGER_SEED", raising=False)
    (one,) = soak([part("a", "import os; print(os.environ['JOBLEDGER_SEED'])")], 0.0, tmp_path)
    assert (tmp_path / "a-1.log").read_text().strip() == str(one.rounds[0].seed)
    assert one.again == f"JOBLEDGER_SEED={one.rounds[0].seed} make soak PARTS=a"


def test_the_rounds_to_repeat_are_those_with_findings() -> None:
    fine, bad = Round(1.0, 1, "c0ffee"), Round(1.0, 2, "c0ffee", ("exit code 3",))
    assert Rounds(part("a", ""), [bad, fine]).again == "JOBLEDGER_SEED=2 make soak PARTS=a"
    assert Rounds(part("a", ""), [bad, fine]).verdict == "exit code 3"


def test_a_part_that_did_not_run_is_not_fine() -> None:
    one = Rounds(part("a", ""))
    assert one.verdict == "not run"
    assert table([one]).row_count == 1
