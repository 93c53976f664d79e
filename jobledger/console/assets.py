"""The files that pages refer to. They are in the package, so that the console works without any network."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from jobledger.console.frame import HEADERS, Console, Route

TYPES: Final = {
    "cards.css": "text/css; charset=utf-8",
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "drafts.js": "text/javascript; charset=utf-8",
    "details.css": "text/css; charset=utf-8",
    "details.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "monitoring.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "idiomorph-ext.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Every file; whatever else is asked for there is not."""


@cache
def content(name: str) -> tuple[bytes, str]:
    """A file and its entity tag."""
    body = (files("jobledger.console") / "static" / name).read_bytes()
    return body, f'"{sha256(body).hexdigest()[:24]}"'


def routes(_: Console) -> APIRouter:
    """`/static/<file>`."""
    router = APIRouter(route_class=Route)

    @router.get("/static/{name}")
    async def file(request: Request, name: str) -> Response:
        """The file; browsers ask each time whether it is still the same, so that a new release is seen at once."""
        if name not in TYPES:
            raise HTTPException(404, f"there is no file {name}")
        body, tag = content(name)
        # browsers ask for the icon again whenever a script changes the address, as a move of a slider does
        fresh = "max-age=86400" if name == "icon.svg" else "no-cache"
        headers = {**HEADERS, "Cache-Control": fresh, "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=TYPES[name])

    return router
