"""How a soak takes turns, and what it makes of what its parts say."""

import sys
from pathlib import Path

from tests.gate.report import Outcome
from tests.soak.__main__ import soak, unmarked
from tests.soak.parts import PARTS, Part


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
