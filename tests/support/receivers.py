"""A web hook's receiver: a real server on this machine."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext, SSLSocket
from typing import Any, TypeVar

KEY = "whsec_" + "QUJD" * 10


class Hook(ThreadingHTTPServer):
    """A receiver: the events that it took, and the status that it answers to one of them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []
        self.status: Callable[[dict[str, Any]], int] = lambda _: 204
        self.asking: list[str] = []
        """Origins that have asked for leave."""
        self.allowed = ""
        """The origin that gets it; empty: it answers 410."""

    @property
    def url(self) -> str:
        """Where to post to."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class SecureHook(Hook):
    """The same over TLS: a connection that comes now gets the certificate of `context`."""

    def __init__(self, context: SSLContext) -> None:
        super().__init__()
        self.context = context

    @property
    def url(self) -> str:
        """Where to post to."""
        return super().url.replace("http:", "https:")

    def get_request(self) -> tuple[SSLSocket, Any]:
        """A connection; one that the client does not trust is none, which the server passes over."""
        connection, address = super().get_request()
        return self.context.wrap_socket(connection, server_side=True), address


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

    def do_OPTIONS(self) -> None:
        self.server.asking.append(self.headers["webhook-request-origin"])
        self.send_response(200 if self.server.allowed else 410)
        self.send_header("webhook-allowed-origin", self.server.allowed)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


HookType = TypeVar("HookType", bound=Hook)


@contextmanager
def receiving() -> Iterator[Hook]:
    """A receiver that answers until the block is left."""
    with served(Hook()) as server:
        yield server


@contextmanager
def served(server: HookType) -> Iterator[HookType]:
    """It answers until the block is left."""
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
