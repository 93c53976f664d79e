"""A real Prometheus on a loopback address, and an exporter that serves what a kubelet and the DCGM exporter would."""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.ports import free_port

STEP = 5
"""Seconds between two samples."""

BEFORE = 300
"""Seconds before now at which the samples begin: more than a rate looks back."""

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Serie:
    """A series: a gauge of `value`, or a counter that grows by it every second."""

    metric: str
    labels: Labels
    value: float

    def at(self, begin: int, now: int) -> str:
        """Its sample at `now`, as exporters write it."""
        labels = ",".join(f"{name}={json.dumps(text)}" for name, text in self.labels.items())
        value = self.value * (now - begin) if self.metric.endswith("_total") else self.value
        return f"{self.metric}{{{labels}}} {value!r} {now * 1000}\n"


@dataclass
class Exporter:
    """Serves its series with timestamps, from `BEFORE` on until now.

    Every page has all samples: Prometheus drops those that it has, and a scrape that came too late leaves no gap.
    """

    series: list[Serie] = field(default_factory=list)
    _begin: int = 0

    def serve(self, *series: Serie) -> None:
        """These from now on."""
        self._begin = _now() - BEFORE
        self.series = list(series)

    def scraped(self) -> str:
        """The page as it is now."""
        moments = range(self._begin, _now() + 1, STEP)
        return "".join(series.at(self._begin, now) for series in self.series for now in moments)


def _now() -> int:
    return int(time.time()) // STEP * STEP


@contextmanager
def exporter() -> Iterator[tuple[Exporter, int]]:
    """Such an exporter and its port, while the block lasts."""
    exporter = Exporter()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = exporter.scraped().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):  # it did not wait
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield exporter, server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def real_prometheus(folder: Path) -> Iterator[tuple[str, Exporter]]:
    """The URL of a Prometheus with its data in `folder`, and what it scrapes. Skips where there is no program."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus on the PATH: install Debian's package prometheus")
    with exporter() as (running, exporter_port):
        port = free_port()
        scraped = {"job_name": "kubelet", "honor_labels": True}
        targets = [{"targets": [f"127.0.0.1:{exporter_port}"]}]
        every = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        config = folder / "prometheus.json"  # JSON is YAML
        config.write_text(
            json.dumps({"global": every, "scrape_configs": [{**scraped, "static_configs": targets}]})
        )
        said = folder / "prometheus.log"
        with said.open("w") as log:
            process = subprocess.Popen(
                [
                    program,
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'tsdb'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(url, process, said)
            yield url, running
        finally:
            process.terminate()
            process.wait(30)


def _wait_until_ready(url: str, process: "subprocess.Popen[bytes]", said: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if httpx.get(f"{url}/-/ready", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert process.poll() is None, said.read_text()[-2000:]
        assert time.monotonic() < deadline, "prometheus does not get ready"
        time.sleep(0.1)
