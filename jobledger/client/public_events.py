"""Public events of a server, from any place on; the reader goes on by itself when server or network come back.

    from jobledger.client import events

    for received in events("http://127.0.0.1:8080", {"type": "job.failed"}, after=stored_cursor):
        notify(received.event)
        store(received.cursor)

Nothing is missed, and nothing comes twice unless a program begins anew with an older cursor.
"""

import json
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from jobledger.client.connection import TIMEOUT, Headers, Server, ServerResponse, path_of
from jobledger.program.errors import NoServer, ServerRefused
from statemachine.errors import ClusterUnavailable

_PATH: Final = path_of("v1", "events")
_SILENCE: Final = 30.0
"""Seconds without a byte after which a stream is given up; the server says something every ten."""

_PAUSES: Final = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds before another try, the last one for ever; half of each is chance, as many readers may come back."""

_LATER: Final = frozenset({408, 429, 502, 503, 504})
"""Answers that another try may change."""


class Received(NamedTuple):
    """A public event as it came, one JSON object, and a cursor with which nothing behind it is missed."""

    line: bytes
    cursor: str

    @property
    def event(self) -> dict[str, Any]:
        """The CloudEvent: its attributes, and its data under `data`."""
        event: dict[str, Any] = json.loads(self.line)
        return event


def events(
    address: str,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    *,
    after: str = "beginning",
    follow: bool = True,
    token: str = "",
) -> Iterator[Received]:
    """The events behind `after` (beginning, end, a time, a cursor), for ever, or (`follow` says no) up to the end.

    `address`: the path of a server's socket, or an URL; `token` is shown to a server of a cluster. `filters` are
    parameters of `GET /v1/events`: type (one or several), namespace, kind, job, labelSelector, severity.

    Raises:
        NoServer: nobody answers at first. Later the server is waited for, however long.
        ServerRefused: the server will not answer this: a parameter is wrong, a cursor too old, a token invalid.
    """
    reader = _Reader(address, after, token, {name: value for name, value in (filters or {}).items() if value})
    return reader.live() if follow else reader.pages()


class _Reader:
    """One reader's place, and the way to the server."""

    def __init__(self, address: str, after: str, token: str, filters: dict[str, Any]) -> None:
        self._address, self._cursor, self._filters = address, after, filters
        headers: Headers = [("Authorization", f"Bearer {token}")] if token else []
        unix = "" if "://" in address else address
        self._server = Server(
            "http://localhost" if unix else address,
            address,
            headers=headers,
            agent="jobledger",
            reuse=False,
            unix=unix,
        )
        self._answered = False
        self._failures = 0

    def _target(self, **more: int) -> str:
        return f"{_PATH}?{urlencode({**self._filters, **more, 'after': self._cursor}, doseq=True)}"

    def pages(self) -> Iterator[Received]:
        """Up to the end."""
        at_end = False
        while not at_end:
            try:
                answer = self._server.ask("GET", self._target(), headers=[("Accept", "application/x-ndjson")])
                self._check(answer)
            except ClusterUnavailable as error:
                self._pause(error)
                continue
            *lines, last = answer.body.splitlines() or [b""]
            for line in lines:
                yield Received(line, self._cursor)
            self._cursor = answer.headers["jobledger-cursor"]
            at_end = answer.headers["jobledger-at-end"] == "true"
            if last:
                yield Received(last, self._cursor)

    def live(self) -> Iterator[Received]:
        """For ever."""
        while True:
            try:
                with closing(self._stream()) as received:
                    yield from received
                self._pause(ClusterUnavailable("it ended the stream"))
            except ClusterUnavailable as error:
                self._pause(error)

    def _stream(self) -> Generator[Received]:
        accept: Headers = [("Accept", "text/event-stream")]
        with self._server.stream(
            self._target(), headers=accept, silence=_SILENCE, patience=TIMEOUT
        ) as pieces:
            self._check(pieces.head)
            cursor, line = self._cursor, b""
            for field in pieces.lines():
                name, _, value = field.partition(b": ")
                match name:
                    case b"id":
                        cursor = value.decode()
                    case b"data":
                        line = value
                    case b"":  # the end of a block
                        self._cursor = cursor
                        if line:
                            yield Received(line, cursor)
                            line = b""
                    case _:
                        pass

    def _check(self, answer: ServerResponse) -> None:
        if answer.status in _LATER:
            raise ClusterUnavailable(f"it answers {answer.status}")
        if answer.status >= 400:
            data = answer.data() or {}
            detail = data.get("detail", f"what answers is no jobledger server (HTTP {answer.status})")
            raise ServerRefused(answer.status, data.get("code", "bad-request"), detail)
        self._answered, self._failures = True, 0

    def _pause(self, error: ClusterUnavailable) -> None:
        """Raises NoServer for a server that has never answered."""
        if not self._answered:
            raise NoServer(self._address, str(error)) from None
        pause = _PAUSES[min(self._failures, len(_PAUSES) - 1)]
        self._failures += 1
        import random  # commands that ask for no events do without it

        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
