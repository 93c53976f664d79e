"""Every mutant can be applied to the source as it is; and what a run of them makes of what pytest says."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import mutants, named
from tests.mutants.model import ROOT, Mutant, Stale
from tests.mutants.plugin import UNUSED, VARIABLE
from tests.mutants.run import UNUSED as UNUSED_HERE
from tests.mutants.run import Running, outcome_of
from tests.mutants.table import ENOUGH, TIMEOUT, Outcome, Verdict, good, record, share, table

ASKED = "if asked and not budget.is_spent and not state.terminating:"


def mutant(old: str = ASKED, new: str = "if asked:", equivalent: str = "") -> Mutant:
    file = "tests/unit/mutants/test_mutants.py"
    return Mutant("m", "statemachine.rules.restart", old, new, (file,), equivalent)


def test_no_mutant_is_stale() -> None:
    stale = []
    for mutant in mutants():
        try:
            mutant.check()
        except Stale as error:
            stale.append(str(error))
    assert stale == []


def test_no_two_mutants_are_the_same_change() -> None:
    assert len({(mutant.module, mutant.old, mutant.new) for mutant in mutants()}) == len(mutants())


def test_a_mutant_of_an_unknown_name_is_refused() -> None:
    with pytest.raises(Stale, match="there is no mutant nothing-of-the-sort"):
        named("nothing-of-the-sort")


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (mutant(old="no such text"), "has its old text 0 times"),
        (mutant(old="state"), r"has its old text \d\d times"),
        (mutant(new="if ("), "is not Python"),
        (mutant(new=ASKED.replace("if ", "if  ")), "the same program"),
        (mutant(new="if asking:"), "the mutant reads asking, which nothing binds"),
        (Mutant("m", "statemachine.nothing", "a", "b", ("README.md",)), "there is no module"),
        (replace(mutant(), tests=()), "no test is named"),
        (replace(mutant(), tests=("tests/no.py",)), "there is no test file tests/no.py"),
        (replace(mutant(), tests=("tests/unit/test_budget.py::test_none",)), "has no test test_none"),
    ],
)
def test_a_mutant_that_says_what_is_no_longer_so_is_stale(one: Mutant, why: str) -> None:
    with pytest.raises(Stale, match=why):
        one.check()


def running(tmp_path: Path, text: str = "FAILED tests/a.py::test_b") -> Running:
    output = tmp_path / "output"
    output.write_text(text, encoding="utf-8")
    return Running(process=None, output=output)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "equivalent", "outcome"),
    [
        (0, "", Outcome.SURVIVED),
        (0, "a reason", Outcome.EQUIVALENT),
        (1, "", Outcome.KILLED),
        (None, "", Outcome.KILLED),
        (1, "a reason", Outcome.STALE),
        (2, "", Outcome.STALE),
        (UNUSED, "", Outcome.STALE),
    ],
)
def test_only_a_test_that_failed_has_killed_a_mutant(
    tmp_path: Path, code: int | None, equivalent: str, outcome: Outcome
) -> None:
    assert outcome_of(mutant(equivalent=equivalent), code, running(tmp_path))[0] is outcome


def test_a_module_that_cannot_be_imported_is_no_mutant_that_was_killed(tmp_path: Path) -> None:
    said = "ERROR tests/a.py - NameError: name 'Any' is not defined"
    assert outcome_of(mutant(), 1, running(tmp_path, said))[0] is Outcome.STALE


def test_the_first_test_that_failed_is_named(tmp_path: Path) -> None:
    said = "F\nFAILED tests/a.py::test_b - assert 1 == 2\n"
    _, why = outcome_of(mutant(), 1, running(tmp_path, said))
    assert why == "tests/a.py::test_b - assert 1 == 2"


def test_the_plugin_and_the_run_mean_the_same_by_an_exit_code() -> None:
    assert UNUSED_HERE == UNUSED


def test_nineteen_of_twenty_are_enough_and_equivalents_do_not_count() -> None:
    killed, survived = Verdict(mutant(), Outcome.KILLED), Verdict(mutant(), Outcome.SURVIVED)
    same, stale = Verdict(mutant(), Outcome.EQUIVALENT), Verdict(mutant(), Outcome.STALE)
    enough = [killed] * 19 + [survived] + [same] * 40
    assert share(enough) == ENOUGH
    assert good(enough)
    assert not good([*enough, survived])
    assert not good([*enough, stale])


def test_the_table_names_what_was_not_killed() -> None:
    verdicts = [
        Verdict(mutant(), Outcome.SURVIVED),
        Verdict(mutant(), Outcome.EQUIVALENT, "a reason"),
        Verdict(mutant(), Outcome.KILLED, TIMEOUT),
    ]
    assert "\nsurvived: m\n" in table(verdicts)
    assert "\nequivalent: m: a reason" in table(verdicts)
    assert table(verdicts).endswith("killed because it did not end: m")
    assert json.loads(json.dumps(record(verdicts)))["mutants"][1]["why"] == "a reason"


def test_a_mutant_is_imported_in_place_of_the_module() -> None:
    source = """
import tests.mutants.plugin
from statemachine.phases import Phase, __file__
print(Phase.PAUSED.is_active, __file__)
"""
    ran = subprocess.run(
        [sys.executable, "-c", source],
        cwd=ROOT,
        env={**os.environ, VARIABLE: "phases-paused-jobs-are-active"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert ran.stdout.split() == ["True", str(ROOT / "statemachine" / "phases.py")]
