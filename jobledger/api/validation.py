"""A manifest that is looked at, and not created."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse

from jobledger.api.models import Validated, answers
from jobledger.api.requests import Body
from jobledger.console.creating import Creating, notice_text, pairs, renamed
from jobledger.console.frame import Console
from jobledger.jobs.intake import inspect
from statemachine.errors import Problem, SpecInvalid


def routes(console: Console) -> APIRouter:
    """`/jobs/validate`."""
    router, creating = APIRouter(prefix="/v1"), Creating(console)

    @router.post("/jobs/validate", **answers(Validated))
    async def validate(body: Body) -> JSONResponse:
        """The manifest in its canonical form, and what is wrong with it or worth knowing.

        It goes back to who sent it, whole: without its secrets it could not be created.
        """
        return JSONResponse(validated(creating, body))

    return router


def validated(creating: Creating, body: Mapping[str, Any]) -> dict[str, Any]:
    """What all rules say of a manifest; `manifest` is None for what describes no job."""
    try:
        written, kind, draft = creating.draft(json.dumps(body))
    except SpecInvalid as error:
        return {"manifest": None, "errors": errors_of(error.problems), "warnings": []}
    problems = list(draft.problems)
    if not problems:
        try:
            inspect([written], as_api_server=True)
        except SpecInvalid as error:
            problems += error.problems
    canonical = {**draft.manifest, "apiVersion": kind.names.api_version, "kind": kind.names.kind}
    warnings = [{"reason": "DeprecatedField", "text": text} for text in renamed(written.kind, kind)]
    warnings += [{"reason": notice.reason, "text": notice_text(notice)} for notice in draft.notices]
    return {"manifest": canonical, "errors": errors_of(problems), "warnings": warnings}


def errors_of(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """Problems as `[{path, text, rule}]`. Source: spec console.md, section 6."""
    return [
        {"path": path, "text": problem.text, "rule": problem.rule}
        for (path, _), problem in zip(pairs(problems), problems, strict=True)
    ]
