"""A failing seed is made short, and what is printed fails again when it is pasted."""

import pytest

from projectors import diff
from statemachine.kind import Budget
from tests.simulation import chaos
from tests.simulation.replay import replay
from tests.simulation.run import Failed, simulate
from tests.simulation.shrink import failing, shrunk
from tests.simulation.steps import Script, Step
from tests.simulation.world import Broken
from tests.support.fate import Fault

_SEEDS = range(11, 40)
_MOST = 5
"""Lines that tell how evidence is lost: a job, a pod that is deleted, a controller that is not there."""


def evidence_is_released_early(patch: pytest.MonkeyPatch) -> None:
    """With the actions that it takes, and no others: another list of them would draw other worlds."""
    patch.setattr(diff, "_end_is_known", lambda *_: True)
    patch.setattr(chaos, "ACTIONS", (chaos.delete_pod, chaos.crash))


def first_failure() -> Failed:
    for seed in _SEEDS:
        try:
            simulate(seed)
        except Failed as error:
            return error
    raise AssertionError("none of the seeds fails")


def pasted(source: str) -> None:
    """Runs the printed test."""
    names = {"replay": replay, "Step": Step, "Fault": Fault}
    exec(source, names)  # noqa: S102 - that it can be pasted and run is what is tested
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    assert callable(test)
    test()


def test_a_failing_seed_is_printed_as_a_short_test_that_fails_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence_is_released_early(monkeypatch)
    error = first_failure()
    report = shrunk(error)
    source = report[report.index("def test_") :]
    assert source.count("Step(") + source.count("Fault(") <= _MOST
    with pytest.raises(Broken) as again:
        pasted(source)
    assert failing(again.value) & failing(error)
    monkeypatch.undo()
    pasted(source)


def test_a_script_of_all_that_was_done_is_the_same_run() -> None:
    for seed in _SEEDS:
        drawn = simulate(seed)
        script = drawn.diary.script(drawn)
        if {Step, Fault} <= set(map(type, script.parts)):
            break
    else:
        raise AssertionError("no seed has both steps and faults")
    played = simulate(seed, script=script)
    assert [record.body for record in played.records()] == [record.body for record in drawn.records()]


def test_a_budget_that_is_not_kept_needs_only_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "is_spent", False)
    monkeypatch.setattr(chaos, "ACTIONS", (chaos.end_pod, chaos.drop_watches))
    error = first_failure()
    assert failing(error) == {"budgets_are_kept"}
    report = shrunk(error)
    assert report.count("Step(") + report.count("Fault(") <= _MOST


def test_no_step_is_left_out_of_a_script() -> None:
    parts = (Step(2.0, "crash", 1), Fault("quota", 3), Step(1.0, "submit", 2))
    assert Script(parts, 0.01, 3.0).steps == [parts[2], parts[0]]
