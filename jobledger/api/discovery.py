"""Where programs begin: `/v1` says where the API is described, and `/v1/openapi.json` describes it.

The document is made from the routes; what FastAPI cannot know of them is added here: how errors look, and who asks.
"""

from typing import Any, Final

from fastapi import APIRouter, FastAPI, Response

from jobledger.api.models import Discovery, ProblemView, answers
from jobledger.console.frame import Console, url
from jobledger.web.problems import MEDIA_TYPE

DESCRIPTION: Final = "/v1/openapi.json"
"""Path of the OpenAPI document: every request with its parameters and answers."""

_SCHEMAS: Final = "#/components/schemas/"


class DescribedApi(FastAPI):
    """An application that describes itself; with `guarded` a token says who asks."""

    guarded: bool = False

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI 3.1 document."""
        if self.openapi_schema is None:
            self.openapi_schema = self._completed(super().openapi())
        return self.openapi_schema

    def _completed(self, document: dict[str, Any]) -> dict[str, Any]:
        problem = ProblemView.model_json_schema(ref_template=f"{_SCHEMAS}{{model}}")
        parts = document["components"]
        parts["schemas"] |= problem.pop("$defs") | {"Problem": problem}
        for name in (
            "HTTPValidationError",
            "ValidationError",
        ):  # nobody gets these: they are problems of status 400
            parts["schemas"].pop(name, None)
        content = {MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}Problem"}}}
        parts["responses"] = {"Problem": {"description": "A problem as in RFC 9457", "content": content}}
        for operations in document["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
                operation["responses"]["default"] = {"$ref": "#/components/responses/Problem"}
        if self.guarded:
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
        return document


def routes(console: Console) -> APIRouter:
    """`/v1`."""
    router = APIRouter()

    @router.get("/v1", **answers(Discovery))
    async def start(response: Response) -> dict[str, str]:
        """The address of this description, also as a link of relation `service-desc` (RFC 8631)."""
        address = url(console, DESCRIPTION)
        response.headers["Link"] = f'<{address}>; rel="service-desc"; type="application/json"'
        return {"openapi": address}

    return router
