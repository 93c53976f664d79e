"""What requests say: who asks, which job and namespace are meant, bodies that only programs send."""

import json
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Query, Request
from starlette.exceptions import HTTPException

from jobledger.console.details.subject import Subject, meant
from jobledger.console.frame import Console
from jobledger.console.session import check_origin
from jobledger.manifests import FILE_LIMIT
from jobledger.program.errors import UnknownJob
from jobledger.service.app import App
from jobledger.web.rights import Caller, caller_of, may_list, permitted
from statemachine.errors import ConfigError
from statemachine.kinds import kind_of, meant_by

UNKNOWN_ACTOR: Final = "HTTP API"

JOB: Final = "/jobs/{namespace}/{name}"

Asking = Annotated[Caller, Depends(caller_of)]
Namespace = Annotated[str, Query(max_length=253, description="default: the console's, else `default`")]
OfKind = Annotated[str, Query(description="which, where jobs of several kinds share the name")]
OfUid = Annotated[str, Query(max_length=100, description="which, of all jobs that ever had the name")]


def _actor(
    caller: Asking,
    said: Annotated[str, Header(alias="x-jobledger-actor", description="who asks, for the history")] = "",
) -> str:
    return caller.signature(said or UNKNOWN_ACTOR)


Actor = Annotated[str, Depends(_actor)]


async def _object(
    request: Request, caller: Asking, namespace: str, name: str, *, kind: OfKind = "", uid: OfUid = ""
) -> dict[str, Any]:
    """The job object that the path means, if the caller may see it."""
    app: App = request.app.state.jobledger
    kinds = await permitted(caller, "get", namespace, name=name, kind=kind)
    try:
        return await app.job(namespace, name, kinds=kinds, uid=uid)
    except UnknownJob:
        if await may_list(caller, namespace):
            raise
        raise UnknownJob(namespace, name) from None  # no names are to be learnt by trying


Job = Annotated[dict[str, Any], Depends(_object)]


async def _subject(
    request: Request, caller: Asking, namespace: str, name: str, *, kind: OfKind = "", uid: OfUid = ""
) -> Subject:
    """The job that the path means, also one that is gone, or that only the history view knows."""
    names = meant_by(kind) if kind else ()
    known = kind_of(names[0].api_version, names[0].kind).names.kind if names else kind
    return await meant(request, caller, namespace, known, name, uid=uid)


Known = Annotated[Subject, Depends(_subject)]


def place(console: Console, asked: str) -> str:
    """The namespace that is meant; empty if none was said and the console serves all.

    Raises:
        ConfigError: the console serves another.
    """
    only = console.options.namespace
    if only and asked not in ("", only):
        raise ConfigError(f'this console serves the namespace "{only}" alone, not "{asked}"')
    return only or asked


async def body_of(request: Request) -> bytes:
    """The body, cut where it is too long anyway."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > FILE_LIMIT:
            break
    return bytes(data[: FILE_LIMIT + 1])


async def _own_body(request: Request) -> dict[str, Any]:
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
        parsed = json.loads(await body_of(request))
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise HTTPException(400, "the body must be an object")
    return parsed


Body = Annotated[dict[str, Any], Depends(_own_body)]
OwnPages = Depends(check_origin)
