"""A collector of OpenTelemetry traces: takes what a real exporter sends over OTLP/HTTP, and keeps it."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Span(NamedTuple):
    """A span as it arrived."""

    name: str
    id: bytes
    parent: bytes
    trace: bytes
    seconds: float
    attributes: dict[str, Any]
    failed: bool

    @property
    def job(self) -> str:
        return str(self.attributes["jobledger.job.uid"])


class Receiver(http.server.ThreadingHTTPServer):
    """Takes traces over OTLP/HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Span] = []
        self.services: set[str] = set()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            self.services |= {
                attribute.value.string_value
                for attribute in resource.resource.attributes
                if attribute.key == "service.name"
            }
            self.spans += [_span(span) for scope in resource.scope_spans for span in scope.spans]

    def named(self, name: str, **attributes: Any) -> list[Span]:
        wanted = {key.replace("_", "."): said for key, said in attributes.items()}
        return [
            span
            for span in self.spans
            if span.name == name
            and all(span.attributes.get(f"jobledger.{key}") == said for key, said in wanted.items())
        ]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        self.server.take(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""


def _span(raw: Any) -> Span:
    seconds = (raw.end_time_unix_nano - raw.start_time_unix_nano) / 1e9
    attributes = {attribute.key: _value(attribute.value) for attribute in raw.attributes}
    ids = raw.span_id, raw.parent_span_id, raw.trace_id
    return Span(raw.name, *ids, seconds, attributes, raw.status.code == 2)


def _value(raw: Any) -> Any:
    field = raw.WhichOneof("value")
    if field == "array_value":
        return [_value(value) for value in raw.array_value.values]
    return getattr(raw, field)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a port of its own, as long as the block lasts."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
