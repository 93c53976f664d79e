"""Health over HTTP, for kubelets and people."""

from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from jobledger.service.health import Health


class Liveness(BaseModel):
    """Whether every loop gets on."""

    status: Literal["ok", "stuck"]
    troubles: list[str] = []


class Readiness(BaseModel):
    """Whether the process may serve, and what keeps it from that."""

    status: str
    troubles: list[str]
    notes: list[str]


def _both(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model}, 503: {"model": model}}


def routes(health: Health) -> APIRouter:
    """`/healthz` and `/readyz`."""
    router = APIRouter()

    @router.get("/healthz", responses=_both(Liveness))
    async def healthz() -> JSONResponse:
        """Every loop gets on; which does not, if not: restart the process."""
        stuck = health.stuck()
        return _answer(
            {"status": "stuck" if stuck else "ok", **({"troubles": stuck} if stuck else {})}, stuck
        )

    @router.get("/readyz", responses=_both(Readiness))
    async def readyz() -> JSONResponse:
        """The process may serve; what keeps it from that, if not."""
        ready = await health.readiness()
        body = {"status": ready.status, "troubles": ready.troubles, "notes": ready.notes}
        return _answer(body, ready.troubles)

    return router


def _answer(body: dict[str, Any], troubles: list[str]) -> JSONResponse:
    return JSONResponse(body, 503 if troubles else 200)
