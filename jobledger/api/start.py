"""Where programs begin: `/v1` says where the API is described."""

from typing import Final

from fastapi import APIRouter, Request, Response

DESCRIPTION: Final = "/v1/openapi.json"
"""Path of the OpenAPI document: every request with its parameters and answers."""


def routes() -> APIRouter:
    """`/v1`."""
    router = APIRouter()

    @router.get("/v1")
    async def start(request: Request, response: Response) -> dict[str, str]:
        """The address of this description, also as a link of relation `service-desc` (RFC 8631)."""
        address = request.scope.get("root_path", "").rstrip("/") + DESCRIPTION
        response.headers["Link"] = f'<{address}>; rel="service-desc"; type="application/json"'
        return {"openapi": address}

    return router
