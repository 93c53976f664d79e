"""A server on a loopback address that answers range queries as Prometheus does, for series that a test gives it."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_STEPS = 11_000
"""As many points as Prometheus gives of a series."""


@dataclass
class Prometheus:
    """`series`: metric → labels of each series and its constant value. `mode` spoils the answers."""

    series: dict[str, list[tuple[dict[str, str], float]]] = field(default_factory=dict)
    mode: str = ""
    url: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)

    def answer(self, asked: dict[str, str]) -> tuple[int, Any]:
        """Status and body for a range query."""
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        if (end - start) / step > _STEPS:
            return 400, _error("exceeded maximum resolution of 11,000 points per timeseries")
        if self.mode == "refuses":
            return 400, _error("parse error: unexpected\ncharacter")
        share = 0.01 if "/ 100" in asked["query"] else 1
        series = [
            {
                "metric": {"pod": labels.get("exported_pod", labels["pod"])},
                "values": _values(start, end, step, value * share),
            }
            for metric, matchers in _selectors(asked["query"])
            for labels, value in self.series.get(metric, [])
            if all(_fits(labels.get(name, ""), way, wanted) for name, way, wanted in matchers)
        ]
        return 200, {"status": "success", "data": {"resultType": "matrix", "result": series}}


def _error(text: str) -> dict[str, str]:
    return {"status": "error", "errorType": "bad_data", "error": text}


def _values(start: float, end: float, step: float, value: float) -> list[list[Any]]:
    count = int((end - start) / step) + 1
    return [[start + number * step, "NaN" if number == 1 else str(value)] for number in range(count)]


def _selectors(query: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Each metric in a query with its matchers, unquoted as PromQL does it."""
    for metric, inner in re.findall(r'(\w+)\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}', query):
        yield (
            metric,
            [
                (name, way, re.sub(r"\\(.)", r"\1", text))
                for name, way, text in re.findall(r'(\w+)(=~|!=|=)"((?:[^"\\]|\\.)*)"', inner)
            ],
        )


def _fits(value: str, way: str, wanted: str) -> bool:
    match way:
        case "=~":
            return re.fullmatch(wanted, value) is not None
        case "!=":
            return value != wanted
        case _:
            return value == wanted


@contextmanager
def prometheus(**series: list[tuple[dict[str, str], float]]) -> Iterator[Prometheus]:
    """Such a server while the block lasts."""
    prometheus = Prometheus(series)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path != "/prom/api/v1/query_range":
                self._say(404, b"404 page not found")
                return
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            prometheus.asked.append(asked)
            match prometheus.mode:
                case "silent":
                    prometheus.hold.wait(10)
                case "broken":
                    self._say(500, b"<h1>Internal Server Error</h1>")
                case "other":
                    self._say(200, b'{"hello": ["world"]}')
                case "huge":
                    self._say(200, b" " * (9 << 20))
                case "elsewhere":
                    self.send_response(302)
                    self.send_header("Location", f"{prometheus.url}/elsewhere")
                    self.end_headers()
                case _:
                    status, body = prometheus.answer(asked)
                    self._say(status, json.dumps(body).encode())

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # who asked has had enough
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    prometheus.url = f"http://127.0.0.1:{server.server_port}/prom"
    try:
        yield prometheus
    finally:
        prometheus.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
