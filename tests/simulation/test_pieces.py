"""A long run in pieces: what has passed is kept and added up, and what is left is taken again."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.simulation import __main__ as program
from tests.simulation import coverage
from tests.simulation.coverage import Coverage
from tests.simulation.pieces import SIZE, Kept, Piece, pieces


def met(seeds: int) -> Coverage:
    return Coverage(seeds=seeds, points=Counter({"before append": seeds}))


def test_the_pieces_of_a_run_have_each_seed_once() -> None:
    every = pieces(7, 2 * SIZE + 3)
    assert [seed for piece in every for seed in range(piece.first, piece.first + piece.seeds)] == list(
        range(7, 7 + 2 * SIZE + 3)
    )
    assert {piece.seeds for piece in every} == {SIZE, 3}


def test_what_has_passed_is_not_left_and_is_added_up(tmp_path: Path) -> None:
    every = pieces(0, 3 * SIZE)
    kept = Kept(tmp_path, 0, 3 * SIZE)
    kept.keep(every[2], met(4), "aaa")
    kept.keep(every[0], met(5), "bbb+")
    again = Kept(tmp_path, 0, 3 * SIZE)
    assert again.left(every) == [every[1]]
    assert (again.coverage().seeds, again.coverage().points) == (9, Counter({"before append": 9}))
    assert again.commits() == ["aaa", "bbb+"]


def test_runs_of_other_seeds_are_kept_apart_and_forgotten_apart(tmp_path: Path) -> None:
    one, other = Kept(tmp_path, 0, 3), Kept(tmp_path, 3, 3)
    one.keep(Piece(0, 3), met(1), "aaa")
    other.keep(Piece(3, 3), met(1), "aaa")
    one.forget()
    assert one.left([Piece(0, 3)]) == [Piece(0, 3)]
    assert other.left([Piece(3, 3)]) == []


PYTEST = """
import json, os, sys
from pathlib import Path
if os.environ["JOBLEDGER_SIM_FIRST"] in {refused}:
    sys.exit(1)
first, only = os.environ["JOBLEDGER_SIM_FIRST"], os.environ["JOBLEDGER_SIM_ONLY_SEEDS"]
with open({log!r}, "a") as log:
    print(first, os.environ["JOBLEDGER_SIM_SEEDS"], only or "all", file=log)
counts = {{"seeds": 5, "points": {{"before append": 5}}}}
Path(os.environ["JOBLEDGER_SIM_COVERAGE"], "1.json").write_text(json.dumps(counts))
"""
"""Stands where pytest would: it says what it was asked for, and fails in the pieces that begin so."""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of what was asked for, in a run of three pieces, which are too few seeds to be judged."""
    monkeypatch.setattr(coverage, "JUDGED_FROM", 4 * SIZE)
    monkeypatch.setattr(program, "_RUNS", tmp_path / "kept")
    monkeypatch.setenv("JOBLEDGER_SIM_SEEDS", str(3 * SIZE))
    monkeypatch.setenv("JOBLEDGER_SIM_FIRST", "0")
    monkeypatch.delenv("JOBLEDGER_SIM_SEED", raising=False)
    return tmp_path / "log"


def fails_at(monkeypatch: pytest.MonkeyPatch, log: Path, *refused: int) -> None:
    code = PYTEST.format(refused=[str(first) for first in refused], log=str(log))
    monkeypatch.setattr(program, "PYTEST", (sys.executable, "-c", code))


def test_a_run_goes_on_with_the_piece_that_has_not_passed(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_at(monkeypatch, runs, SIZE)
    assert program.main([]) == 1
    assert f"seeds from {SIZE} to {2 * SIZE - 1}: a test failed" in capsys.readouterr().out
    fails_at(monkeypatch, runs)
    assert program.main([]) == 0
    assert runs.read_text().splitlines() == [f"0 {SIZE} all", f"{2 * SIZE} {SIZE} 1", f"{SIZE} {SIZE} 1"]
    assert "15 seeds" in capsys.readouterr().out


def test_a_run_that_has_passed_begins_anew_when_it_is_asked_for_again(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_at(monkeypatch, runs)
    assert (program.main([]), program.main([])) == (0, 0)
    assert len(runs.read_text().splitlines()) == 6


def test_too_few_deaths_at_a_point_fail_a_run_of_thousands_only(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_at(monkeypatch, runs)
    monkeypatch.setenv("JOBLEDGER_SIM_SEEDS", str(4 * SIZE))
    assert program.main([]) == 1
    said = capsys.readouterr().out
    assert "crash point 'after append' was hit 0 times, 20 are the least" in said
    assert "crash point 'before append'" not in said
