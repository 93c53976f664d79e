"""What `wait --for` understands."""

from typing import Any

import pytest
import typer

from jobledger.cli.server.wait import goal

JOB: dict[str, Any] = {
    "status": {"phase": "Running", "conditions": [{"type": "Running", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("phase=Running", True),
        ("phase=running", True),
        ("phase=Failed", False),
        ("condition=Running", True),
        ("condition=running=true", True),
        ("condition=Running=False", False),
        ("condition=Completed", False),
        ("jsonpath={.status.phase}=Running", True),
        ("jsonpath='{.status.phase}'=Running", True),
        ("jsonpath={.status.phase}=Paused", False),
        ("jsonpath={.status.phase}", True),
        ('jsonpath={.status.conditions[?(@.type=="Running")].status}=True', True),
    ],
)
def test_a_goal_is_true_or_not_of_a_job(text: str, reached: bool) -> None:
    assert goal(text).reached(JOB) is reached


def test_nothing_is_true_of_a_job_without_a_status() -> None:
    assert not goal("condition=Running").reached({})
    assert not goal("phase=Running").reached({})


def test_only_phases_and_conditions_last_for_ever() -> None:
    assert goal("phase=Running").lasting
    assert goal("condition=Running").lasting
    assert not goal("jsonpath={.status.phase}=Running").lasting


@pytest.mark.parametrize(
    "text", ["", "phase", "phase=", "condition=", "done", "jsonpath=", "jsonpath={a b}=c"]
)
def test_what_is_no_goal_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        goal(text)
