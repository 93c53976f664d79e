"""The Inbox port: observations on their way from bridges to the engine.

A bridge puts observations; the engine takes them, decides, and acknowledges them once the entries are durable.
Adapters: the SQLite file of the log, and a list for tests. One test suite runs on both (`tests/ports/test_inbox.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from statemachine.ids import JobUid
from statemachine.log.codec import encode_observation
from statemachine.observations import Observation

Trace = Callable[[Observation], str]
"""An observation → its W3C trace context (`traceparent`); empty without one."""


def untraced(_: Observation) -> str:
    """The Trace of a process without tracing."""
    return ""


@dataclass(frozen=True, slots=True)
class Post:
    """An observation as it was put: its job, and its bytes, which may be unreadable.

    `trace`: the W3C trace context (`traceparent`) that came with it; empty without one.
    """

    job: JobUid
    body: bytes
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """The oldest observations of an inbox; `token` acknowledges them all."""

    token: int
    posts: Sequence[Post]


class Outbox(Protocol):
    """Takes observations for the engine. Any number of processes put; those of one process stay in order."""

    async def put(self, observations: Sequence[Observation]) -> None:
        """All observations are durable, behind those put before. Raises LogUnavailable if not all of them are."""


class Inbox(Outbox, Protocol):
    """Keeps observations until they are acknowledged: delivers at least once. One process takes.

    Every method may raise LogUnavailable, and has then changed nothing.
    """

    async def take(self, limit: int) -> Taken:
        """The oldest observations, at most `limit`; the same again until they are acknowledged."""

    async def ack(self, token: int) -> None:
        """The inbox drops what was taken with `token`, and everything before it."""

    async def waiting(self) -> int:
        """The number of observations that are not acknowledged yet."""


class MemoryInbox:
    """An Inbox in a list."""

    def __init__(self) -> None:
        self._posts: list[Post] = []
        self._acked = 0

    async def put(self, observations: Sequence[Observation]) -> None:
        """See Inbox."""
        self._posts += [posted(observation) for observation in observations]

    async def take(self, limit: int) -> Taken:
        """See Inbox."""
        posts = self._posts[:limit]
        return Taken(self._acked + len(posts), posts)

    async def ack(self, token: int) -> None:
        """See Inbox."""
        del self._posts[: max(0, token - self._acked)]
        self._acked = max(self._acked, token)

    async def waiting(self) -> int:
        """See Inbox."""
        return len(self._posts)


def posted(observation: Observation) -> Post:
    """The observation as an inbox keeps it."""
    return Post(observation.job, encode_observation(observation))
