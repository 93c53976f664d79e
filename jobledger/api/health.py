"""Health over HTTP, for kubelets and people."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from jobledger.health import Health


def routes(health: Health) -> APIRouter:
    """`/healthz` and `/readyz`."""
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> JSONResponse:
        """Every loop gets on; which does not, if not: restart the process."""
        stuck = health.stuck()
        return _answer(
            {"status": "stuck" if stuck else "ok", **({"troubles": stuck} if stuck else {})}, stuck
        )

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        """The process may serve; what keeps it from that, if not."""
        found = await health.readiness()
        body = {"status": found.status, "troubles": found.troubles, "notes": found.notes}
        return _answer(body, found.troubles)

    return router


def _answer(body: dict[str, Any], troubles: list[str]) -> JSONResponse:
    return JSONResponse(body, 503 if troubles else 200)
