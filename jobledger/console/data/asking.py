"""How `/api` is asked: which namespace and job are meant, bodies that only programs send, errors as JSON."""

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from jobledger.api.answers import Answer
from jobledger.api.jobs import body_of
from jobledger.api.problems import answer_to, problem
from jobledger.api.rights import Caller, caller_of
from jobledger.console.creating import pairs
from jobledger.console.details.subject import Subject, subject_of
from jobledger.console.frame import Console
from jobledger.console.session import check_origin
from statemachine.errors import ConfigError, Problem, Refused, SpecInvalid

JOB: Final = "/jobs/{kind}/{name}"

Asking = Annotated[Caller, Depends(caller_of)]
Namespace = Annotated[str, Query(max_length=253, description="default: the console's, else `default`")]

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Route(APIRoute):
    """A route of `/api`: what breaks rules is told problem by problem, under `errors`."""

    def get_route_handler(self) -> _Handler:
        """See APIRoute."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except SpecInvalid as error:
                return _unprocessable(error, errors_of(error.problems))
            except Refused as error:
                if error.status != 422:
                    raise
                return _unprocessable(error, [{"path": "", "text": error.message, "rule": ""}])

        return handle


def errors_of(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """Problems as `[{path, text, rule}]`. Source: spec console.md, section 6."""
    paths = [path for path, _ in pairs(problems)]
    return [
        {"path": path, "text": each.text, "rule": each.rule}
        for path, each in zip(paths, problems, strict=True)
    ]


def _unprocessable(error: Exception, errors: Sequence[dict[str, str]]) -> Response:
    said = json.loads(bytes(answer_to(error).body))
    answer = problem(422, said["code"], said["detail"])
    return Answer(
        {**json.loads(bytes(answer.body)), "errors": list(errors)}, 422, media_type=answer.media_type
    )


def place(console: Console, asked: str) -> str:
    """The namespace that is meant; empty if none was said and the console serves all.

    Raises:
        ConfigError: the console serves another.
    """
    only = console.options.namespace
    if only and asked not in ("", only):
        raise ConfigError(f'this console serves the namespace "{only}" alone, not "{asked}"')
    return only or asked


async def _job(
    request: Request,
    caller: Asking,
    kind: str,
    name: str,
    *,
    namespace: Namespace = "",
    uid: Annotated[str, Query(max_length=100, description="which, of all jobs that ever had the name")] = "",
) -> Subject:
    """The job that the path means, also one that is gone. Raises UnknownJob, NoRight, ConfigError."""
    console: Console = request.app.state.console
    meant = place(console, namespace) or console.options.new_jobs
    return await subject_of(request, caller, meant, kind, name, uid=uid)


Job = Annotated[Subject, Depends(_job)]


async def _body(request: Request) -> dict[str, Any]:
    """The object that a program of ours sent.

    Browsers send JSON of other sites only after they have asked whether they may, and nobody tells them so.

    Raises:
        HTTPException: a page of another site asks (403); it is not said to be JSON (415), or is none (400).
    """
    check_origin(request)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(415, "the body has to be JSON: Content-Type application/json")
    try:
        found = json.loads(await body_of(request))
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise HTTPException(400, "the body must be an object")
    return found


Body = Annotated[dict[str, Any], Depends(_body)]
OwnPages = Depends(check_origin)
