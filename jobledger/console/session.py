"""Whether a request that changes something was made by a page of ours.

Three things say so, each enough by itself in a browser that keeps the rules: the Origin is the host that was asked,
the cookie is sent to nobody who comes from another site (SameSite=Strict), and the form carries a token that only
those know who could read a page made for this cookie. There is nothing to log in to: the cookie is no identity.
"""

import secrets
from hashlib import sha256
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from jobledger.manifests import FILE_LIMIT

COOKIE: Final = "jobledger_session"
FIELD: Final = "_token"
HEADER: Final = "X-CSRF-Token"

_FIELDS: Final = 5000
_PURPOSE: Final = b"jobledger console form\0"

Posted = dict[str, list[str]]
"""A form as it was sent: every value of each name, in order."""


def of(request: Request) -> tuple[str, bool]:
    """The secret of the browser's cookie, and whether it has yet to be given to it."""
    cookie = request.cookies.get(COOKIE, "")
    if len(cookie) == 43 and cookie.isascii():
        return cookie, False
    fresh: str | None = getattr(request.state, "fresh_session", None)
    if fresh is None:
        fresh = request.state.fresh_session = secrets.token_urlsafe(32)
    return fresh, True


def keep(response: Response, request: Request, secret: str) -> None:
    """The browser keeps the cookie until it ends, and tells no script and no other site of it."""
    is_https = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
    response.set_cookie(COOKIE, secret, path="/", httponly=True, samesite="strict", secure=is_https)


def token(secret: str) -> str:
    """What forms carry. Made from the cookie alone, so that it outlives the server, and any replica knows it."""
    return sha256(_PURPOSE + secret.encode()).hexdigest()


async def posted(request: Request) -> Posted:
    """The fields of a form that one of our pages sent.

    Raises:
        HTTPException: another page sent it (403), or it is no form (400).
    """
    check_origin(request)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > 2 * FILE_LIMIT:
            raise HTTPException(413, "the form is too large")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict")
    except ValueError as error:
        raise HTTPException(400, "the form cannot be read") from error
    fields: Posted = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    shown = request.headers.get(HEADER) or (fields.pop(FIELD, [""]))[0]
    secret, is_new = of(request)
    if is_new or not secrets.compare_digest(shown.encode(), token(secret).encode()):
        raise HTTPException(403, "this page is too old, or not one of this server; load it again")
    fields.pop(FIELD, None)
    return fields


def check_origin(request: Request) -> None:
    """A page of another site does not ask. Raises HTTPException (403)."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in (None, "same-origin", "none"):
        raise HTTPException(403, "a page of another site asks; only pages of this server may")
    if origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower():
        raise HTTPException(403, f'a page of "{origin}" asks; only pages of this server may')


Form = Annotated[Posted, Depends(posted)]
