"""The metrics of `serve`, for Prometheus, and nothing else of it: who reaches the rest can run programs there."""

import http.client
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

PATH: Final = "/metrics"


class Metrics(BaseHTTPRequestHandler):
    """Asks the server on loopback, which shares this network namespace, for the one path."""

    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self) -> None:
        """Answers with what `serve` says; 404 for any other path, 502 while it does not answer."""
        if self.path != PATH:
            self.send_error(404)
            return
        connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=8)
        try:
            connection.request("GET", PATH)
            answer = connection.getresponse()
            kind, body = answer.getheader("Content-Type", "text/plain"), answer.read()
        except (OSError, http.client.HTTPException):
            self.send_error(502, "serve does not answer")
            return
        finally:
            connection.close()
        self.send_response(answer.status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing of questions that are asked every few seconds."""


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8081), Metrics).serve_forever()
