"""How commands end: what each error means to the caller, as a sentence and an exit code."""

import errno
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import typer

from jobledger.program.installation import damage
from statemachine import errors as e

OK, FAILED, BAD_INPUT, UNAVAILABLE, BUG, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 70, 130, 143

EXIT_CODES: Final = {
    OK: "done; for `run`: every job has succeeded",
    FAILED: "a job has failed, or what was asked for did not come true or is not possible now",
    BAD_INPUT: "the input is wrong: command line, setting, manifest, unknown job",
    UNAVAILABLE: "cannot work here and now: store in use, read-only or full, no server",
    BUG: "a bug of jobledger; the traceback says where",
    INTERRUPTED: "interrupted (Ctrl-C)",
    TERMINATED: "ended by SIGTERM or SIGHUP",
}
"""What a command's exit code says."""


_BY_CODE: Final = {
    "job-exists": BAD_INPUT,
    "unavailable": UNAVAILABLE,
    "bug": BUG,
    "not-possible": FAILED,
    "conflict": FAILED,
    "no-right": FAILED,
}


def exit_code(error: Exception) -> int:
    """What a command ends with because of `error`."""
    from jobledger.program.errors import (
        JobExists,
        NoServer,
        ServerRefused,
        Unauthenticated,
        UnknownJob,
        UnknownPhase,
        UnknownReplica,
    )

    match error:
        case ServerRefused():
            return _BY_CODE.get(error.code, BAD_INPUT)
        case (
            NoServer()
            | e.StoreInUse()
            | e.StoreUnusable()
            | e.LogUnavailable()
            | e.ViewUnavailable()
            | e.ClusterUnavailable()
            | e.LeaseLost()
        ):
            return UNAVAILABLE
        case e.ConfigError() | e.SpecInvalid() | e.Refused() | UnknownJob() | UnknownReplica() | JobExists():
            return BAD_INPUT
        case Unauthenticated() | UnknownPhase():
            return BAD_INPUT
        case e.JobledgerError() if not isinstance(error, e.InvariantBroken):
            return FAILED
        case _:
            return BUG


Spoken = Callable[[str], str]
"""A sentence in the words of the program that is running: it may have another name than the commands in it."""


def _as_written(sentence: str) -> str:
    return sentence


def tell(error: Exception, spoken: Spoken = _as_written) -> None:
    """The sentence of `error` on standard error; every problem of a manifest on a line of its own."""
    from jobledger.program.errors import ServerRefused

    if isinstance(error, ServerRefused) and error.problems:
        lines = [_problem(problem) for problem in error.problems]
    elif isinstance(error, e.SpecInvalid) and len(error.problems) > 1 and "\n" not in str(error):
        lines = [str(problem) for problem in error.problems]
    else:
        lines = str(error).splitlines() or [type(error).__name__]
    for line in lines:
        _warn(f"jobledger: {spoken(line)}")


def _problem(problem: Mapping[str, Any]) -> str:
    said = ": ".join(filter(None, (problem.get("path"), problem.get("text"))))
    return f"{problem['kind']} {problem['name']}: {said}" if problem.get("name") else said


def _unexpected(error: Exception) -> int:
    """It is our mistake, unless files of ours are not there or another's; gives the exit code that goes with it."""
    if sentence := damage():
        _warn(f"jobledger: {sentence}")
        return BAD_INPUT
    _tell_bug(error)
    return BUG


def _tell_bug(error: Exception) -> None:
    """A traceback: it is our mistake, and has to be fixed."""
    import traceback

    _warn("".join(traceback.format_exception(error)).rstrip())
    _warn(
        "jobledger: this is a bug of jobledger, please report it with the lines above; the log is consistent"
    )


def ended_with(command: Callable[[], object], spoken: Spoken = _as_written) -> int:
    """The exit code of `command`; whatever went wrong has been said."""
    try:
        command()
        sys.stdout.flush()
        return OK
    except SystemExit as asked:
        return _flushed(asked.code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except e.InvariantBroken as error:
        return _unexpected(error)
    except e.JobledgerError as error:
        tell(error, spoken)
        return exit_code(error)
    except OSError as error:
        return _system_failed(error)
    except Exception as error:  # noqa: BLE001 - the last place where somebody can say what happened
        return _unexpected(error)


def _flushed(code: object) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError as error:
        return _system_failed(error)
    return code if isinstance(code, int) else OK if code is None else FAILED


def _system_failed(error: OSError) -> int:
    """What the machine refuses is not our mistake, and needs no traceback."""
    if (
        error.errno == errno.EPIPE
    ):  # the reader of our output is gone: Python must not complain about that at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE):
        where = f"{error.filename}: " if error.filename else ""
        _warn(f"jobledger: {where}{error.strerror}; nothing in the log is lost")
        return UNAVAILABLE
    return _unexpected(error)


def _warn(line: str) -> None:
    from statemachine.redact import redacted_text

    typer.echo(redacted_text(line), err=True)
