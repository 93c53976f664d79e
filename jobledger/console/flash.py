"""What a page has to say that a browser is sent to. A cookie carries it: an address can be forged by anybody."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from urllib.parse import quote, unquote

from fastapi import Request
from starlette.responses import Response

COOKIE: Final = "jobledger_notes"

_SECONDS: Final = 60
_ROOM: Final = 3000
"""Bytes: browsers keep no cookie of more than 4096, name and all."""


@dataclass(frozen=True, slots=True)
class Notes:
    """`done` says in a sentence what has happened, `remarks` what is worth knowing about it.

    `created` is the kind of the job that was created: drafts of it have served their purpose.
    """

    done: str = ""
    created: str = ""
    remarks: Sequence[str] = ()


def leave(answer: Response, notes: Notes) -> None:
    """The browser carries the notes to the next page; of very many remarks only as many as it can."""
    kept: list[str] = []
    for remark in notes.remarks:
        if len(_written(replace(notes, remarks=[*kept, remark]))) > _ROOM:
            kept.append("…")
            break
        kept.append(remark)
    answer.set_cookie(
        COOKIE,
        _written(replace(notes, remarks=kept)),
        max_age=_SECONDS,
        path="/",
        httponly=True,
        samesite="strict",
    )


def left(request: Request) -> Notes | None:
    """What was left for this page; a cookie that cannot be read is not ours."""
    try:
        content = json.loads(unquote(request.cookies[COOKIE]))
    except (KeyError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    remarks = content.get("remarks")
    sentences = [remark for remark in remarks if isinstance(remark, str)] if isinstance(remarks, list) else ()
    return Notes(_text(content.get("done")), _text(content.get("created")), sentences)


def forget(answer: Response) -> None:
    """The page has said them."""
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _written(notes: Notes) -> str:
    return quote(json.dumps(asdict(notes), ensure_ascii=False, separators=(",", ":")))
