"""How commands end: exit codes and sentences."""

import errno
from collections.abc import Callable

import pytest

from jobledger.program import exit_codes as ending
from jobledger.program.errors import (
    JobExists,
    NoServer,
    NotPossible,
    ServerRefused,
    UnknownJob,
    UnknownReplica,
)
from jobledger.program.exit_codes import ended_with
from statemachine import errors as e


def _raising(error: BaseException) -> Callable[[], object]:
    def command() -> object:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (e.ConfigError("x"), 2),
        (e.SpecInvalid([e.Problem("", "a", "b")]), 2),
        (UnknownJob("default", "x"), 2),
        (UnknownReplica("x"), 2),
        (JobExists("PyTorchTrainingJob", "default", "x", "Running"), 2),
        (e.Refused(422, "Invalid", "x"), 2),
        (NotPossible("x"), 1),
        (e.Conflict("x"), 1),
        (NoServer("/x.sock"), 3),
        (e.StoreInUse("x.db", "process 1"), 3),
        (e.StoreUnusable("x"), 3),
        (e.LogUnavailable("x"), 3),
        (e.ClusterUnavailable("x"), 3),
        (ServerRefused(404, "unknown-job", "x"), 2),
        (ServerRefused(409, "job-exists", "x"), 2),
        (ServerRefused(409, "not-possible", "x"), 1),
        (ServerRefused(422, "invalid", "x"), 2),
        (ServerRefused(503, "unavailable", "x"), 3),
        (ServerRefused(500, "bug", "x"), 70),
        (OSError(errno.ENOSPC, "No space left on device"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_failure_has_its_exit_code_and_no_traceback(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_with(_raising(error)) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [e.InvariantBroken("impossible"), KeyError("x"), OSError(errno.EIO, "broken")]
)
def test_a_bug_is_loud(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended_with(_raising(error)) == ending.BUG
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "bug of jobledger" in said


def test_every_problem_of_a_manifest_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    ended_with(
        _raising(e.SpecInvalid([e.Problem("", "spec.a", "wrong"), e.Problem("", "spec.b", "wrong too")]))
    )
    assert capsys.readouterr().err.splitlines() == [
        "jobledger: spec.a: wrong",
        "jobledger: spec.b: wrong too",
    ]


def test_problems_that_the_server_reports_name_their_object(capsys: pytest.CaptureFixture[str]) -> None:
    problem = {"rule": "G1", "path": "spec.a", "text": "wrong", "kind": "PyTorchTrainingJob", "name": "x"}
    ended_with(_raising(ServerRefused(422, "invalid", "x", [problem])))
    assert capsys.readouterr().err == "jobledger: PyTorchTrainingJob x: spec.a: wrong\n"


def test_an_exit_that_was_asked_for_is_passed_on() -> None:
    assert ended_with(_raising(SystemExit(130))) == 130
    assert ended_with(_raising(SystemExit())) == 0
    assert ended_with(lambda: None) == 0
