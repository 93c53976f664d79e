"""The Inbox port: observations on their way from processes that notice to the one that decides.

Whoever notices puts; the engine takes, decides, and acknowledges once the entries are durable. Adapters: the
SQLite file of the log, and a list for tests. One test suite runs on both (`tests/ports/test_inbox.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from statemachine.ids import JobUid
from statemachine.log.codec import encode_observation
from statemachine.observations import Observation

Trace = Callable[[Observation], str]
"""Tells the W3C trace context (`traceparent`) of an observation; empty without one."""


def untraced(_: Observation) -> str:
    """A Trace where nobody traces."""
    return ""


@dataclass(frozen=True, slots=True)
class Posted:
    """An observation as it was put: its job, and its bytes. Nothing is said about their being readable.

    `trace`: the W3C trace context (`traceparent`) that it came with, if it did.
    """

    job: JobUid
    body: bytes
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """The oldest observations of an inbox; `token` acknowledges them all."""

    token: int
    posts: Sequence[Posted]


class Outbox(Protocol):
    """Takes observations for whoever decides: any number of processes put, those of one in their order."""

    async def put(self, observations: Sequence[Observation]) -> None:
        """All of them are durable, behind everything that was put before. LogUnavailable: not all of them are."""


class Inbox(Outbox, Protocol):
    """Keeps observations until they are acknowledged: at least once. One process takes.

    Every method may raise LogUnavailable, and has then done nothing.
    """

    async def take(self, limit: int) -> Taken:
        """The oldest `limit` at most; the same again until they are acknowledged."""

    async def ack(self, token: int) -> None:
        """What was taken with `token`, and everything before it, is not given again."""

    async def waiting(self) -> int:
        """How many are not acknowledged yet."""


class MemoryInbox:
    """An Inbox in a list."""

    def __init__(self) -> None:
        self._posts: list[Posted] = []
        self._acked = 0

    async def put(self, observations: Sequence[Observation]) -> None:
        """See Inbox."""
        self._posts += [posted(each) for each in observations]

    async def take(self, limit: int) -> Taken:
        """See Inbox."""
        found = self._posts[:limit]
        return Taken(self._acked + len(found), found)

    async def ack(self, token: int) -> None:
        """See Inbox."""
        del self._posts[: max(0, token - self._acked)]
        self._acked = max(self._acked, token)

    async def waiting(self) -> int:
        """See Inbox."""
        return len(self._posts)


def posted(seen: Observation) -> Posted:
    """The observation as an inbox keeps it."""
    return Posted(seen.job, encode_observation(seen))
