"""Sentences for the page that a browser is sent to. A cookie keeps them on the way: an address has no room."""

import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, unquote

from fastapi import Request
from starlette.responses import Response

COOKIE: Final = "jobledger_notes"

_SECONDS: Final = 60
_ROOM: Final = 3000
"""Bytes: browsers keep no cookie of more than 4096, name and all."""


def leave(answer: Response, sentences: Sequence[str]) -> None:
    """The browser carries the sentences to the next page; of very many only as many as it can."""
    kept: list[str] = []
    for each in sentences:
        if len(_written([*kept, each])) > _ROOM:
            kept.append("…")
            break
        kept.append(each)
    if kept:
        answer.set_cookie(
            COOKIE, _written(kept), max_age=_SECONDS, path="/", httponly=True, samesite="strict"
        )


def found(request: Request) -> Sequence[str]:
    """What was left for this page; whatever cannot be read was not ours."""
    try:
        said = json.loads(unquote(request.cookies.get(COOKIE, "[]")))
    except ValueError:
        return ()
    return [each for each in said if isinstance(each, str)] if isinstance(said, list) else ()


def forget(answer: Response) -> None:
    """They have been told."""
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def _written(sentences: Sequence[str]) -> str:
    return quote(json.dumps(sentences, ensure_ascii=False, separators=(",", ":")))
