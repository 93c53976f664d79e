"""Errors as HTTP says them: problems of RFC 9457, one sentence each, with a `code` for programs."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from jobledger.jobs.intake import Inadmissible
from jobledger.program.errors import (
    CursorRefused,
    JobExists,
    NoRight,
    NotPossible,
    TooManyListeners,
    Unauthenticated,
    UnknownJob,
    UnknownPhase,
    UnknownReplica,
)
from jobledger.web.responses import RedactedResponse
from statemachine.errors import (
    ClusterUnavailable,
    ConfigError,
    Conflict,
    JobledgerError,
    LogUnavailable,
    Missing,
    Problem,
    Refused,
    SpecInvalid,
    StoreUnusable,
    ViewUnavailable,
)

MEDIA_TYPE: Final = "application/problem+json"

_TITLES: Final = {
    "unknown-job": "There is no such job",
    "unknown-phase": "There is no such phase",
    "unknown-replica": "There is no such replica",
    "job-exists": "The name is taken",
    "not-possible": "Not possible now",
    "invalid": "The manifest is not valid",
    "refused": "The change was refused",
    "conflict": "Somebody was quicker",
    "gone": "It is gone",
    "unavailable": "Not available at the moment",
    "bad-request": "The request is not understood",
    "forbidden": "Only this machine is served",
    "unauthenticated": "Who asks is not known",
    "no-right": "A right is missing",
    "cursor-of-another-ledger": "The cursor is not of this ledger",
    "cursor-of-a-topic": "The cursor names a place in the topic of events",
    "cursor-too-old": "What follows the cursor is not kept any more",
    "no-schema": "There is no such schema",
    "too-many-listeners": "Too many pages listen",
    "bug": "A bug of jobledger",
}


_HEADERS: Final = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "10"}, 503: {"Retry-After": "1"}}


def problem(
    status: int,
    code: str,
    detail: str,
    problems: Sequence[Mapping[str, Any]] = (),
    more: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The response for one problem; `more`: members that only it has."""
    body: dict[str, Any] = {
        "type": f"urn:jobledger:problem:{code}",
        "title": _TITLES.get(code, code),
        "status": status,
        "detail": detail,
        "code": code,
        **(more or {}),
    }
    if problems:
        body["problems"] = list(problems)
    return RedactedResponse(body, status, _HEADERS.get(status), MEDIA_TYPE)


Refusal = Callable[[Request, Exception], Response]
"""The answer to an error."""


def install(api: FastAPI, refusal: Refusal | None = None) -> None:
    """Every error of the application is answered with a problem, or what `refusal` makes of it."""

    async def answer(request: Request, error: Exception) -> Response:
        return (refusal or problem_of)(request, error)

    for error in (JobledgerError, HTTPException, RequestValidationError, Exception):
        api.add_exception_handler(error, answer)


def problem_of(request: Request, error: Exception) -> JSONResponse:
    """The problem that an error is; of an address that nothing is served at it says which."""
    if isinstance(error, HTTPException) and error.detail == HTTPStatus(error.status_code).phrase:
        error = HTTPException(
            error.status_code, f"{request.method} {request.url.path} is nothing that this server knows"
        )
    return answer_to(error)


def answer_to(error: Exception) -> JSONResponse:
    """The problem that an error is by itself."""
    match error:
        case HTTPException():
            return problem(error.status_code, "bad-request", error.detail)
        case RequestValidationError():
            first = error.errors()[0]
            place = ".".join(str(step) for step in first["loc"][1:]) or "the request"
            return problem(400, "bad-request", f"{place}: {first['msg']}")
        case Unauthenticated():
            return problem(401, "unauthenticated", str(error))
        case NoRight():
            return problem(403, "no-right", str(error))
        case UnknownJob():
            return problem(404, "unknown-job", str(error))
        case UnknownReplica():
            return problem(404, "unknown-replica", str(error))
        case UnknownPhase():
            return problem(422, "unknown-phase", str(error))
        case JobExists():
            return problem(409, "job-exists", str(error))
        case NotPossible():
            return problem(409, "not-possible", str(error))
        case SpecInvalid():
            return problem(422, "invalid", _one_line(str(error)), _problems(error))
        case CursorRefused():
            more = {"earliest": error.earliest} if error.earliest else {}
            return problem(410, error.code, str(error), more=more)
        case TooManyListeners():
            return problem(429, "too-many-listeners", str(error))
        case Refused():
            return problem(error.status, "refused", error.message)
        case Conflict():
            return problem(409, "conflict", str(error))
        case Missing():
            return problem(404, "gone", str(error))
        case ClusterUnavailable() | LogUnavailable() | StoreUnusable() | ViewUnavailable():
            return problem(503, "unavailable", str(error))
        case ConfigError():
            return problem(400, "bad-request", str(error))
        case _:
            said = f"{type(error).__name__}: {_one_line(str(error))}"
            return problem(500, "bug", f"{said}; the server's log has the rest")


def _one_line(text: str) -> str:
    return "; ".join(text.splitlines())


def _problems(error: SpecInvalid) -> list[dict[str, str]]:
    if isinstance(error, Inadmissible):
        return [
            _plain(finding.problem) | {"kind": finding.manifest.kind, "name": finding.manifest.name}
            for finding in error.findings
        ]
    return [_plain(problem) for problem in error.problems]


def _plain(problem: Problem) -> dict[str, str]:
    return {"rule": problem.rule, "path": problem.path, "text": problem.text}
