"""A server that speaks Prometheus' HTTP API: what it is asked, how long, and how much of its answer is read."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobledger.console.monitoring.queries import TimeRange
from projectors.http_get import AnswerLarge, AnswerLate, GetFailed, GetLimits, HttpAnswer, get
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
        self._limits = GetLimits(seconds, MOST)
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def range(self, query: str, span: TimeRange) -> Sequence[Series]:
        """What the query gives over the span. Raises SourceFailed."""
        seconds = f"{self._limits.seconds:g}"
        asked = {
            "query": query,
            "start": str(span.start),
            "end": str(span.end),
            "step": str(span.step),
            "timeout": f"{seconds}s",
        }
        try:
            async with asyncio.timeout(2 * self._limits.seconds):  # others' queries may be before this one
                async with self._turn:
                    answer = await get(self._url, self._limits, asked)
                return await asyncio.to_thread(_read, answer)
        except (TimeoutError, AnswerLate):
            raise SourceFailed("late", seconds=seconds) from None
        except AnswerLarge:
            raise SourceFailed("large", most=f"{MOST >> 20} MiB") from None
        except GetFailed as error:
            raise SourceFailed("unreachable", why=_line(str(error))) from error


def _read(answer: HttpAnswer) -> Sequence[Series]:
    """The series of an answer. Raises SourceFailed."""
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and said.get("status") == "error":
        raise SourceFailed("refused", why=_line(str(said.get("error", ""))))
    if not answer.is_ok:
        raise SourceFailed("status", status=answer.status)
    try:
        if said["data"]["resultType"] != "matrix":
            raise SourceFailed("unreadable")
        return [_series(item) for item in said["data"]["result"]]
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
