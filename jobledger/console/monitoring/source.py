"""A server that speaks Prometheus' HTTP API: what it is asked, how long, and how much of its answer is read."""

import asyncio
import json
import math
import ssl
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from jobledger.console.monitoring.queries import TimeRange
from statemachine.errors import JobledgerError

SECONDS: Final = 5.0
"""For an answer."""

MOST: Final = 8 << 20
"""Bytes of an answer: those for five hundred pods have some three million."""

_AT_ONCE: Final = 4
"""Queries on their way at the same time, however many pages are open."""

_LETTERS: Final = 300


class SourceFailed(JobledgerError):
    """The source gave no answer that can be used; `key` is that of the sentence, `values` are the words in it."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = f"metrics.{key}", values


class Series(NamedTuple):
    """The points of one pod, as seconds since 1970 and a value, in order."""

    pod: str
    points: Sequence[tuple[float, float]]


class MetricsSource:
    """The server at a URL, below which `/api/v1/query_range` is."""

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        self._url = f"{url.rstrip('/')}/api/v1/query_range"
        self._seconds = seconds
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def range(self, query: str, span: TimeRange) -> Sequence[Series]:
        """What the query gives over the span. Raises SourceFailed."""
        import httpx  # loads rich for its own command line: only where there is a source to ask

        asked = {
            "query": query,
            "start": str(span.start),
            "end": str(span.end),
            "step": str(span.step),
            "timeout": f"{self._seconds:g}s",
        }
        try:
            async with asyncio.timeout(2 * self._seconds):  # others' queries may be before this one
                async with self._turn, asyncio.timeout(self._seconds):
                    status, body = await self._answer(asked)
                return await asyncio.to_thread(_read, status, body)
        except (TimeoutError, httpx.TimeoutException):
            raise SourceFailed("late", seconds=f"{self._seconds:g}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SourceFailed("unreachable", why=_line(str(error) or type(error).__name__)) from error

    async def _answer(self, asked: Mapping[str, str]) -> tuple[int, bytes]:
        import httpx

        body = bytearray()
        # not of the environment: what lies inside a cluster is not to be asked of a proxy outside of it
        async with (
            httpx.AsyncClient(trust_env=False, verify=_trust(), timeout=self._seconds) as client,
            client.stream("GET", self._url, params=asked) as answer,
        ):
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MOST:
                    raise SourceFailed("large", most=f"{MOST >> 20} MiB")
        return answer.status_code, bytes(body)


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust: to read the certificates takes longer than most answers."""
    return ssl.create_default_context()


def _read(status: int, body: bytes) -> Sequence[Series]:
    """The series of an answer. Raises SourceFailed."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.get("status") == "error":
        raise SourceFailed("refused", why=_line(str(answer.get("error", ""))))
    if status != 200:
        raise SourceFailed("status", status=status)
    try:
        if answer["data"]["resultType"] != "matrix":
            raise SourceFailed("unreadable")
        return [_series(item) for item in answer["data"]["result"]]
    except (LookupError, TypeError, ValueError, AttributeError):
        raise SourceFailed("unreadable") from None


def _series(raw: Mapping[str, Any]) -> Series:
    points = [(float(at), float(value)) for at, value in raw["values"]]
    return Series(
        str(raw["metric"].get("pod", "")), [point for point in points if all(map(math.isfinite, point))]
    )


def _line(text: str) -> str:
    """The text as one line that fits a panel."""
    line = " ".join(text.split())
    return line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…"
