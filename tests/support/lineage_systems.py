"""A lineage system: a real server on this machine that takes RunEvents as Marquez does."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Marquez(ThreadingHTTPServer):
    """What a lineage system takes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.status: Callable[[dict[str, Any]], int] = lambda _: 201

    @property
    def url(self) -> str:
        """Where its API is."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Marquez

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        event = json.loads(gzip.decompress(body))
        status = self.server.status(event) if self.path == "/api/v1/lineage" else 404
        if status == 201:
            self.server.events.append(event)
            self.server.keys.add(self.headers["authorization"])
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def lineage_system() -> Iterator[Marquez]:
    """One that answers until the block is left."""
    with Marquez() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
