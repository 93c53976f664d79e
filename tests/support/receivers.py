"""A web hook's receiver: a real server on this machine."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "whsec_" + "QUJD" * 10


class Hook(ThreadingHTTPServer):
    """A receiver: the events that it took, and the status that it answers to one of them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []
        self.status: Callable[[dict[str, Any]], int] = lambda _: 204

    @property
    def url(self) -> str:
        """Where to post to."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        status = self.server.status(json.loads(body))
        if status // 100 == 2:
            self.server.bodies.append(body)
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def receiving() -> Iterator[Hook]:
    """A receiver that answers until the block is left."""
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
