"""Whether what the console shows is fresh: for the user in front of it.

`/healthz` and `/readyz` are the process's, and stay as they are: a read model that lags is no reason to restart it.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from jobledger.api import models
from jobledger.console.frame import Console

BEHIND: Final = 30.0
"""Seconds that projections may be behind. Source: spec console.md, section 6."""

_SAMPLES: Final = 64

_ANSWERS: Final[dict[str, Any]] = {
    "response_model": None,
    "responses": {status: {"model": models.FreshnessView} for status in (200, 503)},
}


class Freshness:
    """How far the read model is behind the log; learns when it is asked. `clock` is monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)

    def behind(self, end: int, reached: int) -> float:
        """The least number of seconds that it is behind, given where the log ends now, and how far the view is."""
        now = self._clock()
        while self._seen and self._seen[0][1] <= reached:
            self._seen.popleft()
        if end > reached and (not self._seen or self._seen[-1][1] < end) and len(self._seen) < _SAMPLES:
            self._seen.append((now, end))
        return now - self._seen[0][0] if self._seen else 0.0


def routes(console: Console) -> APIRouter:
    """`/healthz` of the read model."""
    router = APIRouter(prefix="/v1")
    freshness = Freshness()

    @router.get("/healthz", **_ANSWERS)
    async def healthz() -> JSONResponse:
        """200 while the read model is at most 30 seconds behind the log, else 503."""
        reached = await (await console.ready()).positions()
        behind = freshness.behind(console.app.controller.reader.position, reached)
        fresh = behind <= BEHIND
        body = {"status": "ok" if fresh else "behind", "secondsBehind": round(behind, 1)}
        return JSONResponse(body, 200 if fresh else 503)

    return router
